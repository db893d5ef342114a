"""Makes glasso.json: the graphical lasso of two correlation matrices, by scikit-learn.

    pip install scikit-learn && python glasso.py > glasso.json

Iris (4 columns) and wine (the 13 columns of the UCI file) come with scikit-learn. `enet_tol` is the
accuracy of the inner regressions: 1e-16 is a little more than they can reach, hence the silenced
warnings, but at the default, 1e-4, the sixth digit is noise. `kkt` shows how far a result is from
optimal: the largest of |S_ij - W_ij| - rho, and of |W_ij - S_ij - rho sign(precision_ij)| where
precision_ij is not 0, with W the inverse of the precision.
"""

import json
import sys
import warnings

import numpy as np
import sklearn
from sklearn.covariance import graphical_lasso
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

warnings.simplefilter("ignore", ConvergenceWarning)


def kkt(s, precision, rho):
    w = np.linalg.inv(precision)
    off = ~np.eye(len(s), dtype=bool)
    box = (np.abs(s - w) - rho)[off].max()
    used = off & (np.abs(precision) > 1e-9)
    return float(max(box, np.abs(w - s - rho * np.sign(precision))[used].max(initial=0.0)))


cases = []
for name, x in [("iris", load_iris().data), ("wine13", load_wine().data)]:
    s = np.corrcoef(x, rowvar=False)
    for rho in [0.01, 0.05, 0.2, 0.5]:
        covariance, precision = graphical_lasso(s, rho, tol=1e-12, enet_tol=1e-16, max_iter=1000)
        cases.append(
            {
                "data": name,
                "rho": rho,
                "d": len(s),
                "kkt": kkt(s, precision, rho),
                "s": s.ravel().tolist(),
                "covariance": covariance.ravel().tolist(),
                "precision": precision.ravel().tolist(),
            }
        )
json.dump({"sklearn": sklearn.__version__, "numpy": np.__version__, "cases": cases}, sys.stdout, indent=1)
print()
