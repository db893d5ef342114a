"""Rows that belong together stay in one fold wherever a fit holds rows out."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from deciban import Classifier

VOWELS = np.array(["a", "e", "i", "o"])


def spoken(speakers, seed, times=10):
    """Vowels of speakers. Each of them says a vowel in a way of their own, always nearly the same."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(0, 1.5, (4, 3))
    own = centres + rng.normal(0, 1, (speakers, 4, 3))
    rows = np.repeat(own.reshape(-1, 3), times, axis=0) + rng.normal(0, 0.05, (speakers * 4 * times, 3))
    return rows, np.tile(np.repeat(VOWELS, times), speakers), np.repeat([f"speaker {s}" for s in range(speakers)], 4 * times)


X, Y, SPEAKER = spoken(12, 1)
OTHERS = [spoken(12, seed)[:2] for seed in range(2, 8)]


def promised(model):
    return model.compared_[0][1]


def found(model):
    return np.mean([model.evaluate(*others)["log_loss"] for others in OTHERS])


def test_what_a_fit_promises_is_found_on_other_speakers():
    apart, mixed = Classifier().fit(X, Y, groups=SPEAKER), Classifier().fit(X, Y)
    assert promised(mixed) < 0.2 * found(mixed)
    assert 0.7 < promised(apart) / found(apart) < 1.4
    # The model that is chosen is better for new speakers.
    assert found(apart) < 0.8 * found(mixed)


OPTIONS = [
    {"model": "gaussian", "shrinkage": "auto", "standardise": True},
    {"model": "gaussian", "components": "auto"},
    {"model": "gaussian", "pca": 2, "components": "auto"},
    {"model": "additive"},
    {"model": "naive-bayes", "calibrate": "pav"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_whatever_is_settled_by_folds_takes_whole_groups(options):
    apart, mixed = Classifier(**options).fit(X, Y, groups=SPEAKER), Classifier(**options).fit(X, Y)
    assert abs(apart.evidence(X) - mixed.evidence(X)).max() > 1e-6
    assert found(apart) <= found(mixed)


def test_groups_are_values_or_a_column():
    model = Classifier("parzen", calibrate="logistic")
    expected = model.fit(X, Y, groups=SPEAKER).evidence(X)
    frame = pd.DataFrame(X, columns=list("uvw")).assign(who=SPEAKER, vowel=Y)
    codes = np.unique(SPEAKER, return_inverse=True)[1]
    for groups in (list(SPEAKER), pd.Series(SPEAKER), pd.Categorical(SPEAKER), codes, codes + 0.5):
        assert_array_equal(model.fit(X, Y, groups=groups).evidence(X), expected)
    named = model.fit(frame.drop(columns="vowel"), Y, groups="who")
    assert named.feature_names_in_.tolist() == list("uvw")
    assert_array_equal(named.evidence(frame), expected)
    # Of a stream: the name of a column.
    assert_array_equal(model.fit(lambda: frame, "vowel", groups="who").evidence(frame), expected)
    with pytest.raises(ValueError, match="with a stream, give the name of a column"):
        model.fit(lambda: frame, "vowel", groups=SPEAKER)
    with pytest.raises(ValueError, match="groups must have a value for each of 480 rows"):
        model.fit(X, Y, groups=SPEAKER[1:])
    with pytest.raises(ValueError, match="groups: row 5 has none"):
        model.fit(X, Y, groups=np.where(np.arange(len(Y)) == 5, None, SPEAKER.astype(object)))
    with pytest.raises(ValueError, match="there is no column 'speaker'"):
        model.fit(frame, Y, groups="speaker")


def test_few_groups():
    # Each of three groups is a fold; more folds than groups are an error if they are asked for.
    three = np.repeat([0, 1, 2], len(Y) // 3)
    assert Classifier("parzen", calibrate="logistic").fit(X, Y, groups=three).predict(X).shape == Y.shape
    with pytest.raises(ValueError, match="3 groups are too few for 5 folds"):
        Classifier("parzen", calibrate="logistic", folds=5).fit(X, Y, groups=three)
    with pytest.raises(ValueError, match="all rows are of one group"):
        Classifier("parzen", calibrate="logistic").fit(X, Y, groups=np.zeros(len(Y)))
    with pytest.raises(ValueError, match="equal_together is for rows without groups"):
        Classifier("parzen", calibrate="logistic", equal_together=True).fit(X, Y, groups=three)


def test_folds_of_groups_are_not_updated_row_by_row():
    model = Classifier("gaussian", shrinkage="auto", standardise=True).fit(X, Y, groups=SPEAKER)
    for change in (model.update, model.forget):
        with pytest.raises(ValueError, match="keep folds of groups"):
            change(X[:20], Y[:20])
    # Without folds there is nothing to keep together.
    Classifier("gaussian").fit(X, Y, groups=SPEAKER).update(X, Y)
