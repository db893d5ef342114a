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


def spark(rows):
    import duckdb
    from pyspark.ml.classification import LogisticRegression, NaiveBayes
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import SparkSession

    import deciban
    from deciban.spark import Classifier

    os.environ["PYSPARK_PYTHON"] = sys.executable
    path = os.path.join(tempfile.mkdtemp(), "rows.parquet")
    duckdb.sql(query(rows)).write_parquet(path, row_group_size=1 << 18)
    print(f"{rows} rows, {os.path.getsize(path) / 1e6:.0f} MB of Parquet")
    session = SparkSession.builder.master("local[2]").config("spark.driver.memory", "6g").config("spark.ui.enabled", False).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    frame = session.read.parquet(path)
    frame.selectExpr("sum(x0)").collect()  # warm
    names = [f"x{j}" for j in range(COLUMNS)]
    vectors = VectorAssembler(inputCols=names, outputCol="features").transform(frame).select("features", "y")

    files, by_files = timed("deciban, tasks read files (b)", lambda: Classifier("gaussian", labelCol="y", covariance="diagonal").fit(frame))
    _, by_frame = timed("deciban, any frame (a)", lambda: Classifier("gaussian", labelCol="y", covariance="diagonal", source="frame").fit(frame))
    bayes = NaiveBayes(modelType="gaussian", labelCol="y")
    _, mllib = timed("MLlib NaiveBayes (gaussian)", lambda: bayes.fit(vectors))
    timed("deciban fit on the same file, one process", lambda: deciban.Classifier("gaussian", covariance="diagonal").fit(path, "y"))
    cluster = files.cluster
    print(f"passes {cluster.passes}, bytes sent per task and pass {cluster.sent / cluster.passes:.0f}, received {cluster.received / cluster.passes:.0f}")
    print(f"Gaussian: MLlib / files = {mllib / by_files:.2f}, MLlib / frame = {mllib / by_frame:.2f}")

    logistic, own = timed("deciban logistic (b)", lambda: Classifier("logistic", labelCol="y").fit(frame))
    theirs, mllib = timed("MLlib LogisticRegression", lambda: LogisticRegression(labelCol="y", maxIter=100, tol=1e-6).fit(vectors))
    print(f"logistic: MLlib / files = {mllib / own:.2f}; objective of MLlib {theirs.summary.objectiveHistory[-1]:.9f}")
    judged = logistic.classifier.evaluate(path, "y")
    print(f"log loss of deciban on the same rows {judged['log_loss']:.9f}")
    session.stop()


if __name__ == "__main__":
    which = sys.argv[1] if len(sys.argv) > 1 else "duckdb"
    rows = int(float(sys.argv[2])) if len(sys.argv) > 2 else 20_000_000
    {"duckdb": stream, "spark": spark}[which](rows)
