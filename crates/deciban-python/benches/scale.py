"""A stream out of DuckDB, 20 million rows of 20 columns by default: time and memory.

    python benches/scale.py [ROWS]

The rows are generated: two classes of Gaussian-like columns.
"""

import resource
import sys
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


if __name__ == "__main__":
    stream(int(float(sys.argv[1])) if len(sys.argv) > 1 else 20_000_000)
