"""Makes naive_bayes.json: joint log-likelihoods of scikit-learn's four discrete naive Bayes models.

    pip install scikit-learn && python naive_bayes.py SHARED/data > naive_bayes.json

Made with scikit-learn 1.9.1, NumPy 2.4.6; nothing is random, so there is no seed. Each of CategoricalNB,
BernoulliNB, MultinomialNB and ComplementNB (with and without `norm`) is fitted on all rows of

- mushroom: the levels of a column in the order of their letters, `?` one of them; for all but
  CategoricalNB an indicator, 0 or 1, for each level of each column;
- optdigits.tra: 64 numbers from 0 to 16; for BernoulliNB present above 8;
- sms: a text's words are its longest runs of ASCII letters, in lower case; the vocabulary is the 200
  words that most messages have, ties in the order of the alphabet, and `zzzz`, which none has. For
  CategoricalNB the columns are the first 50 words, with the levels absent and present;

with alpha 0, 0.5 and 1 (ComplementNB: 0.5 and 1, since with 0 some weights are infinite), and each

- plain,
- with weights: row i has 0.5 + (i mod 7) / 4,
- with these weights in three increments, `partial_fit` on rows 0 .. n/3, n/3 .. n/2, n/2 .. n.

A value is ln p(class) + ln p(x | class) with the prior of the training data, for ComplementNB the score;
classes are in the order of their sorted names. It is summed from scikit-learn's fitted logarithms term
by term, with 0 * -inf = 0, where its matrix product would be NaN; with alpha > 0 both are compared here.
Kept are of each class the sum of all finite values and how many are minus infinity, and the values of
four rows (null is minus infinity).
"""

import json
import re
import sys
from collections import Counter

import numpy as np
import sklearn
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB

folder = sys.argv[1]
np.seterr(divide="ignore")  # alpha = 0 divides by zero on purpose


def mushroom():
    with open(f"{folder}/mushroom/agaricus-lepiota.data") as file:
        rows = np.array([line.strip().split(",") for line in file if line.strip()])
    codes = np.stack([np.unique(column, return_inverse=True)[1] for column in rows[:, 1:].T], axis=1)
    indicators = np.hstack([np.eye(column.max() + 1)[column] for column in codes.T])
    return rows[:, 0], codes, indicators, 0.0


def optdigits():
    rows = np.loadtxt(f"{folder}/optdigits/optdigits.tra", delimiter=",").astype(int)
    return rows[:, -1], rows[:, :-1], rows[:, :-1].astype(float), 8.0


def sms():
    with open(f"{folder}/sms-spam/SMSSpamCollection", encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t", 1) for line in file if line.strip()]
    texts = [re.findall("[a-z]+", re.sub("[A-Z]", lambda m: m[0].lower(), line[1])) for line in lines]
    having = Counter(word for text in texts for word in set(text))
    vocabulary = [word for word, _ in sorted(having.items(), key=lambda item: (-item[1], item[0]))[:200]]
    X = np.array([[text.count(word) for word in [*vocabulary, "zzzz"]] for text in texts])
    return np.array([line[0] for line in lines]), (X[:, :50] > 0).astype(int), X.astype(float), 0.0


def terms(x, logs):
    """Sum of x_ij * logs_cj, with 0 * -inf = 0."""
    finite = np.where(np.isneginf(logs), 0.0, logs)
    impossible = x @ np.isneginf(logs).T.astype(float)
    return np.where(impossible > 0, -np.inf, x @ finite.T)


def joint(model, x):
    prior = model.class_log_prior_
    if isinstance(model, CategoricalNB):
        logs = model.feature_log_prob_
        return prior + sum(logs[j][:, x[:, j]].T for j in range(x.shape[1]))
    if isinstance(model, ComplementNB):
        return terms(x, model.feature_log_prob_)
    if isinstance(model, MultinomialNB):
        return prior + terms(x, model.feature_log_prob_)
    there = (x > model.binarize).astype(float)
    absent = np.log(1 - np.exp(model.feature_log_prob_))
    return prior + terms(there, model.feature_log_prob_) + terms(1 - there, absent)


def numbers(values):
    return [None if np.isneginf(v) else float(v) for v in values]


def cases(data, y, codes, x, threshold):
    n = len(y)
    classes = np.unique(y)
    weights = 0.5 + (np.arange(n) % 7) / 4
    increments = [slice(0, n // 3), slice(n // 3, n // 2), slice(n // 2, n)]
    kinds = {
        "categorical": lambda alpha: CategoricalNB(alpha=alpha, min_categories=codes.max(axis=0) + 1),
        "bernoulli": lambda alpha: BernoulliNB(alpha=alpha, binarize=threshold),
        "multinomial": lambda alpha: MultinomialNB(alpha=alpha),
        "complement": lambda alpha: ComplementNB(alpha=alpha),
        "complement, norm": lambda alpha: ComplementNB(alpha=alpha, norm=True),
    }
    for kind, make in kinds.items():
        cells = codes if kind == "categorical" else x
        for alpha in [0.5, 1.0] if "complement" in kind else [0.0, 0.5, 1.0]:
            for how in ["plain", "weights", "increments"]:
                model = make(alpha)
                if how == "plain":
                    model.fit(cells, y)
                elif how == "weights":
                    model.fit(cells, y, sample_weight=weights)
                else:
                    for part in increments:
                        model.partial_fit(cells[part], y[part], classes=classes, sample_weight=weights[part])
                values = joint(model, cells)
                assert not np.isnan(values).any()
                if alpha > 0:
                    assert np.allclose(values, model.predict_joint_log_proba(cells), rtol=1e-12, atol=1e-9)
                yield {
                    "data": data,
                    "kind": kind,
                    "alpha": alpha,
                    "how": how,
                    "sums": [float(v[np.isfinite(v)].sum()) for v in values.T],
                    "impossible": [int(np.isneginf(v).sum()) for v in values.T],
                    "rows": [numbers(values[i]) for i in (0, n // 5, n // 2, n - 1)],
                }


all_cases = [case for data in (mushroom, optdigits, sms) for case in cases(data.__name__, *data())]
lines = ",\n".join(json.dumps(case) for case in all_cases)
print(f'{{"scikit-learn": "{sklearn.__version__}", "cases": [\n{lines}\n]}}')
