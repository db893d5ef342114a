"""How many single rows `deciban serve` answers, beside servers of an equal model in Python.

``python load.py PROGRAM [peers] [million]`` needs `wrk` (Debian's package). ``peers`` also asks, where the running
Python has them, FastAPI with scikit-learn and MLflow, both with the same full Gaussians of three classes; ``million``
sends a million requests and prints what memory the server takes on the way.

Load generator and server share the machine. All connections ask without a pause, so that the latency is the number of
connections over the requests per second; the median that somebody sees who asks alone is that of one connection. CPU is
the time of the server alone for a request.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

CLASSES = 3
SECONDS = 5


def table(columns):
    """Rows of three classes, with columns that depend on each other."""
    rng = np.random.default_rng(columns)
    rows = max(600, 2 * columns)
    y = np.repeat(np.arange(CLASSES), rows)
    mix = np.eye(columns) + 0.3 * rng.normal(size=(columns, columns)) / np.sqrt(columns)
    return rng.normal(size=(len(y), columns)) @ mix + 0.5 * rng.normal(size=(CLASSES, columns))[y], y


def lua(folder, body, kind="application/json"):
    """The script by which wrk sends a body."""
    path = folder / "post.lua"
    path.write_text(f"wrk.method = 'POST'\nwrk.body = {json.dumps(body)}\nwrk.headers['Content-Type'] = '{kind}'\n")
    return path


def load(url, script, connections, seconds=SECONDS):
    """Requests per second, and the median and the 99th percentile of the latency in ms."""
    time.sleep(0.3)
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(script), url]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "Non-2xx" not in told, told
    units = {"us": 1e-3, "ms": 1.0, "s": 1e3}

    def percentile(which):
        value, unit = re.search(rf"{which}%\s+([\d.]+)(us|ms|s)", told).groups()
        return float(value) * units[unit]

    return float(re.search(r"Requests/sec:\s+([\d.]+)", told).group(1)), percentile(50), percentile(99)


@contextlib.contextmanager
def server(command, port, health, **options):
    """A server, when it answers."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    # Programs of the running Python stand beside it.
    beside = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    process = subprocess.Popen(command, start_new_session=True, env=beside, **quiet, **options)
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}{health}", timeout=1).read()
                break
            except OSError:
                assert process.poll() is None, f"{command} ended"
                time.sleep(0.1)
        yield process.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 15)
        process.wait()


def spent(session):
    """Seconds that the processors have spent on the processes of a session."""
    seconds = 0.0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rsplit(")", 1)[1].split()
            if int(fields[3]) == session:
                seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return seconds


def resident(pid):
    """What a process takes, in MB."""
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text()).group(1)) / 1024


def ours(program, folder, columns):
    """A model file of a full Gaussian."""
    x, y = table(columns)
    names = [f"x{j}" for j in range(columns)]
    text = "\n".join(",".join([*map(str, row), f"k{k}"]) for row, k in zip(x.tolist(), y))
    (folder / "rows.csv").write_text(",".join([*names, "y"]) + "\n" + text + "\n")
    model = folder / f"d{columns}.deciban"
    fit = [program, "fit", str(folder / "rows.csv"), "-t", "y", "--model", "gaussian", "-o", str(model)]
    subprocess.run(fit, check=True, capture_output=True)
    return model, dict(zip(names, x[0].tolist()))


FASTAPI = """
import joblib, numpy as np
from fastapi import FastAPI
model, names = joblib.load("m.joblib")
app = FastAPI()
@app.get("/healthz")
def alive(): return "ok"
@app.post("/predict")
def predict(row: dict[str, float]):
    p = model.predict_proba(np.array([[row[name] for name in names]]))[0]
    return {"decision": int(p.argmax()), "posterior": p.tolist()}
"""


def peers(folder, columns=20):
    """Name, command, port, health, path and body of each server in Python."""
    import joblib

    x, y = table(columns)
    names = [f"x{j}" for j in range(columns)]
    model = QuadraticDiscriminantAnalysis().fit(x, y)
    joblib.dump((model, names), folder / "m.joblib")
    (folder / "app.py").write_text(FASTAPI)
    run = [sys.executable, "-m"]
    for workers, port in ((1, 8601), (2, 8611)):
        serve = [*run, "uvicorn", "app:app", "--port", str(port), "--workers", str(workers), "--log-level", "error"]
        yield f"FastAPI, {workers} workers", serve, port, "/healthz", "/predict", dict(zip(names, x[0].tolist()))
    with contextlib.suppress(ImportError):
        import mlflow.sklearn

        mlflow.sklearn.save_model(model, str(folder / "mlflow"), serialization_format="cloudpickle")
        serve = [*run, "mlflow", "models", "serve", "-m", str(folder / "mlflow"), "-p", "8602", "--env-manager", "local", "-w", "2"]
        yield "MLflow, 2 workers", serve, 8602, "/ping", "/invocations", {"dataframe_split": {"columns": names, "data": [x[0].tolist()]}}


def main():
    program, wishes = os.path.abspath(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        print(f"{'server':<22}{'connections':>12}{'requests/s':>12}{'p50 ms':>9}{'p99 ms':>9}{'CPU µs':>9}")

        def line(name, pid, url, script, connections):
            before = spent(pid)
            rate, median, high = load(url, script, connections)
            cpu = (spent(pid) - before) / (rate * SECONDS) * 1e6
            print(f"{name:<22}{connections:>12}{rate:>12.0f}{median:>9.3f}{high:>9.3f}{cpu:>9.1f}", flush=True)
            return rate

        rates = {}
        for columns in (10, 20, 100, 1000):
            model, row = ours(program, folder, columns)
            with server([program, "serve", str(model), "--port", "8600"], 8600, "/readyz") as pid:
                url, script = f"http://127.0.0.1:8600/v1/models/d{columns}/predict", lua(folder, json.dumps(row))
                for connections in (1, 8, 50):
                    rates[columns] = line(f"deciban, {columns} columns", pid, url, script, connections)
                if columns == 20 and "million" in wishes:
                    before, sent = resident(pid), 0
                    while sent < 1e6:
                        rate, _, _ = load(url, script, 50, 10)
                        sent += 10 * rate
                        print(f"  {sent:>10.0f} requests: {resident(pid):.1f} MB, {before:.1f} MB at first", flush=True)
        if "peers" in wishes:
            for name, command, port, health, path, body in peers(folder):
                with server(command, port, health, cwd=folder) as pid:
                    script = lua(folder, json.dumps(body))
                    rate = line(name, pid, f"http://127.0.0.1:{port}{path}", script, 50)
                    print(f"  deciban answers {rates[20] / rate:.1f} times as many")


main()
