"""Rows that are larger than memory should be: a stream out of DuckDB, files, and Spark beside MLlib.

    python benches/scale.py duckdb            20 million rows x 20 columns out of DuckDB: time and memory
    python benches/scale.py spark [ROWS]      the same in Parquet, on local[2]: deciban and MLlib in one run
    python benches/scale.py data ROWS FILE, gaussian ROWS FILE, logistic ROWS FILE      the parts of it, one by one

Prints times and ratios. The rows are generated: two classes of Gaussian-like columns.
"""

import os
import resource
import sys
import tempfile
import time

COLUMNS = 20


def query(rows):
    columns = ", ".join(
        f"(hash(i * {COLUMNS} + {j}) % 1000000) / 1e6 + (hash(i + {j}) % 1000) / 1e3 + (i % 2) * {0.1 * (j % 3)} AS x{j}"
        for j in range(COLUMNS)
    )
    return f"SELECT {columns}, CAST(i % 2 AS INTEGER) AS y FROM range({rows}) t(i)"


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(what, run):
    start, cpu = time.perf_counter(), time.process_time()
    answer = run()
    print(f"{what:44} {time.perf_counter() - start:8.1f} s  (CPU {time.process_time() - cpu:.1f} s)", flush=True)
    return answer, time.perf_counter() - start


def stream(rows):
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads=2")
    relation = connection.sql(query(rows))

    def read():
        for _ in relation.to_arrow_reader(1 << 16):
            pass

    timed("DuckDB alone hands out the batches", read)
    before = peak()
    from deciban import Classifier

    model, _ = timed("Classifier('gaussian', covariance='tied')", lambda: Classifier("gaussian", covariance="tied").fit(relation, "y"))
    print(f"memory: {before:.0f} MB after DuckDB alone, {peak():.0f} MB after the fit: {peak() - before:.0f} MB more")
    timed("evaluate", lambda: model.evaluate(relation, "y"))
    print(f"memory after evaluate: {peak():.0f} MB")


def best(what, run, repeats=2):
    """The answer, and the least of several times."""
    found = [timed(what, run) for _ in range(repeats)]
    return found[-1][0], min(seconds for _, seconds in found)


def spark(rows):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.parquet")
        data(rows, path)
        gaussian(rows, path)
        logistic(rows, path)


def data(rows, path):
    import duckdb

    duckdb.sql("SET threads=2")
    duckdb.sql(query(rows)).write_parquet(path, row_group_size=1 << 18)
    print(f"{rows} rows, {os.path.getsize(path) / 1e6:.0f} MB of Parquet", flush=True)


NAMES = [f"x{j}" for j in range(COLUMNS)]


def vectors(rows):
    from pyspark.ml.feature import VectorAssembler

    return VectorAssembler(inputCols=NAMES, outputCol="features").transform(rows).select("features", "y")


def learner(model, **options):
    from deciban.spark import Classifier

    return Classifier(model, labelCol="y", **options)


def opened(path):
    """A frame of the file. A fit on few rows comes first: what starts and compiles code is not what is compared."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "8g")
    builder = builder.config("spark.ui.enabled", False).config("spark.ui.showConsoleProgress", False)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    frame = session.read.parquet(path)
    learner("gaussian", covariance="diagonal").fit(frame.limit(20000))
    return frame


def gaussian(rows, path):
    from pyspark.ml.classification import NaiveBayes

    import deciban

    frame = opened(path)
    NaiveBayes(modelType="gaussian", labelCol="y").fit(vectors(frame.limit(20000)))

    def fit(source):
        return learner("gaussian", covariance="diagonal", source=source).fit(frame)

    files, by_files = best("deciban, tasks read files (b)", lambda: fit("auto"))
    _, by_frame = best("deciban, any frame (a)", lambda: fit("frame"))
    _, mllib = best("MLlib NaiveBayes (gaussian)", lambda: NaiveBayes(modelType="gaussian", labelCol="y").fit(vectors(frame)))
    best("deciban fit on the same file, one process", lambda: deciban.Classifier("gaussian", covariance="diagonal").fit(path, "y"))
    passes = files.cluster.passes
    print(f"{passes} passes of {len(files.cluster.shares)} tasks; bytes to each task {files.cluster.sent / passes:.0f}, back from all {files.cluster.received / passes:.0f}")
    print(f"Gaussian: MLlib / files = {mllib / by_files:.2f}, MLlib / frame = {mllib / by_frame:.2f}", flush=True)


def logistic(rows, path):
    from pyspark.ml.classification import LogisticRegression

    import deciban

    frame = opened(path)
    LogisticRegression(labelCol="y", maxIter=3).fit(vectors(frame.limit(20000)))
    fitted, own = timed("deciban logistic (b)", lambda: learner("logistic", weight_decay=0).fit(frame))
    theirs, mllib = timed("MLlib LogisticRegression", lambda: LogisticRegression(labelCol="y", maxIter=100, tol=1e-6).fit(vectors(frame)))
    timed("deciban logistic on the same file, one process", lambda: deciban.Classifier("logistic", weight_decay=0).fit(path, "y"))
    loss = fitted.classifier.evaluate(path, "y")["log_loss"]
    print(f"logistic: MLlib / files = {mllib / own:.2f} with {fitted.cluster.passes} passes")
    print(f"mean log loss: deciban {loss:.12f}, MLlib {theirs.summary.objectiveHistory[-1]:.12f}")


if __name__ == "__main__":
    which = sys.argv[1] if len(sys.argv) > 1 else "duckdb"
    rows = int(float(sys.argv[2])) if len(sys.argv) > 2 else 20_000_000
    parts = {"duckdb": stream, "spark": spark, "data": data, "gaussian": gaussian, "logistic": logistic}
    parts[which](rows, *sys.argv[3:])
