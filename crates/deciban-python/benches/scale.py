"""Rows that are larger than memory should be: a stream out of DuckDB, files, and Spark beside MLlib.

    python benches/scale.py duckdb            20 million rows x 20 columns out of DuckDB: time and memory
    python benches/scale.py spark [ROWS]      the same in Parquet, on local[2]: deciban and MLlib in one run

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
        beside_mllib(os.path.join(folder, "rows.parquet"), rows)


def beside_mllib(path, rows):
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    import duckdb
    from pyspark.ml.classification import LogisticRegression, NaiveBayes
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import SparkSession

    import deciban
    from deciban.spark import Classifier

    duckdb.sql("SET threads=2")
    duckdb.sql(query(rows)).write_parquet(path, row_group_size=1 << 18)
    print(f"{rows} rows, {os.path.getsize(path) / 1e6:.0f} MB of Parquet", flush=True)
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "8g")
    builder = builder.config("spark.ui.enabled", False).config("spark.ui.showConsoleProgress", False)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    frame = session.read.parquet(path)
    names = [f"x{j}" for j in range(COLUMNS)]

    def vectors(rows):
        return VectorAssembler(inputCols=names, outputCol="features").transform(rows).select("features", "y")

    def learner(model, **options):
        return Classifier(model, labelCol="y", **options)

    def gaussian(source):
        return learner("gaussian", covariance="diagonal", source=source).fit(frame)

    # All of them once on few rows: what starts and compiles code is not what is compared.
    few = frame.limit(20000)
    learner("gaussian", covariance="diagonal").fit(few)
    NaiveBayes(modelType="gaussian", labelCol="y").fit(vectors(few))
    LogisticRegression(labelCol="y", maxIter=3).fit(vectors(few))

    files, by_files = best("deciban, tasks read files (b)", lambda: gaussian("auto"))
    _, by_frame = best("deciban, any frame (a)", lambda: gaussian("frame"))
    _, mllib = best("MLlib NaiveBayes (gaussian)", lambda: NaiveBayes(modelType="gaussian", labelCol="y").fit(vectors(frame)))
    best("deciban fit on the same file, one process", lambda: deciban.Classifier("gaussian", covariance="diagonal").fit(path, "y"))
    passes = files.cluster.passes
    print(f"{passes} passes of {len(files.cluster.shares)} tasks; bytes to each task {files.cluster.sent / passes:.0f}, back from all {files.cluster.received / passes:.0f}")
    print(f"Gaussian: MLlib / files = {mllib / by_files:.2f}, MLlib / frame = {mllib / by_frame:.2f}", flush=True)

    logistic, own = timed("deciban logistic (b)", lambda: learner("logistic", weight_decay=0).fit(frame))
    theirs, mllib = timed("MLlib LogisticRegression", lambda: LogisticRegression(labelCol="y", maxIter=100, tol=1e-6).fit(vectors(frame)))
    timed("deciban logistic on the same file, one process", lambda: deciban.Classifier("logistic", weight_decay=0).fit(path, "y"))
    loss = logistic.classifier.evaluate(path, "y")["log_loss"]
    print(f"logistic: MLlib / files = {mllib / own:.2f} with {logistic.cluster.passes} passes")
    print(f"mean log loss: deciban {loss:.12f}, MLlib {theirs.summary.objectiveHistory[-1]:.12f}")
    session.stop()


if __name__ == "__main__":
    which = sys.argv[1] if len(sys.argv) > 1 else "duckdb"
    rows = int(float(sys.argv[2])) if len(sys.argv) > 2 else 20_000_000
    {"duckdb": stream, "spark": spark}[which](rows)
