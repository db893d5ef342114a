"""A process made by `fork` learns, predicts and explains, whatever its parent has done before."""

import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

#: What parent and child know: models fitted before the fork, and rows for all of them.
BEFORE = """
import multiprocessing, os, signal, sys, time
import numpy as np, scipy.sparse as sp
from deciban import Classifier, evaluate
from deciban.sklearn import GaussianNB, MultinomialNB
rng = np.random.default_rng(0)
n, jobs = 30_000, N_JOBS
X, y = rng.normal(size=(n, 8)), rng.integers(0, 3, n)
X[:, 0] += y
words = sp.random(20_000, 500, density=0.02, random_state=0, format="csr")
texts = {"a": rng.choice(["cook", "judge", "none"], n), "b": X[:, 0]}
model = Classifier("gaussian", n_jobs=jobs).fit(X, y)
mixed = Classifier("naive-bayes", n_jobs=jobs).fit(texts, y)
counts = Classifier("multinomial", n_jobs=jobs).fit(words, y[:20_000])
dropin, text_dropin = GaussianNB().fit(X, y), MultinomialNB().fit(words, y[:20_000])
"""

WORK = {
    "predict_proba": "model.predict_proba(X)",
    "predict_proba of one row": "model.predict_proba(X[:1])",
    "decide": "model.decide(X, reject=0.3)",
    "log_density": "model.log_density(X)",
    "mixed": "mixed.predict_proba(texts)",
    "sparse": "counts.predict_proba(words)",
    "explain": "[str(ledger) for ledger in mixed.explain({name: cells[:500] for name, cells in texts.items()})]",
    "fit": "Classifier('gaussian', n_jobs=jobs).fit(X, y).predict_proba(X)",
    "logistic": "Classifier('logistic', n_jobs=jobs).fit(X, y).predict_proba(X)",
    "merge": "Classifier('gaussian', n_jobs=jobs).fit(X, y).merge(model).predict_proba(X)",
    "drop-in": "dropin.predict_proba(X)",
    "sparse drop-in": "text_dropin.predict_proba(words)",
    "evaluate": "np.array(evaluate.auc(X[:, 0], y == 0))",
}

CHILD = """
expected = {name: eval(code) for name, code in WORK.items()}
child = os.fork()
if child == 0:
    status = 1
    try:
        for name, code in WORK.items():
            print(name, flush=True)
            assert np.array_equal(eval(code), expected[name]), name
        status = 0
    finally:
        os._exit(status)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert np.array_equal(model.predict_proba(X), expected["predict_proba"])
print("done", flush=True)
"""

POOL = """
def score(part):
    return model.predict_proba(X[part::4])

if __name__ == "__main__":
    expected = [score(part) for part in range(4)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.map(score, range(4))
    assert all(np.array_equal(a, b) for a, b in zip(found, expected))
    print("done", flush=True)
"""

INTERRUPTED = """
base = rng.normal(size=2_001_000)
many = np.lib.stride_tricks.sliding_window_view(base, 8)[:2_000_000]
child = os.fork()
if child == 0:
    try:
        while True:
            model.explain(many)
    except KeyboardInterrupt:
        os._exit(7)
time.sleep(1.5)
os.kill(child, signal.SIGINT)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
print("done", flush=True)
"""


def run(code, jobs):
    """The last line that the code prints. Its processes are a group, so that a child that hangs is ended too."""
    code = f"WORK = {WORK!r}\n" + BEFORE.replace("N_JOBS", repr(jobs)) + code
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        told, wrong = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        told, wrong = process.communicate()
        pytest.fail(f"hangs after {told.splitlines()[-1:]}")
    assert process.returncode == 0, wrong
    return told.splitlines()[-1]


@pytest.mark.parametrize("jobs", [None, 1, 2])
@pytest.mark.parametrize("how", [CHILD, POOL], ids=["fork", "pool"])
def test_a_forked_process_works(how, jobs):
    assert run(how, jobs) == "done"


def test_ctrl_c_ends_work_in_a_forked_process():
    assert run(INTERRUPTED, None) == "done"
