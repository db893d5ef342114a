"""deciban on Spark, with executors in processes of their own: the model of one machine, whatever the partitions."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose

# Small frames spend their time in starting four JVMs. The first compiler and the simplest collector halve it.
JVM = {
    "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "SPARK_LOCAL_IP": "127.0.0.1",
    "PYSPARK_PYTHON": sys.executable,
    "PYSPARK_DRIVER_PYTHON": sys.executable,
}
os.environ.update(JVM)
pyspark = pytest.importorskip("pyspark")

from pyspark.ml import Pipeline, PipelineModel  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402

import deciban  # noqa: E402
from deciban.spark import Classifier, ClassifierModel, _files, _frames, _passes, compare  # noqa: E402
from pages import PROJECT, run_page  # noqa: E402
from sorted_rows import TABLE  # noqa: E402

MODELS = {
    "full": dict(model="gaussian", ignore=["job", "mail", "w"]),
    "tied": dict(model="gaussian", covariance="tied", pca=1, ignore=["job", "mail", "w"]),
    "mixed": dict(model="naive-bayes", ignore=["w"]),
    "bins": dict(model="tree", ignore=["mail", "w"]),
    "text": dict(model="multinomial", ignore=["a", "b", "job", "w"]),
    "logistic": dict(model="logistic", ignore=["mail", "w"]),
    "mixture": dict(model="gaussian", components=2, iterations=3, ignore=["job", "mail", "w"]),
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local-cluster[2,1,700]")
        .config("spark.ui.enabled", False)
        .config("spark.executor.memory", "500m")
        .config("spark.speculation", True)
        .config("spark.sql.ansi.enabled", True)
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.sql.warehouse.dir", str(folder))
        .config("spark.executorEnv.PYTHONPATH", os.environ.get("PYTHONPATH", ""))
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.showConsoleProgress", False)
        # Every file is a partition of its own.
        .config("spark.sql.files.maxPartitionBytes", 4 << 20)
        .config("spark.sql.files.openCostInBytes", 4 << 20)
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def parquet(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("rows") / "rows.parquet")
    pq.write_table(TABLE, path, row_group_size=700)
    return path


@pytest.fixture(scope="session")
def parts(spark, tmp_path_factory):
    """A frame whose partitions are the same each time that they are asked for: no rows are exchanged for it.

    (After an exchange, Spark promises neither the order of the rows in a partition, nor the same ranges.)"""
    folder = tmp_path_factory.mktemp("parts")
    for part, (start, rows) in enumerate([(0, 1900), (1900, 50), (1950, 0), (1950, 600), (2550, 450)]):
        pq.write_table(TABLE.slice(start, rows), folder / f"part-{part}.parquet")
    return spark.read.parquet(str(folder)).withColumn("w", F.col("w") + 0)


@pytest.fixture(scope="session")
def frame(spark, parquet):
    # An expression, so that the frame is no plain scan.
    return spark.read.parquet(parquet).withColumn("w", F.col("w") + 0)


def fitted(frame, options, **more):
    options = dict(options)
    return Classifier(options.pop("model"), labelCol="y", **more, **options).fit(frame).classifier


@pytest.mark.parametrize("name", MODELS)
def test_the_model_of_one_machine(frame, name):
    options = MODELS[name]
    expected = deciban.Classifier(**options).fit(TABLE, "y")
    found = fitted(frame.repartition(3), options)
    assert found.classes_.tolist() == ["a", "b", "c"]
    few = TABLE.slice(0, 300)
    assert_allclose(found.evidence(few), expected.evidence(few), rtol=1e-9, atol=1e-9)


def test_the_same_bits_for_the_same_partitions(parts, monkeypatch):
    assert parts.rdd.getNumPartitions() == 5
    for name in ("full", "logistic"):
        first, second = (fitted(parts, MODELS[name]).evidence(TABLE) for _ in range(2))
        assert (first == second).all()
    first = fitted(parts, MODELS["full"]).evidence(TABLE)
    monkeypatch.setattr(_passes, "FAN", 2)  # a tree of two levels below the driver
    second, third = (fitted(parts, MODELS["full"]).evidence(TABLE) for _ in range(2))
    assert (second == third).all()
    assert_allclose(second, first, rtol=1e-9)


def test_files_are_read_by_executors(spark, parquet, monkeypatch):
    scan = spark.read.parquet(parquet)
    assert _files.is_scan(scan) and not _files.is_scan(scan.where("a > 0")) and not _files.is_scan(scan.select("a"))
    monkeypatch.setattr(_files, "SHARE", 1000)
    shares = _files.shares(scan, False)
    assert [len(share) for share in shares] == [1, 1, 1] and shares[0][0][1] == (0, 2)
    for name in ("mixed", "full"):
        expected = deciban.Classifier(**MODELS[name]).fit(TABLE, "y").evidence(TABLE)
        found = fitted(scan, MODELS[name], weightCol=None)
        assert_allclose(found.evidence(TABLE), expected, rtol=1e-9, atol=1e-9)


def test_transform_and_pipelines(spark, frame, tmp_path):
    learner = Classifier("naive-bayes", labelCol="y", evidenceCol="evidence", ignore=["w", "mail"])
    model = Pipeline(stages=[learner]).fit(frame)
    model.write().overwrite().save(str(tmp_path / "pipeline"))
    again = PipelineModel.load(str(tmp_path / "pipeline"))
    for fit in (model, again):
        rows = fit.transform(frame).select("a", "prediction", "probability", "evidence").toArrow()
        own = fit.stages[0].classifier
        assert rows["prediction"].to_pylist() == own.predict(TABLE).tolist()
        assert_allclose(np.array(rows["probability"].to_pylist()), own.predict_proba(TABLE), rtol=1e-12)
        assert_allclose(np.array(rows["evidence"].to_pylist()), own.evidence(TABLE), rtol=1e-12)
    learner.save(str(tmp_path / "learner"))
    assert Classifier.load(str(tmp_path / "learner")).getOrDefault("options") == learner.getOrDefault("options")
    judged = model.stages[0].evaluate(frame.repartition(3))
    expected = model.stages[0].classifier.evaluate(TABLE, "y")
    assert judged.figures == pytest.approx(expected.figures, rel=1e-9)
    with pytest.warns(deciban._classifier.RemarkWarning, match="are those of .* rows, drawn from 3000"):
        few = model.stages[0].evaluate(frame, memory=36_000)
    assert few["log_loss"] == pytest.approx(expected["log_loss"], rel=1e-9)
    assert few["min_cllr"] == pytest.approx(expected["min_cllr"], rel=0.3)
    assert few["min_cllr"] != pytest.approx(expected["min_cllr"], rel=1e-6)
    clash = ClassifierModel(model.stages[0].classifier)
    clash._put({"predictionCol": "a"})
    with pytest.raises(ValueError, match="has a column 'a' already"):
        clash.transform(frame)


def test_comparisons_and_calibration(spark, parquet, monkeypatch):
    """Folds are those of one machine where the rows are in the same order, here in three shares of a file."""
    monkeypatch.setattr(_files, "SHARE", 1000)
    scan = spark.read.parquet(parquet)
    options = dict(models=["naive-bayes"], folds=3, effort="quick")
    expected = deciban.compare(TABLE.drop_columns(["job", "mail", "w"]), target="y", **options)
    found = compare(scan, "y", ignore=["job", "mail", "w"], **options)
    assert {line["model"] for line in found.lines} == {line["model"] for line in expected.lines}
    for line in expected.lines:
        for figure in ("log_loss", "error_rate", "brier"):
            assert found[line["model"]][figure] == pytest.approx(line[figure], rel=1e-9), line["model"]
    for name in (None, "naive-bayes --pseudo-count 1 --family histogram"):
        own = expected.refit(name).evidence(TABLE)
        assert_allclose(found.refit(name).classifier.evidence(TABLE), own, rtol=1e-9, atol=1e-9)
    with pytest.raises(KeyError, match="nothing"):
        found.refit("nothing")
    # Other frames have no lasting places: folds are those of what rows hold, however Spark exchanges them.
    expected = deciban.compare(TABLE.drop_columns(["job", "mail", "w"]), target="y", equal_together=True, **options)
    found = compare(scan.repartition(3), "y", ignore=["job", "mail", "w"], **options)
    assert [line["model"] for line in found.lines] == [line["model"] for line in expected.lines]
    for line in expected.lines:
        for figure in ("log_loss", "error_rate", "brier"):
            assert found[line["model"]][figure] == pytest.approx(line[figure], rel=1e-9), line["model"]
    calibrated = dict(model="gaussian", calibrate="logistic", ignore=["job", "mail", "w"])
    own = deciban.Classifier(**calibrated).fit(TABLE, "y").evidence(TABLE)
    assert_allclose(fitted(scan, calibrated).evidence(TABLE), own, rtol=1e-9, atol=1e-9)


def test_text_is_shared_by_bytes(spark, tmp_path, monkeypatch):
    path = str(tmp_path / "rows.csv")
    pa.csv.write_csv(TABLE.drop_columns(["mail"]), path)
    scan = spark.read.csv(path, header=True, inferSchema=True)
    assert not _files.is_scan(scan)
    monkeypatch.setattr(_files, "BYTES", 50_000)
    assert len(_files.shares(scan, True)) > 2
    options = dict(model="naive-bayes", ignore=["w"])
    expected = deciban.Classifier(**options).fit(TABLE.drop_columns(["mail"]), "y").evidence(TABLE)
    assert_allclose(fitted(scan, options, source="files").evidence(TABLE), expected, rtol=1e-9)


def test_odd_frames(spark, frame):
    gaps = frame.withColumn("y", F.when(F.col("a") > 2, None).otherwise(F.col("y"))).repartition(8).where("a < 1.5")
    kept = TABLE.filter(pa.compute.less(TABLE["a"], 1.5))
    expected = deciban.Classifier(**MODELS["full"]).fit(kept, "y").evidence(TABLE)
    assert_allclose(fitted(gaps, MODELS["full"]).evidence(TABLE), expected, rtol=1e-9)
    weighted = deciban.Classifier("gaussian", ignore=["job", "mail"]).fit(TABLE, "y", sample_weight="w").evidence(TABLE)
    found = fitted(frame, dict(model="gaussian", ignore=["job", "mail"]), weightCol="w")
    assert_allclose(found.evidence(TABLE), weighted, rtol=1e-9)
    arrays = frame.select("y", F.array("a", "b").alias("x"))
    model = Classifier("gaussian", labelCol="y").fit(arrays)
    assert [name for name, _ in model.classifier._model.columns] == ["x[0]", "x[1]"]
    by_array = deciban.Classifier(**MODELS["full"]).fit(TABLE, "y").predict_proba(TABLE)
    rows = model.transform(arrays).toArrow()
    assert rows.column_names == ["y", "x", "prediction", "probability"]
    assert_allclose(np.array(rows["probability"].to_pylist()), by_array, rtol=1e-9)
    longer = arrays.withColumn("x", F.when(F.col("x")[0] < 0, F.array(F.lit(1.0))).otherwise(F.col("x")))
    for job in (lambda: Classifier("gaussian", labelCol="y").fit(longer), lambda: model.transform(longer).collect()):
        with pytest.raises(Exception, match="an array has not [12] numbers, but [12]"):
            job()
    with pytest.raises(ValueError, match="no column 'z'"):
        Classifier("gaussian", labelCol="z").fit(frame)
    with pytest.raises(ValueError, match="no rows"):
        Classifier("gaussian", labelCol="y").fit(frame.where("a > 1e9"))


def test_the_size_of_batches_is_that_of_before(spark, frame, monkeypatch):
    names = (_frames.BYTES, _frames.ROWS)
    before, during = [spark.conf.get(name) for name in names], []
    kept = _frames.quick_batches

    @contextmanager
    def watched(session):
        with kept(session):
            during.append([session.conf.get(name) for name in names])
            yield

    monkeypatch.setattr(_frames, "quick_batches", watched)
    spark.conf.set(_frames.ROWS, "7")
    try:
        found = fitted(frame, MODELS["full"]).evidence(TABLE)
        assert spark.conf.get(_frames.ROWS) == "7"
    finally:
        spark.conf.set(_frames.ROWS, before[1])
    assert set(map(tuple, during)) == {(str(2**31 - 1), "7")}
    assert [spark.conf.get(name) for name in names] == before
    expected = deciban.Classifier(**MODELS["full"]).fit(TABLE, "y").evidence(TABLE)
    assert_allclose(found, expected, rtol=1e-9)


def test_a_lineage_that_is_not_deterministic(frame, tmp_path):
    folder = str(tmp_path)

    def fewer(batches):
        """Each time that it runs, it leaves one more row out."""
        gone = len(os.listdir(folder))
        open(os.path.join(folder, str(gone)), "w").close()
        for batch in batches:
            yield batch.slice(gone)

    shaky = frame.coalesce(1).mapInArrow(fewer, frame.schema)
    # The error names both numbers of rows, and says what to do.
    with pytest.raises(RuntimeError, match=r"gives other rows in each pass: 29\d\d the first time, and 29\d\d now.*cache"):
        fitted(shaky, MODELS["logistic"])


def executors(spark):
    """The process ids of the executors: workers of Python are children of a daemon, whose parent is the executor."""

    def parents(batches):
        for _ in batches:
            pass
        time.sleep(0.2)  # so that every executor gets some of these tasks
        with open(f"/proc/{os.getppid()}/stat") as file:
            yield pa.RecordBatch.from_pydict({"pid": pa.array([int(file.read().rsplit(")", 1)[1].split()[1])], pa.int64())})

    pids = {row["pid"] for row in spark.range(0, 4, 1, 4).mapInArrow(parents, "pid long").collect()}
    for pid in pids:
        with open(f"/proc/{pid}/cmdline") as file:
            assert "CoarseGrainedExecutorBackend" in file.read()
    return pids


def test_an_executor_dies(spark, parts, monkeypatch):
    """Killed by its process id in the middle of a fit: Spark runs its tasks again, and the bits are the same."""

    def slowly(batches):
        time.sleep(0.15)
        yield from batches

    slow = parts.mapInArrow(slowly, parts.schema)
    expected = fitted(parts, MODELS["logistic"]).evidence(TABLE)
    before = executors(spark)
    assert len(before) == 2  # two processes beside the driver
    victim, passes, ask = min(before), [], _passes.Cluster._pass

    def asked(cluster, *given):
        passes.append(time.monotonic())
        if len(passes) == 3:  # tasks of the third pass are at work when it dies
            threading.Timer(0.1, os.kill, (victim, signal.SIGKILL)).start()
        return ask(cluster, *given)

    monkeypatch.setattr(_passes.Cluster, "_pass", asked)
    found = fitted(slow, MODELS["logistic"]).evidence(TABLE)
    assert len(passes) > 3 and victim not in executors(spark)
    assert (found == expected).all()


def test_vectors_of_spark_ml(frame):
    from pyspark.ml.feature import VectorAssembler

    vectors = VectorAssembler(inputCols=["a", "b"], outputCol="x").transform(frame).select("y", "x")
    found = Classifier("gaussian", labelCol="y").fit(vectors)
    expected = deciban.Classifier(**MODELS["full"]).fit(TABLE, "y").predict_proba(TABLE)
    rows = found.transform(vectors).toArrow()
    assert_allclose(np.array(rows["probability"].to_pylist()), expected, rtol=1e-9)


#: Names that Spark's SQL takes for something else: fields, expressions, quotes, and the same name in other case.
ODD = {"a": "emp.var.rate", "b": "Emp.Var.Rate", "job": "job [of `x`] (now)", "mail": "the mail", "w": "`w`.é", "y": "y.class"}


def test_names_of_any_letters(spark, parquet, tmp_path):
    table = TABLE.rename_columns([ODD[name] for name in TABLE.column_names])
    plain = spark.read.parquet(parquet)
    odd = plain.toDF(*[ODD[name] for name in plain.columns])
    options = dict(labelCol="y.class", weightCol="`w`.é", evidenceCol="log p(x | class)", probabilityCol="p.q")
    learner = Classifier("naive-bayes", **options)
    expected = deciban.Classifier("naive-bayes").fit(table, "y.class", sample_weight="`w`.é")
    # What both scans and other frames give: tasks read the file of the first by themselves.
    file = str(tmp_path / "odd.parquet")
    distinct = table.rename_columns([name.replace("Emp.Var", "other.var") for name in table.column_names])
    pq.write_table(distinct, file, row_group_size=700)
    scan = learner.fit(spark.read.parquet(file))
    assert scan.cluster.shares is not None
    assert_allclose(scan.classifier.evidence(distinct), expected.evidence(table), rtol=1e-9, atol=1e-9)
    model = learner.fit(odd.repartition(2))
    assert model.cluster.shares is None
    assert_allclose(model.classifier.evidence(table), expected.evidence(table), rtol=1e-9, atol=1e-9)
    found = model.transform(odd)
    assert found.columns == [*odd.columns, "prediction", "p.q", "log p(x | class)"]
    rows = found.toArrow()
    assert rows["prediction"].to_pylist() == expected.predict(table).tolist()
    assert_allclose(np.array(rows["p.q"].to_pylist()), expected.predict_proba(table), rtol=1e-9)
    assert rows.select(odd.columns).to_pylist() == table.select(odd.columns).to_pylist()
    figures = model.evaluate(odd).figures
    assert figures == pytest.approx(expected.evaluate(table, "y.class", sample_weight="`w`.é").figures, rel=1e-9)
    compared = compare(odd.drop("the mail"), "y.class", models=["naive-bayes"], folds=3, effort="quick", ignore=["`w`.é"])
    own = deciban.compare(
        table.drop_columns(["the mail", "`w`.é"]), target="y.class", models=["naive-bayes"], folds=3, effort="quick", equal_together=True
    )
    assert compared.lines[0]["log_loss"] == pytest.approx(own.lines[0]["log_loss"], rel=1e-9)
    arrays = plain.select(F.col("y").alias("y.class"), F.array("a", "b").alias("f.x [0]"), F.lit(1).alias("f.x"))
    model = Classifier("gaussian", labelCol="y.class", ignore=["f.x"]).fit(arrays)
    assert [name for name, _ in model.classifier._model.columns] == ["f.x [0][0]", "f.x [0][1]"]
    assert model.transform(arrays).columns == ["y.class", "f.x [0]", "f.x", "prediction", "probability"]
    with pytest.raises(ValueError, match="lacks the column 'f.x .0..0.'"):
        model.transform(odd)
    twice = plain.select("a", "b", "y").toDF("a.b", "a.b", "y")
    with pytest.raises(ValueError, match="several columns 'a.b'"):
        Classifier("gaussian", labelCol="y").fit(twice)


def test_the_guide(spark, monkeypatch, tmp_path):
    """Every line of docs/spark.md."""
    run_page("docs/spark.md", monkeypatch, tmp_path, PROJECT / "examples")


CONNECT = """
import sys
import numpy as np
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
import deciban
from deciban.spark import Classifier
spark = SparkSession.builder.remote("local[2]").getOrCreate()
assert "connect" in type(spark).__module__
path = sys.argv[1]
frame = spark.read.parquet(path).withColumnRenamed("a", "a.b").repartition(3)
model = Classifier("naive-bayes", labelCol="y", ignore=["w", "mail"]).fit(frame)
table = pq.read_table(path)
table = table.rename_columns(["a.b" if name == "a" else name for name in table.column_names])
own = deciban.Classifier("naive-bayes", ignore=["w", "mail"]).fit(table, "y")
assert np.allclose(own.evidence(table), model.classifier.evidence(table), rtol=1e-9)
rows = model.transform(frame).select("prediction").toArrow()
assert rows.num_rows == table.num_rows
print("same")
"""


def test_spark_connect(parquet):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))} | JVM
    command = [sys.executable, "-c", CONNECT, parquet]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert done.stdout.strip() == "same", done.stderr[-3000:]


def test_the_program(spark, parquet, tmp_path, capsys):
    from deciban.spark.__main__ import main

    model, out = str(tmp_path / "m.deciban"), str(tmp_path / "out.parquet")
    options = ["--option", "covariance=tied", "--option", "ignore=['job', 'mail', 'w']"]
    assert main(["fit", parquet, "--target", "y", "--model", "gaussian", *options, "-o", model]) == 0
    assert main(["predict", model, parquet, "--evidence", "-o", out]) == 0
    assert pq.read_table(out).column_names[-3:] == ["prediction", "probability", "evidence"]
    assert main(["evaluate", model, parquet, "--target", "y"]) == 0
    assert "error rate" in capsys.readouterr().out
    assert main(["fit", parquet, "--target", "z", "-o", model]) == 1
