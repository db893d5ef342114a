"""Times the peers of sparse_counts.rs and categorical.rs: reads a job per line, answers its seconds and
the sum of the posteriors of the last class.

The data come as files that the bench has written: `indptr`, `indices`, `counts` or `codes`, and `classes`.
"""
import sys
import time

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, MultinomialNB

folder, rows, columns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def load(name, dtype):
    return np.fromfile(f"{folder}/{name}", dtype)


y = load("classes", np.uint32)
models = {"multinomial": MultinomialNB(), "bernoulli": BernoulliNB(), "categorical": CategoricalNB()}
x = None

for job in sys.stdin:
    name, step = job.split()
    if x is None:
        if name == "categorical":
            x = load("codes", np.uint32).reshape(columns, rows).T.astype(np.int64, order="C")
        else:
            arrays = load("counts", np.float64), load("indices", np.int32), load("indptr", np.int32)
            x = csr_matrix(arrays, shape=(rows, columns))
    start = time.perf_counter()
    result = models[name].fit(x, y) if step == "fit" else models[name].predict_proba(x)
    seconds = time.perf_counter() - start
    print(seconds, 0.0 if step == "fit" else result[:, -1].sum(), flush=True)
