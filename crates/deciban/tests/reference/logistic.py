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
    """The optimum, polished by Newton steps where the solver's tolerance ends, and the largest component of the
    gradient where the default solver stops at its default tolerance."""
    model = LogisticRegression(C=c, tol=1e-14, max_iter=100_000, solver="newton-cholesky").fit(x, y)
    default = LogisticRegression(C=c, max_iter=100_000).fit(x, y)
    p, t = default.predict_proba(x), (y[:, None] == default.classes_).astype(float)
    rest = (p - t)[:, 1:] if len(default.classes_) == 2 else p - t
    gradient = max(np.abs(rest.T @ x + default.coef_ / c).max(), np.abs(rest.sum(0)).max())
    return {"C": c, "coef": model.coef_.tolist(), "intercept": model.intercept_.tolist(), "gradient": float(gradient)}


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
    if name == "logit":
        m = sm.Logit(y, design).fit(disp=0, tol=1e-14, maxiter=200, method="newton")
        out[name] |= {"z": m.tvalues.tolist(), "p": m.pvalues.tolist(), "low": m.conf_int(0.05)[:, 0].tolist(), "high99": m.conf_int(0.01)[:, 1].tolist(), "llr": m.llr, "llr_p": m.llr_pvalue, "pseudo_r2": m.prsquared}
wine = table("wine/wine13.csv", 0, 1)
pair = wine[0][:, [2, 4]]  # ash and magnesium
m = sm.MNLogit(np.unique(wine[1], return_inverse=True)[1], sm.add_constant(pair)).fit(disp=0, tol=1e-14, maxiter=500, method="newton")
out["mnlogit"] = {"params": m.params.tolist(), "errors": m.bse.tolist(), "log_likelihood": m.llf, "llr": m.llr, "llr_p": m.llr_pvalue, "df": int(m.df_model)}


def polish(x, y, model):
    """The optimum by Newton steps from where the solver ends, and the solver's own gradient there."""
    from scipy.sparse.linalg import LinearOperator, cg

    w = np.append(model.coef_[0], model.intercept_[0])
    theirs = None
    for _ in range(3):
        p = 1 / (1 + np.exp(-(x @ w[:-1] + w[-1])))
        g = np.append(x.T @ (p - y) + w[:-1], (p - y).sum())
        theirs = theirs or float(np.abs(g).max())
        c = p * (1 - p)
        product = lambda v: np.append(x.T @ (c * (x @ v[:-1] + v[-1])) + v[:-1], (c * (x @ v[:-1] + v[-1])).sum())
        w = w - cg(LinearOperator((len(w), len(w)), matvec=product), g, rtol=1e-8, maxiter=5000)[0]
    p = 1 / (1 + np.exp(-(x @ w[:-1] + w[-1])))
    objective = -np.log(np.where(y == 1, p, 1 - p)).sum() + 0.5 * w[:-1] @ w[:-1]
    return w, theirs, float(objective)


def summary(names, w, gradient, objective, shown):
    weights = {name: float(w[names.index(name)]) for name in shown}
    return {"weights": weights, "intercept": float(w[-1]), "sum": float(w[:-1].sum()), "squares": float(w[:-1] @ w[:-1]), "gradient": gradient, "objective": objective}


def sms():
    """The words [a-z0-9]+ of the messages in lower case, as counts; C = 1."""
    import re

    import scipy.sparse

    text = open(f"{DATA}/sms-spam/SMSSpamCollection", encoding="utf-8", newline="").read()
    rows = [line.split("\t", 1) for line in text.split("\n") if line]
    lower = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
    words = [re.findall(r"[a-z0-9]+", message.translate(lower)) for _, message in rows]
    names = sorted({word for message in words for word in message})
    place = {word: j for j, word in enumerate(names)}
    entries = [(i, place[word]) for i, message in enumerate(words) for word in message]
    x = scipy.sparse.csr_matrix((np.ones(len(entries)), np.array(entries).T), shape=(len(rows), len(names)))
    y = np.array([float(label == "spam") for label, _ in rows])
    model = LogisticRegression(tol=1e-10, max_iter=10_000).fit(x, y)
    shown = ["free", "txt", "call", "ok", "i", "claim", "150p", "later", "my", "www"]
    return summary(names, *polish(x, y, model), shown) | {"words": len(names), "entries": x.nnz}


def adult():
    """Standardised numbers and an indicator of each level but `?`; C = 1; weights in the units of the file."""
    import gzip

    rows = [[v.strip() for v in line.split(",")] for line in gzip.open(f"{DATA}/adult/adult.data.gz", "rt") if line.strip()]
    columns = list(zip(*rows))
    numbers = [0, 2, 4, 10, 11, 12]
    names, parts = [f"c{j}" for j in numbers], [np.array(columns[j], dtype=float) for j in numbers]
    mean, sd = np.array([p.mean() for p in parts]), np.array([p.std() for p in parts])
    parts = [(p - m) / s for p, m, s in zip(parts, mean, sd)]
    for j in (1, 3, 5, 6, 7, 8, 9, 13):
        for level in sorted(set(columns[j]) - {"?"}):
            names.append(f"c{j}={level}")
            parts.append(np.array([float(v == level) for v in columns[j]]))
    x, y = np.stack(parts, axis=1), np.array([float(v == ">50K") for v in columns[14]])
    model = LogisticRegression(tol=1e-10, max_iter=10_000).fit(x, y)
    w, gradient, objective = polish(x, y, model)
    k = len(numbers)
    w[:k] /= sd
    w[-1] -= w[:k] @ mean
    shown = names[:k] + ["c9=Male", "c5=Married-civ-spouse", "c13=United-States", "c3=Doctorate", "c13=Holand-Netherlands"]
    return summary(names, w, gradient, objective, shown) | {"features": len(names)}


out["sms"], out["adult"] = sms(), adult()
json.dump(out, sys.stdout, indent=1)
