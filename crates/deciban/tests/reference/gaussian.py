"""Makes gaussian.json: posteriors and log densities of Gaussian classifiers, by scikit-learn and SciPy.

    pip install scikit-learn && python gaussian.py SHARED/data > gaussian.json

Made with scikit-learn 1.9.1, SciPy 1.17.1, NumPy 2.4.6; nothing is random, so there is no seed.
Only every `stride`-th row is kept. Classes are in the order of their sorted names.

- posteriors: LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis (reg_param 0) and GaussianNB
  (var_smoothing 0), with the priors of the training data. Fitted on all rows; pendigits on its
  training part, scored on its test part. Since 1.9 (pull request 33626) every solver divides
  scatters by n; up to 1.8 the default solver, svd, divided by n - K (LDA) and n - 1 (QDA). Both
  are here: svd for `ml`, and for `unbiased` a covariance estimator that puts the old divisor back.
  The latter equals what svd gives in 1.7.2 to 1e-10.
- log densities on wine13, log p(x | class), before any prior:
  shrinkage: SciPy's normal with scikit-learn's shrunk_covariance of the maximum likelihood covariance;
  pooling: SciPy's normal with ((1-l) S_c + l S) / ((1-l) n_c + l n);
  bayes: SciPy's Student with the parameters of the normal-inverse-Wishart posterior.

Columns are divided by their standard deviations first, which changes no posterior and log densities
by a constant that is put back: SciPy, and scikit-learn given a covariance estimator, decompose
covariances by eigenvalues, which loses digits where variances range over 1e8.

In pendigits the last column is 0 throughout class 4, so that QDA and GaussianNB without smoothing do
not exist: they get the 15 other columns. QDA's `tol`, an eigenvalue below which 1.8 and later
refuse a class, is lowered to 1e-12: the columns of wdbc nearly depend on each other.
"""

import json
import re
import sys

import numpy as np
import scipy
import sklearn
from scipy import stats
from sklearn.covariance import shrunk_covariance
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

folder = sys.argv[1]


def read(path, header=0, class_column=-1):
    with open(f"{folder}/{path}") as file:
        rows = [line.strip().split(",") for line in file if line.strip()][header:]
    y = np.array([row.pop(class_column).strip() for row in rows])
    return np.array(rows, dtype=float), y


iris = read("iris/iris.data")
wine = read("wine/wine13.csv", 1, 0)
wdbc = read("breast-cancer/wdbc.csv", 1, 0)
digits, digits_test = read("pendigits/pendigits.tra"), read("pendigits/pendigits.tes")


class Unbiased:
    """The maximum likelihood covariance times a factor, n / (n - 1) unless given."""

    def __init__(self, factor=None):
        self.factor = factor

    def fit(self, x):
        n = len(x)
        self.covariance_ = np.cov(x, rowvar=False, ddof=0) * (self.factor or n / (n - 1))
        return self


def classifiers(n, k):
    # LDA averages the covariances S_c / n_c by the shares n_c / n of the classes, which gives S / n.
    tied, full = Unbiased(n / (n - k)), Unbiased()
    yield "tied", "ml", LinearDiscriminantAnalysis(solver="svd")
    yield "tied", "unbiased", LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=tied)
    yield "full", "ml", QuadraticDiscriminantAnalysis(solver="svd", reg_param=0.0, tol=1e-12)
    yield "full", "unbiased", QuadraticDiscriminantAnalysis(solver="eigen", covariance_estimator=full, tol=1e-12)
    yield "diagonal", "ml", GaussianNB(var_smoothing=0.0)


posteriors = []
for name, train, test, stride in [
    ("iris", iris, iris, 3),
    ("wine13", wine, wine, 4),
    ("wdbc", wdbc, wdbc, 7),
    ("pendigits", digits, digits_test, 31),
]:
    for covariance, estimator, model in classifiers(len(train[1]), len(set(train[1]))):
        width = 15 if name == "pendigits" and covariance != "tied" else train[0].shape[1]
        unit = train[0][:, :width].std(axis=0)
        x, y, scored = train[0][:, :width] / unit, train[1], test[0][::stride, :width] / unit
        model.fit(x, y)
        posteriors.append(
            {
                "data": name,
                "covariance": covariance,
                "estimator": estimator,
                "classes": model.classes_.tolist(),
                "columns": width,
                "training_errors": int((model.predict(x) != y).sum()),
                "stride": stride,
                "values": model.predict_proba(scored).tolist(),
            }
        )

x, y = wine
classes = sorted(set(y))
n, d = x.shape
unit = x.std(axis=0)
volume = -np.log(unit).sum()
stride = 4
groups = [x[y == c] for c in classes]
scatters = [(g - g.mean(0)).T @ (g - g.mean(0)) for g in groups]
scored = x[::stride]
log_densities = []


def keep(name, columns):
    log_densities.append({"name": name, "stride": stride, "values": np.column_stack(columns).tolist()})


def normal(mean, covariance):
    scaled = covariance / np.outer(unit, unit)
    return stats.multivariate_normal(mean / unit, scaled).logpdf(scored / unit) + volume


def student(mean, shape, dof):
    scaled = shape / np.outer(unit, unit)
    return stats.multivariate_t(mean / unit, scaled, df=dof).logpdf(scored / unit) + volume


for gamma in [0.01, 0.3, 1.0]:
    covariances = [shrunk_covariance(np.cov(g, rowvar=False, ddof=0), gamma) for g in groups]
    keep(f"shrinkage {gamma}", [normal(g.mean(0), s) for g, s in zip(groups, covariances)])

for weight in [0.1, 0.7]:
    covariances = [
        ((1 - weight) * s + weight * sum(scatters)) / ((1 - weight) * len(g) + weight * n)
        for g, s in zip(groups, scatters)
    ]
    keep(f"pooling {weight}", [normal(g.mean(0), s) for g, s in zip(groups, covariances)])
    both = [shrunk_covariance(s, 0.05) for s in covariances]
    keep(f"pooling {weight} shrinkage 0.05", [normal(g.mean(0), s) for g, s in zip(groups, both)])

# mu0: the mean of all rows; Psi0: the pooled within-class variances, on the diagonal.
kappa0, mu0 = 0.01, x.mean(0)
psi0 = np.diag(sum(scatters)) / n


def updated(mean, count):
    """kappa, the posterior mean, and what the distance of the mean from mu0 adds to the scatter."""
    kappa = kappa0 + count
    delta = mean - mu0
    return kappa, (kappa0 * mu0 + count * mean) / kappa, kappa0 * count / kappa * np.outer(delta, delta)


nu0 = d + 2
moved = [updated(g.mean(0), len(g)) for g in groups]
columns = []
for g, s, (kappa, mean, extra) in zip(groups, scatters, moved):
    dof = nu0 + len(g) - d + 1
    columns.append(student(mean, (np.diag(psi0) + s + extra) * (kappa + 1) / (kappa * dof), dof))
keep("bayes full", columns)

dof = nu0 + n - d + 1
psi = np.diag(psi0) + sum(scatters) + sum(extra for _, _, extra in moved)
keep("bayes tied", [student(mean, psi * (kappa + 1) / (kappa * dof), dof) for kappa, mean, _ in moved])

# One column at a time: d = 1, nu0 = 3.
for tied in [False, True]:
    columns = []
    for g, s, (kappa, mean, extra) in zip(groups, scatters, moved):
        psi = psi0 + np.diag(sum(scatters) + sum(m[2] for m in moved) if tied else s + extra)
        dof = 3 + (n if tied else len(g))
        scale = np.sqrt(psi * (kappa + 1) / (kappa * dof))
        columns.append(stats.t(dof, loc=mean, scale=scale).logpdf(scored).sum(axis=1))
    keep("bayes tied-diagonal" if tied else "bayes diagonal", columns)

# Spherical: every column informs one variance, with nu0 = 3 and the mean of psi0.
for tied in [False, True]:
    columns = []
    for g, s, (kappa, mean, extra) in zip(groups, scatters, moved):
        total = sum(scatters) + sum(m[2] for m in moved) if tied else s + extra
        dof = 3 + d * (n if tied else len(g))
        scale = (psi0.mean() + np.trace(total)) * (kappa + 1) / (kappa * dof)
        columns.append(stats.multivariate_t(mean, scale * np.eye(d), df=dof).logpdf(scored))
    keep("bayes tied-spherical" if tied else "bayes spherical", columns)

versions = {"sklearn": sklearn.__version__, "scipy": scipy.__version__, "numpy": np.__version__}
text = json.dumps({"versions": versions, "posteriors": posteriors, "log_densities": log_densities}, indent=1)
# One row of numbers a line.
sys.stdout.write(re.sub(r"\[\s+(-?[\d.][^\[\]]*?)\s+\]", lambda m: "[" + re.sub(r"\s+", " ", m[1]) + "]", text) + "\n")
