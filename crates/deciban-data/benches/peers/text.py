"""Times the peer of text.rs: reads a job per line, answers its seconds (of the clock, of the processor),
the words, the tokens and a sum to compare.

`fit-predict` reads the file, counts words once, fits and scores the counted rows; `again` tokenises the
texts a second time to score them, as somebody who has two files must, and as text.rs does.
"""

import sys
import time

from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB


def read(path):
    with open(path, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t", 1) for line in file]
    return [row[1] for row in rows], [row[0] for row in rows]


for job in sys.stdin:
    start, processor = time.perf_counter(), time.process_time()
    texts, classes = read(sys.argv[1])
    vectoriser = CountVectorizer()
    counts = vectoriser.fit_transform(texts)
    model = MultinomialNB().fit(counts, classes)
    if job.strip() == "again":
        counts = vectoriser.transform(read(sys.argv[1])[0])
    posterior = model.predict_proba(counts)
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    print(seconds, processor, counts.shape[1], int(counts.sum()), float(posterior[:, 1].sum()), flush=True)
