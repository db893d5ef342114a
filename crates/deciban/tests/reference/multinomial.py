"""Makes multinomial.json: MultinomialNB and ComplementNB of scikit-learn on counts and on texts.

    pip install scikit-learn && python multinomial.py ../../../../../shared/data > multinomial.json

optdigits: 64 counts, fitted on `optdigits.tra`; `evidence` is the joint log-likelihood without the
prior of the first rows of `optdigits.tes`. sms: the 300 most frequent words of all messages (a word is
\\w+ in lower case; of equally frequent ones the first in the alphabet), fitted on the messages whose
number is not a multiple of 5, scored on the first that are. Evidence is summed term by term with
0 * -inf = 0; -inf is written as null. `weights` is `feature_log_prob_`.
"""

import json
import re
import sys
from collections import Counter

import numpy as np
import sklearn
from sklearn.naive_bayes import ComplementNB, MultinomialNB

data = sys.argv[1]
SHOWN = 12


def optdigits(part):
    table = np.loadtxt(f"{data}/optdigits/optdigits.{part}", delimiter=",")
    return table[:, :64], table[:, 64].astype(int)


def sms():
    text = open(f"{data}/sms-spam/SMSSpamCollection", encoding="utf-8", newline="").read()
    rows = [line.split("\t", 1) for line in text.split("\n") if line]
    words = [re.findall(r"\w+", message.lower()) for _, message in rows]
    frequent = Counter(word for message in words for word in message)
    vocabulary = sorted(frequent, key=lambda word: (-frequent[word], word))[:300]
    place = {word: j for j, word in enumerate(vocabulary)}
    x = np.zeros((len(rows), 300))
    for i, message in enumerate(words):
        for word in message:
            if word in place:
                x[i, place[word]] += 1
    return x, np.array([int(label == "spam") for label, _ in rows]), vocabulary


def evidence(x, weights):
    with np.errstate(invalid="ignore"):
        return np.where(x[:, None, :] > 0, x[:, None, :] * weights[None], 0.0).sum(axis=2)


def numbers(matrix):
    return [[None if np.isneginf(v) else float(v) for v in row] for row in matrix]


def case(name, kind, train, test, alpha, weighted=False, parts=1, norm=False, keep=False):
    (x, y), shown = train, test[:SHOWN]
    weights = 1 + np.arange(len(y)) % 3 * 0.5 if weighted else np.ones(len(y))
    model = MultinomialNB(alpha=alpha, force_alpha=True)
    if kind == "complement":
        model = ComplementNB(alpha=alpha, force_alpha=True, norm=norm)
    with np.errstate(divide="ignore"):
        for part in np.array_split(np.arange(len(y)), parts):
            model.partial_fit(x[part], y[part], classes=np.unique(y), sample_weight=weights[part])
    scores = evidence(shown, model.feature_log_prob_)
    result = dict(data=name, kind=kind, alpha=alpha, weighted=weighted, parts=parts, norm=norm)
    if keep:
        result["weights"] = numbers(model.feature_log_prob_)
    return result | {"evidence": numbers(scores)}


np.seterr(divide="ignore")
digits, others = optdigits("tra"), optdigits("tes")[0]
x, y, vocabulary = sms()
held = np.arange(len(y)) % 5 == 0
cases = []
for name, train, test in [("optdigits", digits, others), ("sms", (x[~held], y[~held]), x[held])]:
    small = name == "sms"
    cases += [case(name, "multinomial", train, test, alpha, keep=alpha == 0 or small) for alpha in [0, 0.5, 1]]
    cases.append(case(name, "multinomial", train, test, 1, weighted=True, keep=small))
    cases.append(case(name, "multinomial", train, test, 0.5, weighted=True, parts=3))
    cases += [case(name, "complement", train, test, 1, norm=norm, keep=small) for norm in [False, True]]
    cases.append(case(name, "complement", train, test, 0.5, weighted=True, parts=3))
versions = dict(sklearn=sklearn.__version__, numpy=np.__version__)
json.dump(versions | dict(vocabulary=vocabulary, cases=cases), sys.stdout, ensure_ascii=False)
print()
