"""Makes discrete.json: joint log-likelihoods of CategoricalNB and BernoulliNB, by scikit-learn.

    pip install scikit-learn && python discrete.py SHARED/data > discrete.json

Made with scikit-learn 1.9.1, NumPy 2.4.6; nothing is random, so there is no seed. A value is
ln p(class) + ln p(x | class), with the prior of the training data; null is minus infinity. Classes
are in the order of their sorted names. Models are fitted on all rows, and every `stride`-th is kept.

- mushroom: levels of a column in the order of their letters, `?` one of them. With weights, row i
  has weight 0.5 + (i mod 7) / 4. In parts, partial_fit sees rows 0 .. 3000, 3000 .. 5000, 5000 ...
- optdigits: the 64 numbers of the training part, present above 8.
- sms: a text's words are its longest runs of ASCII letters, in lower case. The vocabulary is the
  200 words that most messages have, ties in the order of the alphabet.
"""

import json
import re
import sys
import warnings
from collections import Counter

import numpy as np
import sklearn
from sklearn.naive_bayes import BernoulliNB, CategoricalNB

folder = sys.argv[1]
warnings.simplefilter("ignore")  # alpha = 0 divides by zero on purpose


def case(data, model, stride, X, **more):
    values = model.predict_joint_log_proba(X[::stride])
    assert not np.isnan(values).any()
    return {
        "data": data,
        "alpha": model.alpha,
        "stride": stride,
        **more,
        "values": [[None if v == -np.inf else float(v) for v in row] for row in values],
    }


def mushroom():
    with open(f"{folder}/mushroom/agaricus-lepiota.data") as file:
        rows = np.array([line.strip().split(",") for line in file if line.strip()])
    y, cells = rows[:, 0], rows[:, 1:]
    X = np.stack([np.unique(column, return_inverse=True)[1] for column in cells.T], axis=1)
    weights = 0.5 + (np.arange(len(y)) % 7) / 4
    for alpha in [0.0, 0.5, 1.0]:
        for weighted in [False, True]:
            model = CategoricalNB(alpha=alpha, force_alpha=True)
            model.fit(X, y, sample_weight=weights if weighted else None)
            yield case("mushroom", model, 41, X, weighted=weighted, parts=False)
    model = CategoricalNB(alpha=0.5)
    for part in [slice(0, 3000), slice(3000, 5000), slice(5000, None)]:
        model.partial_fit(X[part], y[part], classes=["e", "p"])
    yield case("mushroom", model, 41, X, weighted=False, parts=True)


def optdigits():
    rows = np.loadtxt(f"{folder}/optdigits/optdigits.tra", delimiter=",")
    for alpha in [0.5, 1.0]:
        model = BernoulliNB(alpha=alpha, binarize=8.0).fit(rows[:, :-1], rows[:, -1])
        yield case("optdigits", model, 53, rows[:, :-1])


def sms():
    with open(f"{folder}/sms-spam/SMSSpamCollection", encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t", 1) for line in file if line.strip()]
    y = np.array([line[0] for line in lines])
    texts = [re.findall("[a-z]+", re.sub("[A-Z]", lambda m: m[0].lower(), line[1])) for line in lines]
    having = Counter(word for text in texts for word in set(text))
    vocabulary = [word for word, _ in sorted(having.items(), key=lambda item: (-item[1], item[0]))[:200]]
    X = np.array([[text.count(word) for word in vocabulary] for text in texts])
    for alpha in [0.1, 1.0]:
        model = BernoulliNB(alpha=alpha).fit(X, y)
        yield case("sms", model, 29, X)
    vocabularies.append(vocabulary)


vocabularies = []
cases = [*mushroom(), *optdigits(), *sms()]
print(json.dumps({"scikit-learn": sklearn.__version__, "vocabulary": vocabularies[0], "cases": cases}))
