"""The classifier: rows to a model, a model to evidence, posteriors and decisions."""

from __future__ import annotations

import html
import warnings

import numpy as np

from . import _application, _columns, _core, _frame, _labels, _options
from ._estimator import Estimator, NotFittedError, available_if, not_fitted
from .decide import cost_matrix

__all__ = ["Classifier", "NotFittedError"]


#: The models that are fitted from statistics, which add up.
GENERATIVE = ("gaussian", "naive-bayes", "bernoulli", "multinomial", "table", "tree")


def _adds_rows(classifier):
    if classifier.model not in GENERATIVE:
        named = ", ".join(map(repr, GENERATIVE))
        raise AttributeError(f"partial_fit: model={classifier.model!r} keeps no statistics to add rows to: give model= one of {named}")


class Classifier(Estimator):
    """A probabilistic classifier of tables: numbers, categories, counts, flags and texts.

    It learns how rows of each class look, and reports the evidence of new rows for each class. Prior and costs are
    plugged in when it is used. It is an estimator for scikit-learn (`Pipeline`, `GridSearchCV`, `clone`,
    `cross_val_score`), and does not need scikit-learn.

    Parameters
    ----------
    model : str, default "auto"
        "auto" compares a few models by cross-validation and learns the best. Otherwise one of "gaussian",
        "naive-bayes", "bernoulli", "multinomial", "table", "tree", "logistic", "probit", "cloglog", "noisy-or",
        "least-squares".
    prior : {"empirical", "uniform"}, array-like, dict or Series, default "empirical"
        The prior of predictions that are not given another. A dictionary or a Series gives probabilities by label;
        classes that it does not name share the rest as in the training data.
    n_jobs : int, optional
        The number of threads; all cores by default, and with -1.
    number, category, flag, count, text, ignore : str, int or list of them, optional
        What columns are, by name, or by number where the table has no names. By default the types of the columns
        decide. Columns in `ignore` are left out.
    missing : str, number or list of them, optional
        Texts and numbers that stand for a missing cell, besides None, NaN and nulls.
    covariance : {"full", "tied", "diagonal", "tied-diagonal", "spherical", "tied-spherical"}, optional
        What the covariances of the classes have in common; "full" by default.
    estimator : {"ml", "unbiased", "bayes"}, optional
        How covariances are estimated: maximum likelihood (the default), unbiased, or integrated out.
    shrinkage : float or "auto", optional
        Shrinks covariances towards a multiple of the identity, by a share from 0 to 1.
    pooling : float or "auto", optional
        Pools covariances with the one that all classes share, by a share from 0 to 1.
    sparse_precision : float, optional
        The penalty of the graphical lasso on the precision matrix.
    standardise : bool, default False
        Scales columns to mean 0 and variance 1 first.
    gaussianise : bool, default False
        Maps each column through its distribution to a normal one first.
    pca, lda : int, optional
        The number of leading principal components, or discriminant directions, to keep.
    folds : int, optional
        The number of folds by which "auto" is settled; 5 by default.
    seed : int, optional
        The seed of everything random; 0 by default.
    pseudo_count : float, optional
        Rows that are added to every level, word or bin; 1 by default, 0 is maximum likelihood.
    refuse_unseen : bool, default False
        Levels that did not occur at fit are errors.
    joint_numbers : bool, default False
        Naive Bayes has one Gaussian of all numbers instead of one per column.
    family : str or dict, optional
        The family of all numbers, or of columns by name, in naive Bayes: "gamma", "log-normal", "histogram", "auto", ...
    bins : dict, optional
        Cut points of numbers by column, for naive Bayes, tables and trees.
    min_count : float, optional
        Words that occur in fewer rows are left out.
    vocabulary : int, optional
        The number of most frequent words to keep.
    complement : bool, default False
        Multinomial: weights from the words of the other classes (complement naive Bayes).
    weight_decay : float, optional
        L2 penalty E of linear models: adds E/2 times the sum of squared weights to the loss; 1 by default. The
        intercept is not penalised.
    solver : {"auto", "newton", "lbfgs", "gradient", "sgd"}, optional
        How the weights of linear models are found.
    rate : float, optional
        The first step of stochastic gradient descent.
    no_standardise : bool, default False
        Penalises weights per unit of a column, not per standard deviation.
    effect : label, optional
        Noisy-or: the class that the columns may cause; the second by default.
    ngrams : str, int or tuple, optional
        Tokens of how many words (or characters): "1..2", 2 or (1, 2).
    characters, case, no_symbols : bool, default False
        Tokens of characters instead of words; keeps upper case; leaves punctuation and symbols out.
    stop_words : list of str, optional
        Words to leave out.
    hashed_bits : int, optional
        Numbers words by hashes of so many bits.
    most_words : int, optional
        More different words than this are an error.

    Attributes
    ----------
    classes_ : ndarray
        The labels, in ascending order.
    n_features_in_ : int
        The number of columns at `fit`.
    feature_names_in_ : ndarray of str
        Their names, where the table had names.
    compared_ : list of (str, float)
        What "auto" has compared: names and log losses, the best first.

    Examples
    --------
    >>> from deciban import Classifier
    >>> heights = {"height": [155.0, 160, 162, 165, 168, 168, 173, 175, 178, 183]}
    >>> model = Classifier("gaussian").fit(heights, list("FFFFFMMMMM"))
    >>> model.predict_proba({"height": [170.0]}).round(3)
    array([[0.283, 0.717]])
    >>> model.predict({"height": [170.0]}, prior={"F": 0.9, "M": 0.1})
    array(['F'], dtype='<U1')
    """

    def __init__(
        self,
        model="auto",
        *,
        prior="empirical",
        n_jobs=None,
        number=None,
        category=None,
        flag=None,
        count=None,
        text=None,
        ignore=None,
        missing=None,
        covariance=None,
        estimator=None,
        shrinkage=None,
        pooling=None,
        sparse_precision=None,
        standardise=False,
        gaussianise=False,
        pca=None,
        lda=None,
        folds=None,
        seed=None,
        pseudo_count=None,
        refuse_unseen=False,
        joint_numbers=False,
        family=None,
        bins=None,
        min_count=None,
        vocabulary=None,
        complement=False,
        weight_decay=None,
        solver=None,
        rate=None,
        no_standardise=False,
        effect=None,
        ngrams=None,
        characters=False,
        case=False,
        no_symbols=False,
        stop_words=None,
        hashed_bits=None,
        most_words=None,
    ):
        self.model = model
        self.prior = prior
        self.n_jobs = n_jobs
        self.number = number
        self.category = category
        self.flag = flag
        self.count = count
        self.text = text
        self.ignore = ignore
        self.missing = missing
        self.covariance = covariance
        self.estimator = estimator
        self.shrinkage = shrinkage
        self.pooling = pooling
        self.sparse_precision = sparse_precision
        self.standardise = standardise
        self.gaussianise = gaussianise
        self.pca = pca
        self.lda = lda
        self.folds = folds
        self.seed = seed
        self.pseudo_count = pseudo_count
        self.refuse_unseen = refuse_unseen
        self.joint_numbers = joint_numbers
        self.family = family
        self.bins = bins
        self.min_count = min_count
        self.vocabulary = vocabulary
        self.complement = complement
        self.weight_decay = weight_decay
        self.solver = solver
        self.rate = rate
        self.no_standardise = no_standardise
        self.effect = effect
        self.ngrams = ngrams
        self.characters = characters
        self.case = case
        self.no_symbols = no_symbols
        self.stop_words = stop_words
        self.hashed_bits = hashed_bits
        self.most_words = most_words

    # Learning

    def fit(self, X, y, sample_weight=None):
        """Learns from labelled rows.

        Parameters
        ----------
        X : array, data frame, dict of columns, list of dict, list of str or sparse matrix
            The rows. A list of texts is one column of texts; a sparse matrix has counts.
        y : array-like
            The labels, of any type. None and NaN are rows without one.
        sample_weight : array-like, optional
            A weight of each row.

        Returns
        -------
        Classifier
            This object.

        Examples
        --------
        >>> from deciban import Classifier
        >>> mails = ["free prize now", "win a free prize", "see you at home", "dinner at home"]
        >>> model = Classifier("multinomial").fit(mails, ["spam", "spam", "ham", "ham"])
        >>> model.predict(["a free dinner now"]).tolist()
        ['spam']
        """
        if not isinstance(self.model, str):
            raise TypeError(f"model must be a name such as 'gaussian', not {type(self.model).__name__}")
        table, labels, frame = self._table(X, y, sample_weight, None)
        name = "y" if getattr(y, "name", None) is None else str(y.name)
        model = _core.Model.fit(table, list(labels), self.model, _options.learner(self.get_params()), name, self.n_jobs)
        self._learned(model, labels)
        return self._saw(frame)

    @available_if(_adds_rows)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Adds labelled rows to those of before, for generative models; levels and classes may be new.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. Columns with names are found by them.
        classes : array-like, optional
            Labels that may come, as scikit-learn asks for at the first call; a label in `y` that is not among them is
            refused. It is not needed: a class is known from its first row on.

        Returns
        -------
        Classifier
            This object.

        Examples
        --------
        >>> from deciban import Classifier
        >>> model = Classifier("naive-bayes").partial_fit({"fur": ["red", "black"]}, ["cat", "dog"])
        >>> model.partial_fit({"fur": ["white", "white"]}, ["hare", "hare"]).classes_.tolist()
        ['cat', 'dog', 'hare']
        """
        if classes is not None:
            _labels.check_among(y, classes)
        if not hasattr(self, "_model"):
            return self.fit(X, y, sample_weight)
        table, labels, frame = self._table(X, y, sample_weight, self._model)
        model = self._model.with_rows(table, list(labels), self.n_jobs)
        return self._learned(model, {**self._labels, **labels})

    def merge(self, other):
        """Adds the rows behind another classifier of the same columns and options.

        Parameters
        ----------
        other : Classifier
            A fitted generative model.

        Returns
        -------
        Classifier
            This object.
        """
        mine, others = self._fitted(), other._fitted()
        return self._learned(mine.merged(others), {**self._labels, **other._labels})

    def forget(self, other):
        """Takes away the rows behind another classifier, all of which must be behind this one.

        Parameters
        ----------
        other : Classifier
            A fitted generative model.

        Returns
        -------
        Classifier
            This object.

        Examples
        --------
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
        """The evidence of each row for each class, before any prior.

        Parameters
        ----------
        X : array, data frame, dict of columns, list of dict, list of str or sparse matrix
            The rows, with the columns of the fit: by name if they have names, else by place.

        Returns
        -------
        ndarray of shape (rows, classes)
            log p(x | class) in nats. For models that only know classes given rows it is the log-posterior less the
            log-prior of the training data.
        """
        table = self._known(X)
        out = np.empty((table.rows, len(self.classes_)))
        self._model.evidence(table, out, self.n_jobs)
        return out

    def predict_log_proba(self, X, prior=None):
        """log p(class | x), under another prior if one is given; NaN where no class is possible."""
        return _core.log_posterior(self.evidence(X), self._prior(prior))

    def predict_proba(self, X, prior=None):
        """p(class | x) of each row and class.

        Parameters
        ----------
        X
            The rows, as in `evidence`.
        prior : {"empirical", "uniform"}, array-like, dict or Series, optional
            The prior of this prediction; by default that of the constructor.

        Returns
        -------
        ndarray of shape (rows, classes)
            The posterior. Where all classes are impossible it is 0/0, and NaN.
        """
        return np.exp(self.predict_log_proba(X, prior))

    def predict(self, X, prior=None):
        """The most probable class of each row.

        Where all classes are impossible (the posterior is 0/0) there is no answer: the label is None, in an array of
        objects, and a warning says how many rows it concerns.

        Parameters
        ----------
        X
            The rows, as in `evidence`.
        prior : {"empirical", "uniform"}, array-like, dict or Series, optional
            The prior of this prediction; by default that of the constructor.

        Returns
        -------
        ndarray of shape (rows,)
            Labels.
        """
        posterior = self.predict_log_proba(X, prior)
        undefined = np.isnan(posterior).any(axis=1)
        best = self.classes_[np.where(np.isnan(posterior), -np.inf, posterior).argmax(axis=1)]
        return _undefined_as_none(best, undefined)

    def decide(self, X, prior=None, costs=None, reject=None):
        """The action of least expected cost for each row.

        Parameters
        ----------
        X
            The rows, as in `evidence`.
        prior : {"empirical", "uniform"}, array-like, dict or Series, optional
            The prior of this prediction; by default that of the constructor.
        costs : dict or array-like, optional
            A dictionary from (true, decided) to the cost of taking a row of the first class for one of the second;
            pairs that are not named cost 1, and right decisions 0. Or a matrix with a row for each action and a column
            for each class. By default every mistake costs 1.
        reject : float, optional
            The cost of not deciding, which gives "reject".

        Returns
        -------
        ndarray of shape (rows,)
            Labels, "reject", or None where no class is possible.

        Examples
        --------
        >>> from deciban import Classifier
        >>> model = Classifier("gaussian").fit([[1.0], [2.0], [4.0], [6.0]], ["ill", "ill", "well", "well"])
        >>> model.decide([[3.2]]).tolist(), model.decide([[3.2]], costs={("ill", "well"): 50}).tolist()
        (['well'], ['ill'])
        >>> model.decide([[1.0], [2.9]], reject=0.1).tolist()
        ['ill', 'reject']
        """
        matrix, actions = cost_matrix(self.classes_.tolist(), costs, reject)
        chosen, _ = _core.decide(self.evidence(X), self._prior(prior), matrix)
        names = np.array(actions, dtype=self.classes_.dtype if reject is None else object)
        return _undefined_as_none(names[np.maximum(chosen, 0).astype(int)], chosen < 0)

    def score(self, X, y, sample_weight=None, prior=None):
        """The share of rows whose most probable class is theirs.

        Parameters
        ----------
        X, y, sample_weight
            Labelled rows, as in `fit`.
        prior : {"empirical", "uniform"}, array-like, dict or Series, optional
            The prior of this prediction; by default that of the constructor.

        Returns
        -------
        float
            The accuracy. Rows for which no class is possible count as mistakes.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedWarning)
            found = self.predict(X, prior)
        y = _labels.column_of(y, len(found))
        right = np.array([a == b for a, b in zip(found.tolist(), y.tolist())], dtype=float)
        return float(np.average(right, weights=_labels.weights(sample_weight, len(found))))

    def log_density(self, X, prior=None):
        """log p(x) of each row, for generative models."""
        if not self._fitted().is_generative:
            raise ValueError("only generative models without a calibration have densities of rows")
        return _core.log_density(self.evidence(X), self._prior(prior))

    def explain(self, X):
        """What each feature of each row says.

        Parameters
        ----------
        X
            The rows, as in `evidence`.

        Returns
        -------
        list of list of dict
            For each row its features, with `name`, `value`, `missing` and `evidence`, an array of nats per class. They
            add up to the evidence, but for what all classes share.

        Examples
        --------
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
        """New labelled rows of a generative model.

        Parameters
        ----------
        n : int
            How many.
        seed : int, default 0
            The same seed gives the same rows.
        prior : {"empirical", "uniform"}, array-like, dict or Series, optional
            The shares of the classes; by default the prior of the constructor.

        Returns
        -------
        tuple of dict and ndarray
            A dictionary of columns, and labels.

        Examples
        --------
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
        """Writes a model file, as the command line has them.

        Parameters
        ----------
        path : str or path-like
            Where. The file also keeps what counts as missing and how texts become words.
        """
        self._fitted().save(path)

    @classmethod
    def load(cls, path):
        """Reads a model file, of this package or of the command line.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        Classifier
            A fitted classifier. Its labels are texts, or integers if all are.

        Examples
        --------
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
        self.n_features_in_ = len(model.columns)
        self.feature_names_in_ = np.array([name for name, _ in model.columns], dtype=object)
        return self._learned(model, {name: int(name) if is_integer else name for name in names}, keep_prior=True)

    # For scikit-learn

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_model")

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        counts = self.model in ("auto", "bernoulli", "multinomial", "naive-bayes", "logistic", "probit", "cloglog")
        cells = InputTags(
            sparse=counts, string=True, categorical=True, allow_nan=True, positive_only=self.model == "multinomial"
        )
        few = self.model in ("probit", "cloglog", "noisy-or")
        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(multi_class=not few),
            input_tags=cells,
        )

    # Inside

    def _fitted(self):
        if not hasattr(self, "_model"):
            raise not_fitted("This Classifier is not fitted yet: call fit first.")
        return self._model

    def _summary(self):
        if not hasattr(self, "_model"):
            return ""
        count = lambda n, what, many: f"{n} {what if n == 1 else many}"  # noqa: E731
        best = f"{self.compared_[0][0]}; " if self.compared_ else ""
        columns = count(len(self._model.columns), "column", "columns")
        return f"fitted: {best}{columns}, {count(len(self.classes_), 'class', 'classes')}"

    def _html(self):
        if not hasattr(self, "_model"):
            return ""
        row = lambda *cells: "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in cells) + "</tr>"  # noqa: E731
        table = lambda head, rows: (  # noqa: E731
            "<table><thead><tr>" + "".join(f"<th>{name}</th>" for name in head) + f"</tr></thead>{''.join(rows)}</table>"
        )
        shown, columns = 20, self._model.columns
        rows = [row(name, kind) for name, kind in columns[:shown]]
        rows += [row(f"and {len(columns) - shown} more", "")] * (len(columns) > shown)
        classes = [row(label, f"{p:.4g}") for label, p in list(zip(self.classes_.tolist(), self._model.default_prior))[:shown]]
        classes += [row(f"and {len(self.classes_) - shown} more", "")] * (len(self.classes_) > shown)
        compared = [row(name, f"{loss:.4f}") for name, loss in self.compared_[:shown]]
        parts = [table(("column", "kind"), rows), table(("class", "prior"), classes)]
        return "".join(parts + [table(("model", "log loss"), compared)] * bool(compared))

    def _table(self, X, y, sample_weight, model):
        """Labelled rows; `model` has learned from others before."""
        params = self.get_params()
        frame, kinds = _frame.frame(X), _options.kinds(params)
        _frame.check_size(frame)
        codes, labels = _labels.labels(y, frame.rows)
        if model is None and len(labels) < 2:
            raise ValueError(f"y has one class, {next(iter(labels.values()))!r}: a classifier needs at least two" if labels else "y has no label")
        core = _core.Table(frame.rows, codes, _labels.weights(sample_weight, frame.rows))
        core.read_with(**_options.reading(params))
        missing = _labels.listed(self.missing)
        if model is not None:
            core.read_as(model)
            missing = model.missing
            if frame.has_names:
                # Levels may be new, so they are found again; columns that are new are left out.
                frame, kinds = _columns.arranged(frame, model), dict(model.columns)
            else:
                _columns.check_width(frame.width, self.n_features_in_)
        _columns.learn_from(core, frame, kinds, _options.numbers(missing))
        return core, labels, frame

    def _known(self, X):
        """Rows to score."""
        model, frame = self._fitted(), _frame.frame(X)
        core = _core.Table(frame.rows)
        core.read_with(**_options.reading(self.get_params()))
        _columns.score(core, frame, model, _options.numbers(model.missing), getattr(self, "_seen", None))
        return core

    def _learned(self, model, labels, keep_prior=False):
        classes = np.array([labels[name] for name in model.classes])
        self._model, self._labels, self.classes_ = model, dict(labels), classes
        self._empirical = model.default_prior
        self.compared_ = model.compared
        if not keep_prior and not (isinstance(self.prior, str) and self.prior == "empirical"):
            self._model = model.with_prior(self._prior(self.prior))
        return self

    def _saw(self, frame):
        """Keeps what the table of the fit looked like."""
        self.n_features_in_ = frame.width
        taken = {name for name, _ in self._model.columns}
        places = [j for j, name in enumerate(frame.names) if name in taken]
        self._seen = None if frame.sparse is not None else (frame.width, places)
        self.__dict__.pop("feature_names_in_", None)
        if frame.has_names:
            self.feature_names_in_ = np.array(frame.names, dtype=object)
        return self

    def _prior(self, prior):
        self._fitted()
        own = self._model.default_prior
        return _application.resolve_prior(prior, self.classes_.tolist(), own, self._empirical)


class UndefinedWarning(RuntimeWarning):
    """Some rows are impossible under every class: their posterior is 0/0."""


def _undefined_as_none(labels, undefined):
    """Labels, with None where there is no answer."""
    if not undefined.any():
        return labels
    first = int(np.flatnonzero(undefined)[0])
    message = (
        f"{int(undefined.sum())} of {len(undefined)} rows, the first of them row {first}, are impossible under every class: "
        "their label is None. A pseudo_count above 0 makes all levels and words possible."
    )
    warnings.warn(message, UndefinedWarning, stacklevel=3)
    labels = labels.astype(object)
    labels[undefined] = None
    return labels
