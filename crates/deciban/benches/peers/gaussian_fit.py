"""Times the peers of gaussian_fit.rs: reads a job per line, answers its seconds."""
import sys
import time

import numpy as np
from scipy.linalg.blas import dsyrk
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

rows, columns, classes = map(int, sys.argv[1:4])
random = np.random.default_rng(1)
x = random.standard_normal((rows, columns))
y = random.integers(0, classes, rows)
qda = QuadraticDiscriminantAnalysis()

for job in sys.stdin:
    start = time.perf_counter()
    match job.strip():
        case "syrk":
            dsyrk(1.0, x.T, lower=1)  # x.T is column-major: no copy
        case "qda-fit":
            qda.fit(x, y)
        case "qda-score":
            qda.predict_proba(x)
    print(time.perf_counter() - start, flush=True)
