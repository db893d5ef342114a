"""Reference values of tests/logistic.rs: scikit-learn's coefficients and statsmodels' standard errors.

Run from this folder with scikit-learn, statsmodels and numpy: python logistic.py > logistic.json
"""
import json
import sys
import warnings

import numpy as np
import sklearn
import statsmodels
import statsmodels.api as sm
from sklearn.linear_model import LogisticRegression

warnings.filterwarnings("ignore")
DATA = "../../../../../shared/data"


def table(path, target, skip):
    rows = [line.strip().split(",") for line in open(f"{DATA}/{path}") if line.strip()][skip:]
    y = np.array([row[target] for row in rows])
    x = np.array([[float(v) for j, v in enumerate(row) if j != target % len(row)] for row in rows])
    return x, y


def fit(x, y, c):
    """The optimum, polished by Newton steps where the solver's tolerance ends."""
    model = LogisticRegression(C=c, tol=1e-14, max_iter=100_000, solver="newton-cholesky").fit(x, y)
    return {"C": c, "coef": model.coef_.tolist(), "intercept": model.intercept_.tolist()}


wdbc = table("breast-cancer/wdbc.csv", 0, 1)
iris = table("iris/iris.data", -1, 0)
few = wdbc[0][:, [1, 4, 8]]  # mean texture, smoothness and symmetry: not separable

out = {
    "versions": {"sklearn": sklearn.__version__, "statsmodels": statsmodels.__version__},
    "wdbc": [fit(*wdbc, c) for c in (1.0, 0.01)],
    "iris": [fit(*iris, c) for c in (1.0, 10.0)],
}
y = (wdbc[1] == "malignant").astype(float)
design = sm.add_constant(few)
for name, link in (("logit", sm.families.links.Logit()), ("probit", sm.families.links.Probit()), ("cloglog", sm.families.links.CLogLog())):
    result = sm.GLM(y, design, family=sm.families.Binomial(link)).fit(tol=1e-14, maxiter=200)
    # Observed information, as from the Hessian; the expected one is another estimate but for the logit.
    information = -sm.GLM(y, design, family=sm.families.Binomial(link)).hessian(result.params, observed=True)
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    out[name] = {"params": result.params.tolist(), "errors": errors.tolist(), "log_likelihood": result.llf, "null": result.llnull}
wine = table("wine/wine13.csv", 0, 1)
pair = wine[0][:, [2, 4]]  # ash and magnesium
m = sm.MNLogit(np.unique(wine[1], return_inverse=True)[1], sm.add_constant(pair)).fit(disp=0, tol=1e-14, maxiter=500, method="newton")
out["mnlogit"] = {"params": m.params.tolist(), "errors": m.bse.tolist(), "log_likelihood": m.llf}
json.dump(out, sys.stdout, indent=1)
