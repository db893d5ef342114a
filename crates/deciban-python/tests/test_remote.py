"""Passes that travel as bytes: what a driver and its executors do, with parts of a table in the place of machines."""

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

from deciban import Classifier, _core, _stream
from sorted_rows import A, N, TABLE, Y

MODELS = {
    "full": dict(model="gaussian", ignore=["job", "mail", "w"]),
    "tied": dict(model="gaussian", covariance="tied", lda=1, ignore=["job", "mail", "w"]),
    "folds": dict(model="gaussian", shrinkage="auto", ignore=["job", "mail", "w"]),
    "mixed": dict(model="naive-bayes", ignore=["w"]),
    "bins": dict(model="tree", ignore=["mail", "w"]),
    "text": dict(model="multinomial", ignore=["a", "b", "job", "w"]),
    "logistic": dict(model="logistic", ignore=["mail", "w"]),
    "mixture": dict(model="gaussian", components=2, iterations=5, ignore=["job", "mail", "w"]),
    "auto": dict(model="auto", ignore=["mail", "w"]),
}


class Machines:
    """Tables that are read where they lie; only bytes come back."""

    def __init__(self, parts, weight=None):
        self.parts, self.weight, self.passes = [part for part in parts if part.num_rows], weight, 0

    def rows(self, part):
        return _core.Rows(lambda: part.to_reader(100), False)

    def ask(self, what, *given):
        if what == "names":
            return [_core.survey(self.rows(part), given[0])[0] for part in self.parts]
        if what == "schema":
            self.schema = given[0]
            return None
        self.passes += 1
        states, start = [], 0
        for part in self.parts:
            state, count = _core.observe(self.rows(part), self.schema, self.weight, *given, start)
            assert count == part.num_rows
            states.append(state)
            start += count
        return _core.merge_states(given[0], states)

    def fit(self, options):
        classifier = Classifier(**options)
        columns = _stream.columns_of(classifier, "y", self.weight)
        first = _core.Rows(lambda: TABLE, True)
        model = _core.fit_remote(self.ask, first, _stream.reading(classifier), columns, _stream.learner(classifier))
        return classifier._loaded(model)


def cut(*places):
    places = [0, *places, N]
    return [TABLE.slice(start, end - start) for start, end in zip(places, places[1:])]


@pytest.mark.parametrize("name", MODELS)
def test_the_model_of_one_machine(name):
    expected = Classifier(**MODELS[name]).fit(TABLE, "y")
    # The minimiser of logistic regression stops where its tolerance says so.
    tolerance = 1e-6 if name == "logistic" else 1e-9
    for parts in (cut(), cut(10, 900, 900, 2999)):
        found = Machines(parts).fit(MODELS[name])
        assert found.classes_.tolist() == ["a", "b", "c"]
        # Candidates that are equally good have no order.
        assert dict(found.compared_) == {kind: pytest.approx(loss, rel=tolerance) for kind, loss in expected.compared_}
        assert_allclose(found.evidence(TABLE), expected.evidence(TABLE), rtol=tolerance, atol=tolerance)


def test_the_same_bits_for_the_same_parts():
    first, second = (Machines(cut(700, 800)).fit(MODELS["mixed"]).evidence(TABLE) for _ in range(2))
    assert (first == second).all()


def test_weights_and_rows_without_a_label():
    gaps = TABLE.set_column(5, "y", pa.array(np.where(A > 2, None, Y), pa.string()))
    options = dict(model="gaussian", ignore=["job", "mail"])
    expected = Classifier(**options).fit(gaps, "y", sample_weight="w").evidence(TABLE)
    found = Machines([gaps.slice(0, 1000), gaps.slice(1000)], weight="w").fit(options).evidence(TABLE)
    assert_allclose(found, expected, rtol=1e-9)


def test_statistics_come_back():
    classifier, machines = Classifier("naive-bayes", ignore=["w"]), Machines(cut(1500))
    columns = _stream.columns_of(classifier, "y", None)
    first = _core.Rows(lambda: TABLE, True)
    core, _ = _core.collect_remote(machines.ask, first, _stream.reading(classifier), columns, _stream.learner(classifier))
    assert core.rows().tolist() == [(Y == label).sum() for label in "abc"] and machines.passes == 1


def test_what_needs_rows_is_refused_and_errors_come_through():
    with pytest.raises(ValueError, match="several machines"):
        Machines(cut(1500)).fit(dict(model="logistic", solver="sgd", ignore=["mail", "w"]))
    machines = Machines(cut(1500))

    def lost(what, *given):
        if what == "pass":
            raise ConnectionError("the cluster is gone")
        return machines.ask(what, *given)

    classifier = Classifier("gaussian", ignore=["job", "mail", "w"])
    columns, first = _stream.columns_of(classifier, "y", None), _core.Rows(lambda: TABLE, True)
    with pytest.raises(ConnectionError, match="the cluster is gone"):
        _core.fit_remote(lost, first, _stream.reading(classifier), columns, _stream.learner(classifier))
    with pytest.raises(ValueError, match="not a deciban file"):
        _core.merge_states(b"nonsense", [])
