"""Passes over a data frame. What executors do is in functions that return functions for `mapInArrow`; what the driver
does is `Cluster.ask`, which the core calls for every pass.

A task returns one row: the number of its partition, how many rows it has seen, and bytes. Nothing else leaves it, so
that a task that runs twice counts once. Rows are merged in the order of partitions, so that the answer does not depend
on which task ends first.
"""

from __future__ import annotations

import json
from array import array
from itertools import chain

from .. import _core
from . import _files, _frames

#: Parts that are merged at once: by the driver, or by a task where there are more.
FAN = 32

#: Rows of the frame that tell what its columns are.
FIRST = 1 << 14

#: Bytes of a statistic that the driver takes from every partition, if it does not know how many there are.
SMALL = 1 << 14

PART = "part long, rows long, state binary, note string"


def row(part: int, rows: int, state: bytes, note: str = ""):
    """What a task returns."""
    import pyarrow as pa

    return pa.RecordBatch.from_arrays(
        [
            pa.array([part], pa.int64()),
            pa.array([rows], pa.int64()),
            pa.array([state], pa.binary()),
            pa.array([note], pa.string()),
        ],
        names=["part", "rows", "state", "note"],
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


def own_rows(batches, has_shares: bool, starts: bytes = b""):
    """The rows of a task, the number of its partition, and the number of its first row.

    A task that reads files by itself is told its share, and no other; another has its batches, and finds the number of
    its first row among those of all partitions.
    """
    if not has_shares:
        part, known = partition(), array("q", starts)
        return stream(batches), part, known[part] if part < len(known) else 0
    own = next((batch for batch in batches if batch.num_rows), None)
    part, (share, start) = own["id"][0].as_py(), json.loads(own["share"][0].as_py())
    for _ in batches:
        pass
    return (_core.Rows.of_shares([(path, part and tuple(part)) for path, part in share]) if share else None), part, start


def surveying(schema: str, has_shares: bool):
    """Finds the names in the columns of `schema`, and the classes."""

    def survey(batches):
        rows, part, _ = own_rows(batches, has_shares)
        found, count = _core.survey(rows, schema) if rows is not None else ("", 0)
        yield row(part, count, found.encode())

    return survey


def observing(schema: str, weight, task: bytes, size: int, hashes: bool, has_shares: bool, starts: bytes | None):
    """Runs a pass over the rows of a partition; `starts` are the numbers of first rows by partition.

    The first pass has none. There classes may turn up that the schema does not have: it notes them, and the rows of the
    partition.
    """
    is_first = starts is None

    def observe(batches):
        rows, part, start = own_rows(batches, has_shares, starts or b"")
        state, count, names = b"", 0, ""
        if rows is not None:
            state, count, names = _core.observe(rows, schema, weight, task, size, hashes, start, is_first)
        yield row(part, count, state, json.dumps([[[part, count]], [names] if names else []]) if is_first else "")

    return observe


def merging(join):
    """Merges the states of some partitions, in their order."""

    def merge(table):
        import pyarrow as pa

        table = table.sort_by("part")
        state, note = merged(join, table)
        return pa.Table.from_batches([row(table["part"][0].as_py(), sum(table["rows"].to_pylist()), state, note)])

    return merge


def merged(join, table) -> tuple[bytes, str]:
    """The state of all rows, and what was noted of all; where there are new names, nothing was learned."""
    notes = [json.loads(note) for note in table["note"].to_pylist() if note]
    note = [list(chain.from_iterable(part)) for part in zip(*notes)]
    states = [state for state in table["state"].to_pylist() if state]
    state = b"" if not states or note and note[1] else join(states)
    return state, json.dumps(note) if note else ""


def joining(task: bytes):
    """Joins the states of a pass."""
    return lambda states: _core.merge_states(task, states)


class Cluster:
    """A data frame, and what is known of its rows."""

    def __init__(self, frame, names: list[str], target: str, weight: str | None, files=None):
        #: The rows under plain names, and the names that their columns have for the user.
        self.frame, self.names = frame, names
        self.target, self.weight = target, weight
        self.schema = None
        #: The number of rows of each partition, after the first pass.
        self.rows: dict[int, int] | None = None
        #: The shares of files that tasks read by themselves, if they do.
        self.shares = files
        #: Bytes that passes have sent and received, and how many there were.
        self.sent, self.received, self.passes = 0, 0, 0

    @classmethod
    def of(cls, dataset, target: str, weight: str | None, source: str) -> Cluster:
        """The rows of a frame, read by Spark or by the executors themselves, as `source` says."""
        frame, names = _frames.flat(dataset)
        shares = None
        if source != "frame" and not _frames.nested(dataset):
            shares = _files.shares(dataset, source == "files")
        return cls(frame, names, target, weight, shares)

    def ask(self, what: str, *given):
        """Answers a question of the core."""
        return getattr(self, f"_{what}")(*given)

    def _has_places(self) -> bool:
        """Whether rows have the same places in every pass, which are those on one machine: those of files do."""
        return self.shares is not None

    def first(self) -> _core.Rows:
        """Some of the first rows."""
        table = self._first_of_files()
        if table is None:
            table = _frames.first_rows(self.frame, FIRST).rename_columns(self.names)
        if table.num_rows == 0:
            raise ValueError("the data frame has no rows")
        return _core.Rows(lambda: table, True)

    def _first_of_files(self):
        """The first rows of the first Parquet file that has some, without Spark."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        for path in dict.fromkeys(path for share in self.shares or [] for path, _ in share):
            if not path.endswith(".parquet"):
                return None
            with pq.ParquetFile(path) as file:
                if not set(self.names) <= set(file.schema_arrow.names):
                    return None
                for batch in file.iter_batches(FIRST, columns=self.names):
                    if batch.num_rows:
                        return pa.Table.from_batches([batch]).select(self.names)
        return None

    def tasks(self, columns, function):
        """A row of each partition. Tasks that read files are told their share, and the number of its first row."""
        if self.shares is None:
            chosen = self.frame.select([f"c{_frames.place(name, self.names)}" for name in columns])
            return chosen.mapInArrow(_frames.named(function, columns), PART)
        from pyspark.sql import functions as F

        session, count = self.frame.sparkSession, len(self.shares)
        starts = self._starts() or [0] * count
        text = "\n".join(json.dumps(own) for own in zip(self.shares, starts))
        share = F.get(F.split(F.lit(text), "\n"), F.col("id").cast("int")).alias("share")
        return session.range(0, count, 1, count).select("id", share).mapInArrow(function, PART)

    def _starts(self) -> array:
        """The number of the first row of each partition; nothing before they are counted."""
        starts, before = array("q"), 0
        for part in range(max(self.rows, default=-1) + 1) if self.rows else ():
            starts.append(before)
            before += self.rows.get(part, 0)
        return starts

    def _wanted(self, labels: bool) -> tuple[str, list[str]]:
        """What a pass reads, as a schema and the names of columns: all, or labels (and weights) alone."""
        schema = json.loads(self.schema)
        if labels:
            schema["columns"] = []
        columns = [column["name"] for column in schema["columns"]]
        return json.dumps(schema), columns + [self.target] + ([self.weight] if self.weight else [])

    def _names(self, schema: str) -> list[str]:
        columns = [column["name"] for column in json.loads(schema)["columns"]]
        found = self.collected(self.tasks([*columns, self.target], surveying(schema, self.shares is not None)))
        self.rows = dict(zip(found["part"].to_pylist(), found["rows"].to_pylist()))
        return [state.decode() for state in found["state"].to_pylist() if state]

    def _schema(self, schema: str) -> None:
        self.schema = schema

    def _first(self, task: bytes, size: int, hashes: bool, labels: bool) -> tuple[list[str], bytes]:
        """The first pass, which counts rows and finds classes, too."""
        schema, columns = self._wanted(labels)
        observe = observing(schema, self.weight, task, size, hashes, self.shares is not None, None)
        count = 1 if self.shares is None and size <= SMALL else len(self.shares or range(FAN + 1))
        self.sent += len(task)
        state, note = self.merged(self.tasks(columns, observe), joining(task), count)
        rows, names = json.loads(note)
        self.rows = {part: count for part, count in rows}
        return names, state

    def _pass(self, task: bytes, size: int, hashes: bool, labels: bool) -> bytes:
        schema, columns = self._wanted(labels)
        has_shares = self.shares is not None
        starts = b"" if has_shares else self._starts().tobytes()
        observe = observing(schema, self.weight, task, size, hashes, has_shares, starts)
        self.sent += len(task)
        return self.merged(self.tasks(columns, observe), joining(task), len(self.rows))[0]

    def collected(self, parts):
        """Runs tasks; their rows, in the order of partitions."""
        with _frames.quick_batches(self.frame.sparkSession):
            return parts.toArrow().sort_by("part")

    def merged(self, parts, join, count: int) -> tuple[bytes, str]:
        """The state of all parts, merged in their order: by the driver where they are few, else in a tree of tasks."""
        merge, span = merging(join), 1
        while count > FAN:
            from pyspark.sql import functions as F

            # Partitions are numbered without gaps, so that groups of neighbours are those of a quotient.
            span *= FAN
            group = F.floor(F.col("part") / F.lit(span)).cast("long")
            parts = parts.groupBy(group.alias("group")).applyInArrow(lambda table: merge(table), PART)
            count = -(-count // FAN)
        found = self.collected(parts)
        if self.rows is not None:
            self._check(sum(found["rows"].to_pylist()))
        self.passes += 1
        self.received += sum(map(len, found["state"].to_pylist()))
        return merged(join, found)

    def _check(self, rows: int) -> None:
        """Refuses a frame that gives other rows in another pass: nothing learned from both would be right."""
        first = sum(self.rows.values())
        if rows != first:
            raise RuntimeError(
                f"the data frame gives other rows in each pass: {first} the first time, and {rows} now. Its lineage is "
                "not deterministic (a sample without a seed, a limit, or files that change): save it, or call "
                "checkpoint() or cache() first"
            )
