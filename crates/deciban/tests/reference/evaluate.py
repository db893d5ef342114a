"""Makes evaluate.json: figures of scores and probabilities, by scikit-learn.

    pip install scikit-learn && python evaluate.py > evaluate.json

Two-class scores are rounded to a tenth, so that many are equal; weights are 0 to 3. Multiclass
probabilities are a softmax of rounded numbers.
"""

import json
import sys

import numpy as np
import sklearn
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    confusion_matrix,
    log_loss,
    precision_recall_fscore_support,
    roc_auc_score,
    roc_curve,
)

random = np.random.default_rng(20260)


def two_classes(rows, weighted):
    y = (random.random(rows) < 0.35).astype(int)
    llr = np.round(1.3 * random.normal(size=rows) + 1.2 * y - 0.4, 1)
    w = random.integers(0, 4, rows).astype(float) if weighted else np.ones(rows)
    kept = w > 0
    fpr, tpr, thresholds = roc_curve(y, llr, sample_weight=w, drop_intermediate=False)
    isotonic = IsotonicRegression(out_of_bounds="clip").fit(llr[kept], y[kept], sample_weight=w[kept])
    p = 1 / (1 + np.exp(-llr))
    share, mean = calibration_curve(y, p, n_bins=8)
    at = np.unique(llr[kept])
    return {
        "llr": llr.tolist(),
        "y": y.tolist(),
        "weights": w.tolist() if weighted else None,
        "auc": roc_auc_score(y, llr, sample_weight=w),
        "roc": [thresholds[1:].tolist(), (1 - tpr[1:]).tolist(), fpr[1:].tolist()],
        "isotonic": [at.tolist(), isotonic.predict(at).tolist()],
        "calibration": None if weighted else [share.tolist(), mean.tolist()],
    }


def many_classes(rows, classes, weighted):
    y = random.integers(0, classes, rows)
    z = np.round(random.normal(size=(rows, classes)) + 1.5 * np.eye(classes)[y], 3)
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    w = random.integers(0, 4, rows).astype(float) if weighted else np.ones(rows)
    decided = p.argmax(1)
    precision, recall, f1, _ = precision_recall_fscore_support(y, decided, sample_weight=w)
    averages = precision_recall_fscore_support(y, decided, sample_weight=w, average="macro")
    square = ((p - np.eye(classes)[y]) ** 2).sum(1)
    return {
        "evidence": z.tolist(),
        "y": y.tolist(),
        "weights": w.tolist() if weighted else None,
        "accuracy": accuracy_score(y, decided, sample_weight=w),
        "balanced_accuracy": balanced_accuracy_score(y, decided, sample_weight=w),
        "log_loss": log_loss(y, p, sample_weight=w),
        # scikit-learn's own Brier score of two classes is half of this one.
        "brier": float(np.average(square, weights=w)),
        "confusion": confusion_matrix(y, decided, sample_weight=w).tolist(),
        "precision": precision.tolist(),
        "recall": recall.tolist(),
        "f1": f1.tolist(),
        "macro": [float(x) for x in averages[:3]],
    }


json.dump(
    {
        "sklearn": sklearn.__version__,
        "numpy": np.__version__,
        "two": [two_classes(rows, weighted) for rows in (30, 400) for weighted in (False, True)],
        "many": [many_classes(*case) for case in ((60, 2, False), (300, 5, False), (300, 5, True))],
    },
    sys.stdout,
)
print()
