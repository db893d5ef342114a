"""The classifier: rows to a model, a model to evidence, posteriors and decisions."""

from __future__ import annotations

import json

import numpy as np

from . import _columns, _core, _frame, _labels
from .decide import cost_matrix

#: Keywords that say what columns are.
COLUMN_OPTIONS = ("number", "category", "flag", "count", "text", "ignore")

#: Keywords that say how texts become words.
TEXT_OPTIONS = ("ngrams", "characters", "case", "no_symbols", "stop_words", "hashed_bits", "most_words")


class NotFittedError(ValueError, AttributeError):
    """The classifier has not learned yet: call `fit`."""


class Classifier:
    """A probabilistic classifier.

    `model` is "auto" (a few are compared by cross-validation, and the best is learned), or one of those of the
    command line: "gaussian", "naive-bayes", "bernoulli", "multinomial", "table", "tree", "logistic", "probit",
    "cloglog", "noisy-or", "least-squares". Keywords are the command line's options with underscores, such as
    ``covariance="tied"``, ``shrinkage="auto"``, ``pseudo_count=0.5``, ``pca=50``, ``weight_decay=2``; columns are
    told by ``category=["job"]``, ``number=``, ``flag=``, ``count=``, ``text=`` and ``ignore=``; ``missing=["?"]`` are
    texts that stand for a missing cell. `prior` is the default prior: "empirical", "uniform", an array or a mapping
    from labels. `n_jobs` is the number of threads, all by default.

    >>> from deciban import Classifier
    >>> heights = {"height": [155.0, 160, 162, 165, 168, 168, 173, 175, 178, 183]}
    >>> model = Classifier("gaussian").fit(heights, list("FFFFFMMMMM"))
    >>> model.predict_proba({"height": [170.0]}).round(3)
    array([[0.283, 0.717]])
    >>> model.predict({"height": [170.0]}, prior={"F": 0.9, "M": 0.1})
    array(['F'], dtype='<U1')
    """

    def __init__(self, model="auto", *, prior="empirical", n_jobs=None, **options):
        self.model = model
        self.prior = prior
        self.n_jobs = n_jobs
        self.options = options
        if not isinstance(model, str):
            raise TypeError(f"model must be a name such as 'gaussian', not {type(model).__name__}")

    def __repr__(self):
        told = [repr(self.model), *(f"{name}={value!r}" for name, value in self.options.items())]
        return f"Classifier({', '.join(told)})"

    # Learning

    def fit(self, X, y, sample_weight=None):
        """Learns from labelled rows; labels may be of any type, None and NaN are rows without one.

        >>> from deciban import Classifier
        >>> mails = {"text": ["free prize now", "win a free prize", "see you at home", "dinner at home"]}
        >>> model = Classifier("multinomial", text="text").fit(mails, ["spam", "spam", "ham", "ham"])
        >>> model.predict({"text": ["a free dinner now"]}).tolist()
        ['spam']
        """
        table, labels = self._table(X, y, sample_weight, None)
        name = "y" if getattr(y, "name", None) is None else str(y.name)
        model = _core.Model.fit(table, list(labels), self.model, self._options(), name, self.n_jobs)
        return self._learned(model, labels)

    def partial_fit(self, X, y, sample_weight=None):
        """Adds labelled rows to those of before; classes and levels may be new.

        >>> from deciban import Classifier
        >>> model = Classifier("naive-bayes").fit({"fur": ["red", "black"]}, ["cat", "dog"])
        >>> model.partial_fit({"fur": ["white", "white"]}, ["hare", "hare"]).classes_.tolist()
        ['cat', 'dog', 'hare']
        """
        if not hasattr(self, "_model"):
            return self.fit(X, y, sample_weight)
        table, labels = self._table(X, y, sample_weight, self._model)
        return self._learned(self._model.with_rows(table, list(labels), self.n_jobs), {**self._labels, **labels})

    def merge(self, other):
        """Adds the rows behind another classifier of the same columns and options."""
        mine, others = self._fitted(), other._fitted()
        return self._learned(mine.merged(others), {**self._labels, **other._labels})

    def forget(self, other):
        """Takes away the rows behind another classifier, all of which must be behind this one.

        >>> from deciban import Classifier
        >>> some = Classifier("gaussian").fit([[1.0], [2.0], [4.0], [6.0]], [0, 0, 1, 1])
        >>> more = Classifier("gaussian").fit([[3.0], [5.0], [9.0], [7.0]], [0, 0, 1, 1])
        >>> both = Classifier("gaussian").fit([[1.0], [2.0], [4.0], [6.0]], [0, 0, 1, 1]).merge(more)
        >>> bool(abs(both.forget(more).evidence([[3.0]]) - some.evidence([[3.0]])).max() < 1e-9)
        True
        """
        return self._learned(self._fitted().without(other._fitted()), self._labels)

    # Using

    def evidence(self, X):
        """log p(x | class) in nats, rows × classes, before any prior. Of models that only know classes given rows
        it is the log-posterior less the log-prior of the training data."""
        table = self._known(X)
        out = np.empty((table.rows, len(self.classes_)))
        self._model.evidence(table, out, self.n_jobs)
        return out

    def predict_log_proba(self, X, prior=None):
        """log p(class | x), under another prior if one is given."""
        return _core.log_posterior(self.evidence(X), self._prior(prior))

    def predict_proba(self, X, prior=None):
        """p(class | x), under another prior if one is given."""
        return np.exp(self.predict_log_proba(X, prior))

    def predict(self, X, prior=None):
        """The most probable class of each row."""
        posterior = np.nan_to_num(self.predict_log_proba(X, prior), nan=-np.inf)
        return self.classes_[posterior.argmax(axis=1)]

    def decide(self, X, prior=None, costs=None, reject=None):
        """The action of least expected cost for each row.

        `costs` is a matrix (actions × classes, an action per class), or a mapping from (decided, true) to costs,
        in which the right decision costs 0 and others 1 unless told; `reject` is the cost of not deciding, which
        gives "reject". Without costs every error costs 1. Where no class is possible the action is None.

        >>> from deciban import Classifier
        >>> model = Classifier("gaussian").fit([[1.0], [2.0], [4.0], [6.0]], ["ill", "ill", "well", "well"])
        >>> model.decide([[3.2]]).tolist(), model.decide([[3.2]], costs={("well", "ill"): 50}).tolist()
        (['well'], ['ill'])
        >>> model.decide([[1.0], [2.9]], reject=0.1).tolist()
        ['ill', 'reject']
        """
        matrix, actions = cost_matrix(self.classes_.tolist(), costs, reject)
        chosen, _ = _core.decide(self.evidence(X), self._prior(prior), matrix)
        found = [None if action < 0 else actions[int(action)] for action in chosen]
        plain = reject is None and None not in found
        return np.array(found, dtype=self.classes_.dtype if plain else object)

    def log_density(self, X, prior=None):
        """log p(x), of generative models."""
        if not self._fitted().is_generative:
            raise ValueError("only generative models without a calibration have densities of rows")
        return _core.log_density(self.evidence(X), self._prior(prior))

    def explain(self, X):
        """For each row a list of what its features say: dictionaries with `name`, `value`, `missing` and
        `evidence`, an array of nats per class. They add up to the evidence, but for what all classes share.

        >>> from deciban import Classifier
        >>> model = Classifier("naive-bayes").fit({"fur": ["red", "red", "black", "red"]}, list("ccdd"))
        >>> [(entry["name"], entry["value"]) for entry in model.explain({"fur": ["black"]})[0]]
        [('fur', 'black')]
        """
        rows = self._fitted().explain(self._known(X), self.n_jobs)
        entry = lambda name, value, evidence, missing: {  # noqa: E731
            "name": name,
            "value": value,
            "evidence": np.array(evidence),
            "missing": missing,
        }
        return [[entry(*told) for told in row] for row in rows]

    def sample(self, n, seed=0, prior=None):
        """New labelled rows of a generative model: a dictionary of columns, and labels.

        >>> from deciban import Classifier
        >>> model = Classifier("gaussian").fit({"x": [1.0, 2.0, 4.0, 6.0]}, list("aabb"))
        >>> cells, labels = model.sample(3, seed=1)
        >>> cells["x"].shape, labels.shape
        ((3,), (3,))
        """
        rows = self._fitted().sample(int(n), int(seed), None if prior is None else self._prior(prior))
        names = [name for name, _ in self._model.columns]
        cells = {name: np.array([row[j] for _, row in rows]) for j, name in enumerate(names)}
        return cells, self.classes_[np.array([c for c, _ in rows], dtype=int)]

    # Keeping

    def save(self, path):
        """Writes a model file, as the command line has them."""
        self._fitted().save(path)

    @classmethod
    def load(cls, path):
        """Reads a model file, of this package or of the command line. Labels are texts, or integers if all are.

        >>> import os, tempfile
        >>> from deciban import Classifier
        >>> model = Classifier("gaussian").fit([[1.0], [2.0], [4.0], [6.0]], [0, 0, 1, 1])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(os.path.join(folder, "m.deciban"))
        ...     again = Classifier.load(os.path.join(folder, "m.deciban"))
        >>> again.predict([[1.5], [5.0]])
        array([0, 1])
        """
        model = _core.Model.load(path)
        names = model.classes
        is_integer = all(name.lstrip("-").isdigit() and name == str(int(name)) for name in names)
        self = cls("auto")
        return self._learned(model, {name: int(name) if is_integer else name for name in names}, keep_prior=True)

    # Inside

    def _fitted(self):
        if not hasattr(self, "_model"):
            raise NotFittedError("This Classifier is not fitted yet: call fit first.")
        return self._model

    def _options(self):
        apart = (*COLUMN_OPTIONS, "missing")
        plain = {name: value for name, value in self.options.items() if name not in apart and value is not None}
        for name in ("shrinkage", "pooling"):
            if name in plain:
                plain[name] = str(plain[name])
        if isinstance(plain.get("family"), str):
            plain["family"] = [[None, plain["family"]]]  # of all numbers
        for name in ("family", "bins"):
            if isinstance(plain.get(name), dict):
                plain[name] = [[str(key), value] for key, value in plain[name].items()]
        try:
            return json.dumps(plain, default=_plain)
        except (TypeError, ValueError) as error:
            raise TypeError(f"options: {error}") from None

    def _kinds(self):
        kinds = {}
        for kind in COLUMN_OPTIONS:
            for name in _labels.listed(self.options.get(kind)):
                kinds[name] = kind
        return kinds

    def _texts(self):
        """How cells and texts are read."""
        told = {name: self.options[name] for name in (*TEXT_OPTIONS, "missing") if self.options.get(name) is not None}
        ngrams = told.get("ngrams", (1, 1))
        if isinstance(ngrams, str):
            ngrams = ngrams.split("..")
        try:
            first, *last = [ngrams] if isinstance(ngrams, int) else ngrams
            told["ngrams"] = int(first), int(last[0] if last else first)
        except (TypeError, ValueError, IndexError):
            raise ValueError(f"ngrams: give a range such as '1..2', not {self.options['ngrams']!r}") from None
        for name in ("stop_words", "missing"):
            if name in told:
                told[name] = [str(text) for text in _labels.listed(told[name])]
        return told

    def _missing_numbers(self):
        """The numbers that stand for a missing cell."""
        return [number for text in _labels.listed(self.options.get("missing")) if (number := _number(text)) is not None]

    def _table(self, X, y, sample_weight, model):
        """Labelled rows; `model` has learned from others before."""
        table, kinds = _frame.frame(X), self._kinds()
        codes, labels = _labels.labels(y, table.rows)
        core = _core.Table(table.rows, codes, _labels.weights(sample_weight, table.rows))
        core.read_with(**self._texts())
        if model is not None:
            core.read_as(model)
            if table.has_names:
                # Levels may be new, so they are found again; columns that are new are left out.
                known = dict(model.columns)
                lacking = [name for name in known if name not in table.names]
                if lacking:
                    raise ValueError(f"X lacks the column {lacking[0]!r}; it has {table.names[:20]}")
                kinds = {name: known.get(name, "ignore") for name in table.names}
        _columns.learn_from(core, table, kinds, self._missing_numbers())
        return core, labels

    def _known(self, X):
        """Rows to score."""
        model, table = self._fitted(), _frame.frame(X)
        core = _core.Table(table.rows)
        core.read_with(**self._texts())
        _columns.score(core, table, model, self._missing_numbers())
        return core

    def _learned(self, model, labels, keep_prior=False):
        classes = np.array([labels[name] for name in model.classes])
        self._model, self._labels, self.classes_ = model, dict(labels), classes
        self.compared_ = model.compared
        if not keep_prior and not (isinstance(self.prior, str) and self.prior == "empirical"):
            self._model = model.with_prior(self._prior(self.prior))
        return self

    def _prior(self, prior):
        if prior is None:
            return self._fitted().default_prior
        k = len(self.classes_)
        if isinstance(prior, str):
            if prior != "uniform":
                raise ValueError(f"prior: give 'uniform', an array or a mapping from labels, not {prior!r}")
            return [1 / k] * k
        if hasattr(prior, "keys"):
            labels = self.classes_.tolist()
            strange = [label for label in prior if label not in labels]
            if strange:
                raise ValueError(f"prior: there is no class {strange[0]!r}, only {labels}")
            prior = [prior.get(label, 0.0) for label in labels]
        return np.asarray(prior, dtype=np.float64).ravel().tolist()


def _number(text):
    """A number, if it is one."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def _plain(value):
    """Numbers of NumPy as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{value!r} is no value of an option")
