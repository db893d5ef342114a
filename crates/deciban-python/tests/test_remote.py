"""Passes that travel as bytes: what a driver and its executors do, with parts of a table in the place of machines."""

import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from numpy.testing import assert_allclose

import deciban
from deciban import Classifier, _application, _core, _stream
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
    "components": dict(model="gaussian", components="auto", pca=1, ignore=["job", "mail", "w"]),
    "mixed mixture": dict(model="naive-bayes", components=2, iterations=5, ignore=["w"]),
    "auto": dict(model="auto", ignore=["mail", "w"]),
    "calibrated": dict(model="gaussian", calibrate="logistic", ignore=["job", "mail", "w"]),
}

#: Models that deal rows into folds.
DEALT = ("auto", "calibrated", "additive")
MODELS["additive"] = dict(model="additive", ignore=["mail", "w"])


class Machines:
    """Tables that are read where they lie; only bytes come back."""

    def __init__(self, parts, weight=None, has_places=True):
        self.parts, self.weight, self.passes = [part for part in parts if part.num_rows], weight, 0
        self.has_places = has_places
        self.longest = 0  # pass, in bytes

    def rows(self, part):
        return _core.Rows(lambda: part.to_reader(100), False)

    def ask(self, what, *given):
        if what == "has_places":
            return self.has_places
        if what == "names":
            return [_core.survey(self.rows(part), given[0])[0] for part in self.parts]
        if what == "schema":
            self.schema = given[0]
            return None
        self.passes += 1
        *given, labels = given
        schema = json.dumps(json.loads(self.schema) | {"columns": []}) if labels else self.schema
        if what == "first":
            seen = [_core.observe(self.rows(part), schema, self.weight, *given, 0, True) for part in self.parts]
            names = [names for _, _, names in seen if names]
            return names, b"" if names else _core.merge_states(given[0], [state for state, _, _ in seen])
        self.longest = max(self.longest, len(given[0]))
        states, start = [], 0
        for part in self.parts:
            state, count, _ = _core.observe(self.rows(part), schema, self.weight, *given, start)
            assert count == part.num_rows
            states.append(state)
            start += count
        return _core.merge_states(given[0], states)

    def fit(self, options, table=TABLE):
        classifier = Classifier(**options)
        columns = _stream.columns_of(classifier, "y", self.weight)
        first = _core.Rows(lambda: table, True)
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


@pytest.mark.parametrize("name", MODELS)
def test_rows_in_any_order_and_any_parts(name):
    """Also where models begin with rows of their choice, or deal rows into folds: by what rows hold."""
    options = MODELS[name] | ({"equal_together": True} if name in DEALT else {})
    expected = Classifier(**options).fit(TABLE, "y").evidence(TABLE)
    tolerance = 1e-6 if name in ("logistic", "auto") else 1e-9
    mixed = TABLE.take(np.random.default_rng(1).permutation(N))
    one = Classifier(**options).fit(mixed, "y").evidence(TABLE)
    assert_allclose(one, expected, rtol=tolerance, atol=tolerance)
    machines = Machines([mixed.slice(start, 700) for start in range(0, N, 700)], has_places=False)
    assert_allclose(machines.fit(MODELS[name], mixed).evidence(TABLE), expected, rtol=tolerance, atol=tolerance)


def test_classes_that_the_first_rows_do_not_have():
    """The first pass finds them, and the work begins again."""
    options, machines = MODELS["full"], Machines(cut(700, 1500, 2900))
    found = machines.fit(options, TABLE.slice(0, 50))
    assert set(TABLE.slice(0, 50)["y"].to_pylist()) == {"c"} and machines.passes == 2
    assert found.classes_.tolist() == ["a", "b", "c"]
    assert_allclose(found.evidence(TABLE), Classifier(**options).fit(TABLE, "y").evidence(TABLE), rtol=1e-9)
    machines = Machines(cut(700, 1500, 2900))
    assert machines.fit(options).classes_.tolist() == ["a", "b", "c"] and machines.passes == 1


def test_comparisons():
    models = ["naive-bayes", "logistic"]
    expected = deciban.compare(TABLE.drop_columns(["job", "mail", "w"]), target="y", models=models, folds=3, effort="quick")
    machines, reader = Machines(cut(10, 900, 2999)), Classifier(ignore=["job", "mail", "w"])
    columns, first = _stream.columns_of(reader, "y", None), _core.Rows(lambda: TABLE, True)
    how = (models, "log-loss", "quick", "3", "stratified", 0, _application.application([], None, None, None))
    core = _core.Comparison.of_remote(machines.ask, first, _stream.reading(reader), columns, how)
    found = {line["model"]: line for line in json.loads(core.json())}
    assert len(found) == len(expected) > 3
    for line in expected.lines:
        for figure in ("log_loss", "error_rate", "brier"):
            assert found[line["model"]][figure] == pytest.approx(line[figure], rel=1e-6), (line["model"], figure)
    with pytest.raises(ValueError, match="on other machines"):
        core.refit()


def test_evaluation_by_parts():
    model = Classifier("naive-bayes", ignore=["w"]).fit(TABLE, "y")
    application = model._application(None, None, 0.4, None)
    expected = model.evaluate(TABLE, "y", reject=0.4, intervals=True, resamples=20)

    def state(part, share, seed=0):
        rows = _core.Rows(lambda: part.to_reader(100), False)
        return _core.evaluate_part(model._fitted(), rows, "y", application, None, share, seed)[0]

    states = [state(part, 1.0) for part in cut(10, 900, 2999)]
    merged = [states[0], _core.merge_evaluated(model._fitted(), application, states[1:])]
    (figures, details, text), remarks = _core.evaluate_parts(model._fitted(), merged, application, 1.0, None, (20, 0.95, 0))
    assert {name: value for name, value, _ in figures} == pytest.approx(expected.figures, rel=1e-12) and not remarks
    assert {name: ends for name, _, ends in figures} == {name: pytest.approx(ends) for name, ends in expected.intervals.items()}
    assert json.loads(details)["confusion"] == expected.details["confusion"]
    # With a share of the evidence, sums are exact, the rest is near, and a remark says so.
    drawn = [state(part, 0.3, seed) for seed, part in enumerate(cut(10, 900, 2999))]
    (figures, _, _), remarks = _core.evaluate_parts(model._fitted(), drawn, application, 0.3, None, (20, 0.95, 0))
    values = {name: value for name, value, _ in figures}
    assert values.keys() == expected.figures.keys() and all(ends is None for _, _, ends in figures)
    for name, value in values.items():
        assert value == pytest.approx(expected[name], rel=0.3 if name == "min_cllr" else 1e-12), name
    [(is_warning, message)] = remarks
    assert is_warning and "drawn from 3000" in message


def test_names_of_features_do_not_travel():
    machines = Machines(cut(1500))
    machines.fit(dict(model="logistic", ignore=["job", "w"]))
    words = set(" ".join(TABLE["mail"].to_pylist()).split())
    # A number for each of three classes and each word, and little else.
    assert len(words) > 90 and machines.longest < 8 * 3 * (len(words) + 3) + 1500


def test_shares_of_text_are_read_by_their_bytes(tmp_path):
    path = str(tmp_path / "rows.csv")
    pa.csv.write_csv(TABLE.drop_columns(["mail"]), path)
    shares = _core.byte_shares(path, 50_000)
    assert len(shares) > 2 and shares[0][0] == 0 and shares[-1][1] == os.path.getsize(path)
    machines = Machines(TABLE.slice(0, 0).to_batches())
    machines.parts, machines.rows = shares, lambda part: _core.Rows.of_shares([(path, part)])
    options = dict(model="naive-bayes", ignore=["w"])
    classifier = Classifier(**options)
    columns, first = _stream.columns_of(classifier, "y", None), _core.Rows.of_files([path])

    def ask(what, *given):
        if what == "has_places":
            return True
        if what == "names":
            return [_core.survey(machines.rows(part), given[0])[0] for part in shares]
        if what == "schema":
            machines.schema = given[0]
            return None
        states = [_core.observe(machines.rows(part), machines.schema, None, *given[:3]) for part in shares]
        assert sum(count for _, count, _ in states) == N
        return _core.merge_states(given[0], [state for state, _, _ in states])

    model = _core.fit_remote(ask, first, _stream.reading(classifier), columns, _stream.learner(classifier))
    expected = Classifier(**options).fit(path, "y").evidence(TABLE)
    assert_allclose(classifier._loaded(model).evidence(TABLE), expected, rtol=1e-9)
    # A quoted newline at a cut is an error, and never a wrong row.
    with open(path, "w") as file:
        file.write('a,y\n1,p\n2,"q\nr"\n3,p\n')
    cuts = [_core.Rows.of_shares([(path, part)]) for part in _core.byte_shares(path, 12)]
    schema = '{"columns":[],"target":"y","classes":[]}'
    with pytest.raises(ValueError, match="a quote opens here that nothing closes"):
        [_core.survey(rows, schema) for rows in cuts]
    assert _core.byte_shares(str(tmp_path / "rows.parquet"), 10) is None


def test_the_same_bits_for_the_same_parts():
    first, second = (Machines(cut(700, 800)).fit(MODELS["mixed"]).evidence(TABLE) for _ in range(2))
    assert (first == second).all()


def test_weights_and_rows_without_a_label():
    gaps = TABLE.set_column(5, "y", pa.array(np.where(A > 2, None, Y), pa.string()))
    options = dict(model="gaussian", ignore=["job", "mail"])
    # Rows without a label are left out of a data frame; one machine refuses them.
    with pytest.raises(ValueError, match="the class is missing"):
        Classifier(**options).fit(gaps, "y", sample_weight="w")
    labelled = gaps.filter(gaps["y"].is_valid())
    expected = Classifier(**options).fit(labelled, "y", sample_weight="w").evidence(TABLE)
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
        if what in ("pass", "first"):
            raise ConnectionError("the cluster is gone")
        return machines.ask(what, *given)

    classifier = Classifier("gaussian", ignore=["job", "mail", "w"])
    columns, first = _stream.columns_of(classifier, "y", None), _core.Rows(lambda: TABLE, True)
    with pytest.raises(ConnectionError, match="the cluster is gone"):
        _core.fit_remote(lost, first, _stream.reading(classifier), columns, _stream.learner(classifier))
    with pytest.raises(ValueError, match="not a deciban file"):
        _core.merge_states(b"nonsense", [])
