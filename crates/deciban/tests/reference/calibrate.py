"""Makes calibrate.json: calibrations of log-likelihood ratios, by scikit-learn and SciPy.

    pip install scikit-learn && python calibrate.py > calibrate.json

Scores are drawn with a wrong scale and offset. `logistic` is an unpenalised logistic regression on the
score with rows weighted so that classes have the shares of the prior; its intercept less the prior
log-odds is the offset of the LLR. `beta` is one on (ln p, -ln(1 - p)). `temperature` and `affine` (many
classes) come from Newton's method on the same loss (scipy.optimize). `pav` is isotonic regression
with one target at the lower end and one other at the upper end added.
"""

import json
import sys

import numpy as np
import scipy
import sklearn
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

random = np.random.default_rng(5)


def balanced(y, w, prior):
    return w * np.array([prior[k] / w[y == k].sum() for k in range(len(prior))])[y]


def regression(x, y, w):
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-13, max_iter=500)
    model.fit(x, y, sample_weight=w * 1000)
    return model.coef_[0], model.intercept_[0]


def softmax(e, y, w, prior, biased):
    """Scale and biases, the first of which is 0."""
    classes = e.shape[1]

    def unpack(theta):
        return theta[0], np.concatenate([[0], theta[1:]]) if biased else np.zeros(classes)

    def loss(theta):
        a, b = unpack(theta)
        logs = log_softmax(a * e + b + np.log(prior), axis=1)
        rest = np.exp(logs) - np.eye(classes)[y]
        gradient = [(w[:, None] * rest * e).sum()]
        if biased:
            gradient += list((w[:, None] * rest).sum(0)[1:])
        return -(w * logs[np.arange(len(y)), y]).sum(), np.array(gradient)

    theta = np.ones(1) if not biased else np.concatenate([[1], np.zeros(classes - 1)])
    for _ in range(3):
        theta = minimize(loss, theta, jac=True, method="BFGS", options={"gtol": 1e-12, "maxiter": 2000}).x
    return [float(theta[0]), unpack(theta)[1].tolist()]


def two_classes(rows, prior, weighted):
    y = (random.random(rows) < 0.3).astype(int)
    llr = np.round(2.5 * (random.normal(size=rows) + 1.4 * y - 0.7) - 1.0, 2)
    w = random.integers(0, 3, rows).astype(float) if weighted else np.ones(rows)
    b = balanced(y, w, prior)
    odds = logit(prior[1])
    slope, offset = regression(llr[:, None], y, b)
    p = expit(llr + odds)
    beta = regression(np.stack([np.log(p), -np.log1p(-p)], 1), y, b)
    kept = w > 0
    x = np.concatenate([llr[kept], [llr.min() - 1, llr.max() + 1]])
    label, weight = np.concatenate([y[kept], [1, 0]]), np.concatenate([w[kept], [1, 1]])
    shares = IsotonicRegression().fit(x, label, sample_weight=weight)
    at = np.unique(llr[kept])
    base = np.log(weight[label == 1].sum() / weight[label == 0].sum())
    return {
        "llr": llr.tolist(),
        "y": y.tolist(),
        "weights": w.tolist() if weighted else None,
        "prior": prior,
        "logistic": [float(slope[0]), float(offset - odds)],
        "beta": [float(beta[0][0]), float(beta[0][1]), float(beta[1])],
        "temperature": softmax(np.stack([0 * llr, llr], 1), y, b, prior, False)[0],
        "pav": [at.tolist(), (logit(shares.predict(at)) - base).tolist()],
    }


def many_classes(rows, classes):
    y = random.integers(0, classes, rows)
    e = np.round(3 * (random.normal(size=(rows, classes)) + 1.2 * np.eye(classes)[y]) + np.arange(classes) / 2, 2)
    prior = np.arange(1, classes + 1) / np.arange(1, classes + 1).sum()
    return {
        "evidence": e.tolist(),
        "y": y.tolist(),
        "prior": prior.tolist(),
        "affine": softmax(e, y, balanced(y, np.ones(rows), prior), prior, True),
    }


json.dump(
    {
        "sklearn": sklearn.__version__,
        "scipy": scipy.__version__,
        "two": [two_classes(*case) for case in ((120, [0.5, 0.5], False), (300, [0.9, 0.1], True))],
        "many": [many_classes(200, 4)],
    },
    sys.stdout,
)
print()
