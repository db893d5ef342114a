"""The tree in which the statistics of many tasks are merged, with real statistics: bytes, time and digits.

    python benches/tree.py [TASKS] [COLUMNS]      the merges of one pass of a Gaussian with full covariance

Some tasks are run on generated rows. Their states then stand for those of all TASKS tasks, in turn, and every merge of
the tree is done, 32 states at a time, as executors do it. Every kind of state comes equally often, so that the model must
be that of one state of each kind.
"""

import sys
import time

import numpy as np
import pyarrow as pa

from deciban import Classifier, _core, _stream
from deciban.spark._passes import FAN

KINDS = 64  # different states
ROWS = 2000  # of each


class Recorder:
    """Answers a learner as a cluster does, and keeps the states of all tasks."""

    def __init__(self, tables):
        self.tables, self.states, self.task = tables, [], None

    def ask(self, what, *given):
        if what == "names":
            return [_core.survey(_core.Rows(lambda t=table: t, True), given[0])[0] for table in self.tables]
        if what == "schema":
            self.schema = given[0]
            return None
        self.task = given[0]
        self.states = []
        for place, table in enumerate(self.tables):
            rows = _core.Rows(lambda t=table: t, True)
            self.states.append(_core.observe(rows, self.schema, None, *given, place * ROWS)[0])
        return _core.merge_states(self.task, self.states)


def tables(columns):
    rng = np.random.default_rng(17)
    for _ in range(KINDS):
        y = rng.integers(0, 2, ROWS)
        x = rng.normal(size=(ROWS, columns)) + 0.3 * y[:, None] + 1e3
        yield pa.table({**{f"x{j}": x[:, j] for j in range(columns)}, "y": y})


def merged(task, states):
    """One state of all, level by level; the number of merges and seconds of each level."""
    levels = []
    while len(states) > 1:
        start = time.perf_counter()
        groups = [states[place : place + FAN] for place in range(0, len(states), FAN)]
        states = [_core.merge_states(task, group) for group in groups]
        levels.append((len(groups), time.perf_counter() - start))
    return states[0], levels


def learned(classifier, recorder, first, state=None):
    """The model of these states, or of one that stands for them all."""
    ask = recorder.ask if state is None else lambda what, *given: state if what == "pass" else recorder.ask(what, *given)
    columns = _stream.columns_of(classifier, "y", None)
    rows = _core.Rows(lambda: first, True)
    return _core.fit_remote(ask, rows, _stream.reading(classifier), columns, _stream.learner(classifier))


def main(tasks, columns):
    parts = list(tables(columns))
    recorder, classifier = Recorder(parts), Classifier("gaussian")
    small = classifier._loaded(learned(classifier, recorder, parts[0]))
    task, states = recorder.task, recorder.states
    # Whole rounds, so that the answer is known: as many rows of each kind.
    tasks = -(-tasks // KINDS) * KINDS
    whole, levels = merged(task, [states[place % KINDS] for place in range(tasks)])
    print(f"{tasks} tasks, {columns} columns: a pass of {len(task)} bytes goes out, {len(states[0])} bytes come back from each")
    for depth, (groups, seconds) in enumerate(levels, 1):
        each = seconds / groups
        print(f"level {depth}: {groups:7} merges of up to {FAN} states, {each * 1e6:8.0f} us each, {groups * len(whole) / 1e6:9.1f} MB go on")
    big_classifier = Classifier("gaussian")
    big = big_classifier._loaded(learned(big_classifier, recorder, parts[0], bytes(whole)))
    few = parts[0].slice(0, 100)
    # The same rows, each as often: the maximum of the likelihood is the same model.
    apart = np.abs(big.evidence(few) - small.evidence(few)).max()
    print(f"evidence after {tasks * ROWS:.3g} rows and after {KINDS * ROWS}: at most {apart:.1e} nats apart")


if __name__ == "__main__":
    given = [int(float(text)) for text in sys.argv[1:]]
    main(given[0] if given else 100_000, given[1] if len(given) > 1 else 20)
