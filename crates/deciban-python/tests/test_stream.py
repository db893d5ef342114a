"""Rows that are read as a stream: record batches of any maker, files, in bounded memory; and databases that summarise."""

import csv
import glob
import io
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose

from deciban import Classifier, Statistics

RNG = np.random.default_rng(17)
N = 40_000
Y = RNG.choice(["no", "yes", "who"], N, p=[0.5, 0.3, 0.2])
A = RNG.normal(size=N) + (Y == "yes")
B = RNG.normal(size=N) * 2 + (Y == "who") + 0.5 * A
JOB = np.where(RNG.random(N) < 0.3, "cook", RNG.choice(["judge", "clown"], N))
WORDS = np.array(["free", "prize", "home", "dinner", "night", "win"])
MAIL = [" ".join(WORDS[RNG.integers(0, 4 if y == "no" else 6, 5)]) + f" {i % 50}" for i, y in enumerate(Y)]
TABLE = pa.table({"a": A, "b": B, "job": JOB, "y": Y})
X = TABLE.drop_columns(["y"])
MODELS = {
    "gaussian": dict(model="gaussian", covariance="tied", ignore="job"),
    "naive-bayes": dict(model="naive-bayes"),
    "logistic": dict(model="logistic"),
    "table": dict(model="table", bins={"a": [0.0, 1.0], "b": [0.0]}),
    "least-squares": dict(model="least-squares", ignore="job"),
}


class Stream:
    """What nobody knows, but for its stream, which may be asked for again."""

    def __init__(self, table):
        self.table, self.asked = table, 0

    def __arrow_c_stream__(self, requested_schema=None):
        self.asked += 1
        return self.table.__arrow_c_stream__(requested_schema)


def streams(table, folder):
    path = os.path.join(folder, "rows.parquet")
    pq.write_table(table, path, row_group_size=7000)
    return {
        "duckdb": duckdb.from_arrow(table),
        "object": Stream(table),
        "reader": table.to_reader(1000),
        "function": lambda: table.to_reader(3333),
        "generator": (batch for batch in table.to_batches(500)),
        "list of batches": table.to_batches(9999),
        "tables": iter([table.slice(0, 3), table.slice(3)]),
        "lazy": pl.from_arrow(table).lazy(),
        "polars": pl.from_arrow(table),
        "data set": ds.dataset(path),
        "path": path,
        "paths": [path],
    }


@pytest.mark.parametrize("model", MODELS)
def test_every_stream_gives_the_model_of_the_table(model, tmp_path):
    options = MODELS[model]
    expected = Classifier(**options).fit(X, Y)
    few = X.slice(0, 500)
    for name, stream in streams(TABLE, tmp_path).items():
        found = Classifier(**options).fit(stream, "y")
        assert found.classes_.tolist() == ["no", "who", "yes"], name
        # The minimiser of logistic regression stops where its tolerance says so.
        tolerance = 1e-6 if model == "logistic" else 1e-9
        assert_allclose(found.evidence(few), expected.evidence(few), rtol=tolerance, atol=tolerance, err_msg=name)


def test_texts_weights_and_labels_of_streams(tmp_path):
    weights, codes = RNG.random(N), (Y == "yes").astype(int)
    table = pa.table({"mail": MAIL, "w": weights, "y": codes})
    expected = Classifier("multinomial").fit({"mail": MAIL}, codes, sample_weight=weights)
    for name, stream in streams(table, tmp_path).items():
        found = Classifier("multinomial").fit(stream, "y", sample_weight="w")
        assert found.classes_.tolist() == [0, 1], name
        assert_allclose(found.evidence({"mail": MAIL[:50]}), expected.evidence({"mail": MAIL[:50]}), rtol=1e-9, err_msg=name)


def test_batches_of_any_size_give_the_same_bits():
    fits = [Classifier("logistic").fit(lambda n=n: TABLE.to_reader(n), "y").evidence(X.slice(0, 9)) for n in (100, 777, N)]
    assert (fits[0] == fits[1]).all() and (fits[0] == fits[2]).all()


def test_an_object_is_asked_again_and_a_reader_is_spilled():
    stream = Stream(TABLE)
    once = Classifier("gaussian", ignore="job").fit(stream, "y")
    assert stream.asked == 1 and once.n_features_in_ == 2
    Classifier("gaussian", ignore="job", gaussianise=True).fit(Stream(TABLE), "y")
    mapped = Classifier("gaussian", ignore="job", gaussianise=True).fit(TABLE.to_reader(), "y")
    expected = Classifier("gaussian", ignore="job", gaussianise=True).fit(X, Y)
    assert_allclose(mapped.evidence(X.slice(0, 99)), expected.evidence(X.slice(0, 99)), rtol=1e-6)


def test_errors_say_what_to_do():
    for stream, message in [
        (TABLE.drop_columns(["y"]), "there is no column `y`"),
        (7, "y names a column"),
        ([1, 2], "Arrow C interface|record batches"),
        (iter([]), "no batches"),
        (lambda: 1 / 0, "division by zero"),
        ("nowhere.parquet", "no such file"),
    ]:
        with pytest.raises((ValueError, TypeError, OSError), match=message):
            Classifier("gaussian").fit(stream, "y")
    with pytest.raises(ValueError, match="sample_weight: with a stream"):
        Classifier("gaussian").fit(TABLE, "y", sample_weight=np.ones(N))

    def broken():
        yield TABLE.to_batches()[0].slice(0, 2000)
        raise RuntimeError("the line is cut")

    with pytest.raises(ValueError, match="the line is cut"):
        Classifier("gaussian", ignore="job").fit(broken(), "y")


def test_scores_and_evaluates_streams(tmp_path):
    model = Classifier("naive-bayes").fit(TABLE, "y")
    expected, judged = model.predict_proba(X), model.evaluate(X, Y)
    for name, stream in streams(TABLE, tmp_path).items():
        if name not in ("path", "paths", "list of batches"):
            assert_allclose(model.predict_proba(stream), expected, rtol=1e-12, err_msg=name)
    for name, stream in streams(TABLE, tmp_path).items():
        found = model.evaluate(stream, "y")
        assert found.figures.keys() == judged.figures.keys(), name
        assert_allclose(list(found.figures.values()), list(judged.figures.values()), rtol=1e-9, err_msg=name)
    assert model.predict(TABLE.to_reader()).tolist() == model.predict(X).tolist()


def test_statistics_of_streams_add_up():
    model = Classifier("naive-bayes")
    halves = [model.collect(table.to_reader(), "y") for table in (TABLE.slice(0, N // 3), TABLE.slice(N // 3))]
    both = model.fit_statistics(halves[0] + halves[1])
    assert_allclose(both.evidence(X.slice(0, 99)), model.fit(X, Y).evidence(X.slice(0, 99)), rtol=1e-9)


MEMORY = """
import resource, sys
import duckdb
import deciban._stream
connection = duckdb.connect()
connection.execute("SET memory_limit='300MB'; SET threads=2; SET enable_progress_bar=false")
columns = ", ".join(f"(hash(i * 5 + {j}) % 100000) / 1000.0 + (i % 2) AS x{j}" for j in range(5))
rows = connection.sql(f"SELECT {columns}, i % 2 AS y FROM range(20_000_000) t(i)")
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
for batch in rows.to_arrow_reader(65536):
    pass
before = peak()
from deciban import Classifier
model = Classifier("gaussian", covariance="tied").fit(rows, "y")
print(before, peak(), model)
"""


def test_memory_stays_bounded():
    """20 million rows of 5 columns take 800 MB as numbers."""
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    before, after, *_ = done.stdout.splitlines()[-1].split()
    assert int(after) - int(before) < 250, done.stdout


# Databases


def queried(dialect, table, run, tmp_path, *options, model="gaussian"):
    """The statistics that a database makes by the printed queries."""
    program = [sys.executable, "-m", "deciban", "stats", "--model", model, *options]
    asked = subprocess.run([*program, "--sql", dialect, "--table", table, "--target", "y"], capture_output=True, text=True)
    assert asked.returncode == 0, asked.stderr
    files = []
    for place, query in enumerate(query for query in asked.stdout.split(";\n") if query.strip()):
        names, rows = run(query)
        files.append(str(tmp_path / f"{dialect}{place}.csv"))
        with open(files[-1], "w", newline="") as file:
            csv.writer(file).writerows([names, *rows])
    out = str(tmp_path / f"{dialect}.stats")
    shape = [option for option in options if option.startswith("--cov") or option in ("diagonal",)]
    done = subprocess.run(
        [sys.executable, "-m", "deciban", "stats", "--model", model, *shape, "--from-sql", *files, "-o", out],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return Statistics.load(out)


def in_duckdb(table):
    connection = duckdb.connect()
    connection.register("rows", table)

    def run(query):
        found = connection.execute(query)
        return [column[0] for column in found.description], found.fetchall()

    return run


def in_sqlite(table):
    connection = sqlite3.connect(":memory:")
    names = ", ".join('"{}"'.format(name.replace('"', '""')) for name in table.column_names)
    connection.execute(f"CREATE TABLE rows ({names})")
    rows = zip(*(column.to_pylist() for column in table.columns))
    connection.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * table.num_columns)})", rows)

    def run(query):
        found = connection.execute(query)
        return [column[0] for column in found.description], found.fetchall()

    return run


@pytest.fixture(scope="session")
def postgres():
    """A server of its own in a temporary folder, which listens on a socket there and on no port."""
    servers = glob.glob("/usr/lib/postgresql/*/bin/initdb")
    found = sorted((os.path.dirname(path) for path in servers), key=lambda path: int(path.split("/")[4]))
    if not found:
        pytest.skip("PostgreSQL is not installed")
    # The server refuses to run as root: then it runs as the user of Debian's package.
    other = {"user": "postgres"} if os.getuid() == 0 else {}
    with tempfile.TemporaryDirectory() as folder:
        if other:
            shutil.chown(folder, "postgres")

        def tool(name, *arguments, text=None):
            command = [os.path.join(found[-1], name), *arguments]
            done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=folder, timeout=120, **other)
            assert done.returncode == 0, done.stderr
            return done.stdout

        tool("initdb", "-D", f"{folder}/data", "-U", "postgres", "-A", "trust", "-N", "-E", "UTF8")
        start = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
        tool("pg_ctl", "-D", f"{folder}/data", "-l", f"{folder}/log", "-w", "-o", start, "start")
        try:
            yield lambda *given, text=None: tool("psql", "-h", folder, "-U", "postgres", "-qX", "-v", "ON_ERROR_STOP=1", *given, text=text)
        finally:
            tool("pg_ctl", "-D", f"{folder}/data", "-m", "immediate", "stop")


def in_postgres(psql, table):
    kinds = {"double": "DOUBLE PRECISION", "string": "TEXT"}
    columns = ", ".join('"{}" {}'.format(field.name.replace('"', '""'), kinds[str(field.type)]) for field in table.schema)
    rows = io.StringIO()
    csv.writer(rows, lineterminator="\n").writerows(zip(*(column.to_pylist() for column in table.columns)))
    made = f"DROP TABLE IF EXISTS rows; CREATE TABLE rows ({columns});\n"
    psql(text=f"{made}COPY rows FROM STDIN WITH (FORMAT csv);\n{rows.getvalue()}\\.\n")

    def run(query):
        names, *found = csv.reader(io.StringIO(psql("--csv", "-c", query)))
        return names, found

    return run


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_postgres_summarises_without_losing_digits(postgres, offset, tmp_path):
    table = pa.table({"a a": A + offset, "b'\"": B - offset, "y": Y})
    found = queried("postgres", "rows", in_postgres(postgres, table), tmp_path, "--number", 'a a,b\'"')
    assert found.rows == {"no": (Y == "no").sum(), "who": (Y == "who").sum(), "yes": (Y == "yes").sum()}
    expected = Classifier("gaussian").collect(table.drop_columns(["y"]), Y)
    moments, right = found._core.moments(), expected._core.moments()
    assert_allclose(moments[0], right[0], rtol=1e-15, atol=1e-15)
    assert_allclose(moments[1], right[1], rtol=1e-9)


def test_postgres_counts_levels(postgres, tmp_path):
    job = np.where(RNG.random(N) < 0.1, None, JOB)
    table = pa.table({"a": A, "job": pa.array(job, pa.string()), "w": RNG.random(N), "y": Y})
    options = ("--number", "a", "--category", "job", "--weight", "w")
    run = in_postgres(postgres, table)
    found = queried("postgres", "(SELECT * FROM rows)", run, tmp_path, *options, model="naive-bayes")
    model, few = Classifier("naive-bayes"), {"a": A[:99], "job": job[:99]}
    expected = model.fit({"a": A, "job": job}, Y, sample_weight=table["w"].to_numpy()).evidence(few)
    assert_allclose(Classifier("naive-bayes").fit_statistics(found).evidence(few), expected, rtol=1e-9)


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_databases_summarise_without_losing_digits(dialect, offset, tmp_path):
    table = pa.table({"a a": A + offset, "b'\"": B - offset, "y": Y})
    run = {"duckdb": in_duckdb, "sqlite": in_sqlite}[dialect](table)
    found = queried(dialect, "rows", run, tmp_path, "--number", 'a a,b\'"')
    assert found.rows == {"no": (Y == "no").sum(), "who": (Y == "who").sum(), "yes": (Y == "yes").sum()}
    expected = Classifier("gaussian").collect(table.drop_columns(["y"]), Y)
    moments, right = found._core.moments(), expected._core.moments()
    assert_allclose(moments[0], right[0], rtol=1e-15, atol=1e-15)
    assert_allclose(moments[1], right[1], rtol=1e-9)


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_databases_count_levels(dialect, tmp_path):
    job = np.where(RNG.random(N) < 0.1, None, JOB)
    table = pa.table({"a": A, "job": pa.array(job, pa.string()), "w": RNG.random(N), "y": Y})
    run = {"duckdb": in_duckdb, "sqlite": in_sqlite}[dialect](table)
    options = ("--number", "a", "--category", "job", "--weight", "w")
    found = queried(dialect, "(SELECT * FROM rows)", run, tmp_path, *options, model="naive-bayes")
    model, few = Classifier("naive-bayes"), {"a": A[:99], "job": job[:99]}
    expected = model.fit({"a": A, "job": job}, Y, sample_weight=table["w"].to_numpy()).evidence(few)
    assert_allclose(Classifier("naive-bayes").fit_statistics(found).evidence(few), expected, rtol=1e-9)


def test_missing_numbers_in_a_database_are_refused(tmp_path):
    table = pa.table({"a": [1.0, None, 2.0, 5.0], "y": ["n", "n", "p", "p"]})
    with pytest.raises(AssertionError, match="class `n`: column `a` is NULL in 1 rows"):
        queried("duckdb", "rows", in_duckdb(table), tmp_path, "--number", "a")
