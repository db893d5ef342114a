"""Passes over a data frame. What executors do is in functions that return functions for `mapInArrow`; what the driver
does is `Cluster.ask`, which the core calls for every pass.

A task returns one row: the number of its partition, how many rows it has seen, and bytes. Nothing else leaves it, so
that a task that runs twice counts once. Rows are merged in the order of partitions, so that the answer does not depend
on which task ends first.
"""

from __future__ import annotations

import json
from itertools import chain

from .. import _core

#: Parts that are merged at once: by the driver, or by a task where there are more.
FAN = 32

#: Rows of the frame that tell what its columns are.
FIRST = 1 << 14

PART = "part long, rows long, state binary"
LABELLED = "group long, part long, rows long, state binary"


def row(part: int, rows: int, state: bytes):
    """What a task returns."""
    import pyarrow as pa

    return pa.RecordBatch.from_arrays(
        [pa.array([part], pa.int64()), pa.array([rows], pa.int64()), pa.array([state], pa.binary())],
        names=["part", "rows", "state"],
    )


def stream(batches):
    """The rows of a partition, or `None` if it has none."""
    first = next(batches, None)
    while first is not None and first.num_rows == 0:
        first = next(batches, None)
    if first is None:
        return None
    rest = chain([first], batches)
    return _core.Rows(lambda: rest, False)


def partition() -> int:
    """The number of the partition that this task works on."""
    from pyspark import TaskContext

    return TaskContext.get().partitionId()


def own_rows(shares, part, batches):
    """The rows of a task: its batches, or its share of files."""
    if shares is None:
        return stream(batches)
    for _ in batches:  # the number of the task, and nothing else
        pass
    return _core.Rows.of_shares(shares[part]) if shares[part] else None


def surveying(schema: str, shares=None):
    """Finds the names in the columns of `schema`, and the classes."""

    def survey(batches):
        part = partition()
        rows = own_rows(shares, part, batches)
        found, count = _core.survey(rows, schema) if rows is not None else ("", 0)
        yield row(part, count, found.encode())

    return survey


def observing(schema: str, weight, task: bytes, size: int, hashes: bool, starts: dict, shares=None):
    """Runs a pass over the rows of a partition; `starts` are the numbers of first rows by partition."""

    def observe(batches):
        part = partition()
        rows = own_rows(shares, part, batches)
        if rows is None:
            state, count = b"", 0
        else:
            state, count = _core.observe(rows, schema, weight, task, size, hashes, starts.get(part, 0))
        yield row(part, count, state)

    return observe


def merging(task: bytes):
    """Merges the states of some partitions, in their order."""

    def merge(table):
        import pyarrow as pa

        table = table.sort_by("part")
        states = [state for state in table["state"].to_pylist() if state]
        merged = _core.merge_states(task, states) if states else b""
        return pa.Table.from_batches([row(table["part"][0].as_py(), sum(table["rows"].to_pylist()), merged)])

    return merge


class Cluster:
    """A data frame, and what is known of its rows."""

    def __init__(self, frame, target: str, weight: str | None, files=None):
        self.frame, self.target, self.weight = frame, target, weight
        self.schema = None
        #: The number of rows of each partition, after the first pass.
        self.rows: dict[int, int] | None = None
        #: The shares of files that tasks read by themselves, if they do.
        self.shares = files
        #: Bytes that passes have sent and received, and how many there were.
        self.sent, self.received, self.passes = 0, 0, 0

    def ask(self, what: str, *given):
        """Answers a question of the core."""
        return getattr(self, f"_{what}")(*given)

    def first(self) -> _core.Rows:
        """Some of the first rows."""
        table = self.frame.limit(FIRST).toArrow()
        if table.num_rows == 0:
            raise ValueError("the data frame has no rows")
        return _core.Rows(lambda: table, True)

    def _tasks(self, columns, function):
        """A row of each partition."""
        if self.shares is None:
            return self.frame.select([f"`{name}`" for name in columns]).mapInArrow(function, PART)
        session, count = self.frame.sparkSession, len(self.shares)
        return session.range(0, count, 1, count).mapInArrow(function, PART)

    def _names(self, schema: str) -> list[str]:
        columns = [column["name"] for column in json.loads(schema)["columns"]]
        found = self._tasks([*columns, self.target], surveying(schema, self.shares)).toArrow().sort_by("part")
        self._note(dict(zip(found["part"].to_pylist(), found["rows"].to_pylist())))
        return [state.decode() for state in found["state"].to_pylist() if state]

    def _schema(self, schema: str) -> None:
        self.schema = schema

    def _pass(self, task: bytes, size: int, hashes: bool) -> bytes:
        columns = [column["name"] for column in json.loads(self.schema)["columns"]]
        columns += [self.target] + ([self.weight] if self.weight else [])
        starts, before = {}, 0
        for part in sorted(self.rows):
            starts[part], before = before, before + self.rows[part]
        observe = observing(self.schema, self.weight, task, size, hashes, starts, self.shares)
        parts = self._tasks(columns, observe)
        return self._merged(parts, task)

    def _merged(self, parts, task: bytes) -> bytes:
        """The state of all parts, merged in their order: by the driver where they are few, else in a tree of tasks."""
        count, merge = len(self.rows), merging(task)
        while count > FAN:
            from pyspark.sql import functions as F

            # Partitions are numbered without gaps, so that groups of neighbours are those of a quotient.
            span = FAN ** self._depth(count, len(self.rows))
            group = F.floor(F.col("part") / F.lit(span)).cast("long")
            parts = parts.groupBy(group.alias("group")).applyInArrow(lambda table: merge(table), PART)
            count = -(-count // FAN)
        found = parts.toArrow().sort_by("part")
        self._check(sum(found["rows"].to_pylist()))
        states = [state for state in found["state"].to_pylist() if state]
        self.passes += 1
        self.sent += len(task)
        self.received += sum(map(len, states))
        return _core.merge_states(task, states)

    @staticmethod
    def _depth(count: int, all_parts: int) -> int:
        """How many levels of the tree are done once this one is."""
        depth = 1
        while -(-all_parts // FAN**depth) >= count:
            depth += 1
        return depth

    def _note(self, rows: dict[int, int]) -> None:
        self.rows = rows

    def _check(self, rows: int) -> None:
        """Refuses a frame that gives other rows in another pass: nothing learned from both would be right."""
        first = sum(self.rows.values())
        if rows != first:
            raise RuntimeError(
                f"the data frame gives other rows in each pass: {first} the first time, and {rows} now. Its lineage is "
                "not deterministic (a sample without a seed, a limit, or files that change): save it, or call "
                "checkpoint() or cache() first"
            )
