import collections
import re


def count(text):
    # Words are runs of letters.
    words = re.findall(r"[a-z]+", text.lower())
    return collections.Counter(words)


def telling(a, b, most=10):
    known = set(a) | set(b)
    score = {word: a[word] - b[word] for word in known}
    return sorted(known, key=lambda word: score[word], reverse=True)[:most]


spam = count("Win a free prize, claim it now")
ham = count("See you at home, I am late")
for word in telling(spam, ham):
    print(word, spam[word], ham[word])
