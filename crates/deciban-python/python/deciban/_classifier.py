"""The classifier: rows to a model, a model to evidence, posteriors and decisions."""

from __future__ import annotations

import json
import warnings

import numpy as np

from . import _application, _columns, _core, _fill, _frame, _labels, _options, _progress, _stream
from ._estimator import Estimator, NotFittedError, available_if, not_fitted
from ._ledger import AdaptedPrior, Description, Evaluation, Ledger, Line, NextMeasurement, Report, Worth
from ._statistics import Statistics

__all__ = ["Classifier", "NotFittedError"]


#: The models that are fitted from statistics, which add up; those that take sparse matrices, whose cells are counts;
#: and those of two classes.
GENERATIVE, SPARSE, BINARY = map(tuple, _core.models())

#: Those whose weights are penalised per standard deviation of a column, and per unit in a sparse matrix.
LINEAR = ("logistic", "probit", "cloglog")

#: Why a linear model of a sparse matrix is another one than that of the same rows in an array.
UNSCALED = (
    "the columns of a sparse matrix are not standardised, because their zeros must stay zeros: weights are penalised per "
    "unit, in an array per standard deviation. An array gives the same model with no_standardise=True"
)


def _adds_rows(classifier):
    if classifier.model not in GENERATIVE or classifier.calibrate is not None:
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
        "auto" compares all models that fit the columns by cross-validation, and learns the best, or several fused;
        "fused" learns several fused in any case.
        Otherwise one of "gaussian", "naive-bayes", "bernoulli", "multinomial", "table", "tree", "a1de", "parzen",
        "logistic", "probit", "cloglog", "additive", "k-dependence", "noisy-or", "least-squares".
    prior : {"empirical", "uniform"}, array-like, dict or Series, default "empirical"
        The prior of predictions that are not given another. A dictionary or a Series gives probabilities by label;
        classes that it does not name share the rest as in the training data.
    calibrate : {"logistic", "pav", "temperature", "beta"}, optional
        Calibrates the evidence with the scores of cross-validation.
    n_jobs : int, optional
        The number of threads; all cores by default, and with -1.
    progress : bool, optional
        Whether long work shows how far it has come; by default in notebooks and at the prompt of a terminal, not in
        scripts.
    number, category, flag, count, text, ignore : str, int or list of them, optional
        What columns are, by name, or by number where the table has no names. By default the types of the columns
        decide. Columns in `ignore` are left out.
    missing : str, number or list of them, optional
        Texts and numbers that stand for a missing cell, besides None, NaN and nulls.
    covariance : {"full", "tied", "diagonal", "tied-diagonal", "spherical", "tied-spherical", "low-rank", "tied-low-rank"}, optional
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
    deskew : bool, default False
        Each row is a square image, row of pixels after row of pixels: takes the slant of its strokes out first.
    gaussianise : bool, default False
        Maps each column through its distribution to a normal one first.
    pca, lda : int, optional
        The number of leading principal components, or discriminant directions, to keep.
    prior_rows : float, optional
        How many rows the prior of each covariance weighs, centred on the covariance within classes. By default 0,
        and with several components as many as there are dimensions.
    rank : int or "auto", optional
        The number of principal axes of low-rank covariances; "auto", the default, takes the number that held-out rows
        like best.
    components : int or "auto", optional
        The number of components of each class, each with a shape of its own (a mixture); "auto" takes the number
        that held-out rows like best.
    unlabelled_weight : float, optional
        How much a row without a label (None or NaN in `y`) counts. By default such rows are refused.
    iterations : int, optional
        The most steps of expectation–maximisation; 300 by default.
    effort : {"quick", "normal", "thorough"}, optional
        How much work the search of model="auto" or "fused" may take; "normal" by default.
    models : str or list of str, optional
        The kinds of models that the search tries, such as ``["gaussian", "logistic"]``; all that fit the columns by
        default.
    no_companion : bool, default False
        Whether a model that a search has found has no companion beside it: a small naive Bayes model that describes
        rows for `log_density`, `how_usual`, `sample`, `impute` and `next_measurement` where the model itself does not.
    folds : int, optional
        The number of folds by which "auto" is settled; 5 by default. A search has 20 up to 300 rows,
        10 up to 2,000, 5 up to 10,000 and 3 beyond that.
    seed : int, optional
        The seed of everything random; 0 by default.
    equal_together : bool, default False
        Whether equal rows stay in one fold. Folds then do not depend on the order of the rows, and are those of the
        same rows on Spark.
    pseudo_count : float, optional
        Rows that are added to every level, word or bin; 1 by default, 0 is maximum likelihood.
    refuse_unseen : bool, default False
        Levels that did not occur at fit are errors.
    joint_numbers : bool, default False
        Naive Bayes has one Gaussian of all numbers instead of one per column.
    family : str or dict, optional
        The family of all numbers, or of columns by name, in naive Bayes: "gamma", "log-normal", "beta",
        "negative-binomial", "histogram", "auto", ...
    bins : dict, optional
        Cut points of numbers by column, for naive Bayes, tables, trees and A1DE.
    min_count : float, optional
        Words that occur in fewer rows are left out.
    vocabulary : int, optional
        The number of most frequent words to keep.
    complement : bool, default False
        Multinomial: weights from the words of the other classes (complement naive Bayes).
    weight_decay : float, optional
        L2 penalty E of linear models: adds E/2 times the sum of squared weights to the loss; 1 by default, 10 for
        k-dependence, and chosen by cross-validation for additive models. The intercept is not penalised.
    solver : {"auto", "newton", "lbfgs", "gradient", "sgd"}, optional
        How the weights of linear models are found.
    rate : float, optional
        The first step of stochastic gradient descent.
    no_standardise : bool, default False
        Penalises weights per unit of a column, not per standard deviation; so it always is in sparse matrices.
    pairs : int, optional
        Additive: the most pairs of columns with a table; 0 for none. By default up to 60 (100 where all columns are
        categories), if cross-validation finds them better than none.
    pair_decay : float, optional
        Additive: L2 penalty of the tables of pairs; chosen by cross-validation by default.
    parents : int, optional
        k-dependence: how many other columns the tables of a column take into account at most; 7 by default.
    effect : label, optional
        Noisy-or: the class that the columns may cause; the second by default.
    ngrams : str, int or tuple, optional
        Tokens of how many words (or characters): "1..2", 2 or (1, 2).
    characters, case, no_symbols : bool, default False
        Tokens of characters instead of words; keeps upper case; leaves punctuation and symbols out.
    stop_words : list of str, optional
        Words to leave out.
    min_length : int, optional
        Leaves out words and symbols of fewer characters; 1 by default, which keeps all.
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
    remarks_ : list of str
        Notes and warnings about the columns and the fit. Warnings are also given as Python warnings.
    receipt_ : dict
        What the last `update`, `partial_fit`, `merge` or `forget` has changed: rows by class, new and gone levels, remarks.

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
        calibrate=None,
        n_jobs=None,
        progress=None,
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
        deskew=False,
        gaussianise=False,
        pca=None,
        lda=None,
        prior_rows=None,
        rank=None,
        components=None,
        unlabelled_weight=None,
        iterations=None,
        effort=None,
        models=None,
        no_companion=False,
        folds=None,
        seed=None,
        equal_together=False,
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
        pairs=None,
        pair_decay=None,
        parents=None,
        effect=None,
        ngrams=None,
        characters=False,
        case=False,
        no_symbols=False,
        stop_words=None,
        min_length=None,
        hashed_bits=None,
        most_words=None,
    ):
        self.model = model
        self.prior = prior
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.progress = progress
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
        self.deskew = deskew
        self.gaussianise = gaussianise
        self.pca = pca
        self.lda = lda
        self.prior_rows = prior_rows
        self.rank = rank
        self.components = components
        self.unlabelled_weight = unlabelled_weight
        self.iterations = iterations
        self.effort = effort
        self.models = models
        self.no_companion = no_companion
        self.folds = folds
        self.seed = seed
        self.equal_together = equal_together
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
        self.pairs = pairs
        self.pair_decay = pair_decay
        self.parents = parents
        self.effect = effect
        self.ngrams = ngrams
        self.characters = characters
        self.case = case
        self.no_symbols = no_symbols
        self.stop_words = stop_words
        self.min_length = min_length
        self.hashed_bits = hashed_bits
        self.most_words = most_words

    # Learning

    def fit(self, X, y, sample_weight=None, groups=None):
        """Learns from labelled rows.

        Parameters
        ----------
        X : array, data frame, dict of columns, list of dict, list of str or sparse matrix; or a stream
            The rows. A list of texts is one column of texts; a sparse matrix has counts. If `y` is the name of a
            column, X may be larger than memory, and is read as a stream: the path of a file or a list of paths, an
            object with ``__arrow_c_stream__`` (a relation of DuckDB, a reader of ADBC, a table), a lazy frame of
            Polars, an iterable of record batches, or a function that returns one of these.
        y : array-like or str
            The labels, of any type. A row without one (None or NaN) is refused, unless `unlabelled_weight` says how much
            it counts. With a stream, the name of their column; the labels are then texts, or integers if all are.
        sample_weight : array-like or str, optional
            A weight of each row; with a stream, the name of a column.
        groups : array-like or str, optional
            What belongs together, such as the visits of a patient: a value for each row, or the name of a column, which
            is not a feature then. Rows of a group stay in one fold wherever the fit holds rows out, so that figures
            and choices are those for new groups.

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
        if isinstance(y, str):
            model = _stream.fit(self, X, y, sample_weight, groups)
            _warn(model.remarks)
            self._seen = None
            return self._loaded(model, keep_prior=False)
        group = None
        if groups is not None:
            group = groups if isinstance(groups, str) else _labels.name_of(groups, "groups")
            if isinstance(groups, str):
                groups, X = _frame.column(X, group), _frame.frame(X).without([group])
        table, labels, frame = self._table(X, y, sample_weight, None)
        if groups is not None:
            table.set_folds(_labels.groups(groups, frame.rows, "groups"))
        options, name = _options.learner(self.get_params(), group), _labels.name_of(y)
        with _progress.watch(self.progress, "learning") as report:
            model = _core.Model.fit(table, list(labels), self.model, options, name, self.calibrate, self.n_jobs, report)
        _warn(model.remarks)
        self._learned(model, labels)
        kind = model.compared[0][0].split()[0] if model.compared else self.model
        if frame.sparse is not None and kind in LINEAR and not self.no_standardise:
            self.remarks_.append(UNSCALED)
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
        return self._with_rows(table, labels)

    def update(self, X, y, sample_weight=None, rows=None):
        """Learns more labelled rows: the model becomes that of all rows together, to rounding.

        It is for generative models and least squares, and for what a search has found, also those of files that have
        kept their statistics (``deciban fit --keep-statistics``, or ``save(path, keep_statistics=True)``). Classes, levels
        and words may be new; a fused or calibrated model takes no new class. Bins and Gaussianising maps stay those of
        the first fit, and so do calibrations and the weights of a fusion; what "auto" settles by folds is settled anew.

        Members of a fused model that learn from rows are refitted if `rows` are given, and stay as they were without.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. Columns with names are found by them.
        rows : (X, y) or (X, y, sample_weight), optional
            All rows that the model has learned from before.

        Returns
        -------
        Classifier
            This object; `receipt_` says what has changed.

        Examples
        --------
        >>> from deciban import Classifier
        >>> model = Classifier("naive-bayes").fit({"fur": ["red", "black"]}, ["cat", "dog"])
        >>> model.update({"fur": ["white", "white"]}, ["hare", "hare"]).classes_.tolist()
        ['cat', 'dog', 'hare']
        >>> model.receipt_["columns"][0]["new"]
        ['white']
        """
        table, labels, _ = self._table(X, y, sample_weight, self._fitted())
        return self._with_rows(table, labels, rows=rows)

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

    def forget(self, X, y=None, sample_weight=None, rows=None):
        """Takes rows away: the model becomes the one that never had them, to rounding.

        Rows that cannot have been in are refused, with the class or the column that shows it, and nothing changes.

        Parameters
        ----------
        X : Classifier, or rows as in `fit`
            Another fitted classifier of the same columns, all of whose rows are forgotten; or the rows themselves.
        y, sample_weight
            The labels and weights of rows, as they were learned.
        rows : (X, y) or (X, y, sample_weight), optional
            All rows that stay. A fused model with members that learn from rows needs them: without, these members would
            still know the forgotten rows, and nothing is forgotten.

        Returns
        -------
        Classifier
            This object; `receipt_` says what has changed.

        Examples
        --------
        >>> from deciban import Classifier
        >>> some = Classifier("gaussian").fit([[1.0], [2.0], [4.0], [6.0]], [0, 0, 1, 1])
        >>> more = Classifier("gaussian").fit([[3.0], [5.0], [9.0], [7.0]], [0, 0, 1, 1])
        >>> both = Classifier("gaussian").fit([[1.0], [2.0], [4.0], [6.0]], [0, 0, 1, 1]).merge(more)
        >>> bool(abs(both.forget(more).evidence([[3.0]]) - some.evidence([[3.0]])).max() < 1e-9)
        True
        """
        mine = self._fitted()
        if isinstance(X, Classifier):
            return self._learned(mine.without(X._fitted()), self._labels)
        if y is None:
            raise TypeError("forget: give the labels of the rows as y")
        table, labels, _ = self._table(X, y, sample_weight, mine)
        return self._with_rows(table, labels, forget=True, rows=rows)

    @available_if(_adds_rows)
    def collect(self, X, y, sample_weight=None):
        """Summarises labelled rows into the statistics that this model is fitted from, as ``deciban stats`` does.

        Parameters
        ----------
        X, y, sample_weight
            Labelled rows, or a stream of them, as in `fit`.

        Returns
        -------
        Statistics
            What adds up: statistics are saved, loaded, merged and taken away, and `fit_statistics` fits a model from
            them. The classifier stays as it is.
        """
        if isinstance(y, str):
            statistics, remarks = _stream.collect(self, X, y, sample_weight)
            _warn(remarks)
            return statistics
        table, labels, _ = self._table(X, y, sample_weight, None, fewest=1)
        options, name = _options.learner(self.get_params()), _labels.name_of(y)
        with _progress.watch(self.progress, "collecting") as report:
            core, remarks = _core.Statistics.collect(table, list(labels), self.model, options, name, self.n_jobs, report)
        _warn(remarks)
        return Statistics(_core_statistics=core, _known=labels)

    def fit_statistics(self, statistics):
        """Learns from statistics instead of rows, as ``deciban fit`` does with statistics files.

        Parameters
        ----------
        statistics : Statistics
            What `collect` makes, or what a file holds. They shape some options: statistics of variances
            (``covariance="diagonal"``) give no covariances, and "auto" strengths need statistics by folds (``folds=``).
            With model="auto" the kind of model is the one that the statistics were made for.

        Returns
        -------
        Classifier
            This object.
        """
        if not isinstance(statistics, Statistics):
            raise TypeError(f"fit_statistics takes Statistics, not {type(statistics).__name__}: make them with collect(X, y)")
        if self.calibrate is not None:
            raise ValueError("calibrate: scores come from rows, not from statistics")
        model = _core.Model.of_statistics(statistics._core, self.model, _options.learner(self.get_params()))
        self._seen = None
        return self._loaded(model, statistics._labels, keep_prior=False)

    def statistics(self):
        """The statistics that this model was fitted from, for generative models without a calibration.

        Returns
        -------
        Statistics
            They add up with others of the same columns.
        """
        return Statistics(_core_statistics=self._fitted().statistics(), _known=self._labels)

    # Using

    def evidence(self, X):
        """The evidence of each row for each class, before any prior.

        Parameters
        ----------
        X : array, data frame, dict of columns, list of dict, list of str or sparse matrix; or a stream
            The rows, with the columns of the fit: by name if they have names, else by place. A stream of record
            batches (see `fit`) is scored batch by batch.

        Returns
        -------
        ndarray of shape (rows, classes)
            log p(x | class) in nats. For models that only know classes given rows it is the log-posterior less the
            log-prior of the training data.
        """
        if _stream.is_stream(X):
            return _stream.evidence(self, X)
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

    def decide(self, X, prior=None, costs=None, reject=None, none_of_these=None):
        """The action of least expected cost for each row.

        Parameters
        ----------
        X
            The rows, as in `evidence`.
        prior : {"empirical", "uniform"}, array-like, dict or Series, optional
            The prior of this prediction; by default that of the constructor.
        costs : dict, array-like or str, optional
            A dictionary from (true, decided) to the cost of taking a row of the first class for one of the second;
            pairs that are not named cost 1, and right decisions 0. Or a matrix with a row for each true class and a
            column for each decision, both in the order of `classes_`; a data frame has their names, and its columns need
            not be classes. Or a text such as "ill>well=50". By default every mistake costs 1.
        reject : float, optional
            The cost of not deciding, which gives "reject".
        none_of_these : float, optional
            Rows whose `how_usual` is below this share are "none of these"; for models that describe rows.

        Returns
        -------
        ndarray of shape (rows,)
            Labels, "reject", "none of these", or None where no class is possible.

        Examples
        --------
        >>> from deciban import Classifier
        >>> model = Classifier("gaussian").fit([[1.0], [2.0], [4.0], [6.0]], ["ill", "ill", "well", "well"])
        >>> model.decide([[3.2]]).tolist(), model.decide([[3.2]], costs={("ill", "well"): 50}).tolist()
        (['well'], ['ill'])
        >>> model.decide([[1.0], [2.9]], reject=0.1).tolist()
        ['ill', 'reject']
        """
        prior, matrix, actions = self._terms(prior, costs, reject)
        chosen, _ = _core.decide(self.evidence(X), prior, matrix)
        known = set(self._labels)
        names = [self._labels[action] if action in known else action for action in actions]
        names = np.array(names, dtype=self.classes_.dtype if known.issuperset(actions) else object)
        decided = names[np.maximum(chosen, 0).astype(int)]
        if none_of_these is None:
            return _undefined_as_none(decided, chosen < 0)
        self._terms(none_of_these=none_of_these)  # Refuses what is not a share.
        unusual = self._ranks(X, prior) < none_of_these
        decided = _undefined_as_none(decided, (chosen < 0) & ~unusual).astype(object)
        decided[unusual] = "none of these"
        return decided

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
        """log p(x) of each row by the model that describes rows: a generative model, before any calibration."""
        self._say_companion()
        return _core.density(self._fitted(), self._known(X), self._prior(prior), n_jobs=self.n_jobs)

    def how_usual(self, X, prior=None):
        """How usual each row is for a generative model: the share of the model's own rows that are no more usual.

        It is the rank of log p(x) among rows drawn from the model under the prior, to about half a per cent. A row
        with missing cells is compared with rows that lack the same cells.

        Parameters
        ----------
        X
            The rows, as in `evidence`.
        prior : {"empirical", "uniform"}, array-like, dict or Series, optional
            The prior; by default that of the constructor.

        Returns
        -------
        ndarray of shape (rows,)
            Shares from 0 (like nothing that the model knows) to 1.

        Examples
        --------
        >>> from deciban import Classifier
        >>> model = Classifier("gaussian").fit([[1.0], [2.0], [4.0], [6.0]], [0, 0, 1, 1])
        >>> model.how_usual([[1.5], [30.0]]).round(1).tolist()
        [1.0, 0.0]
        """
        return self._ranks(X, self._prior(prior))

    def conformal_p_values(self, X, by="evidence"):
        """For each class, how usual each row would be among rows of that class: conformal p-values.

        The scores of known rows come from the cross-validation of `calibrate`, by models that have not seen them. If a
        row is of a class and comes about as those rows did, its p-value for that class is at most a with a probability
        of about a. So the classes with p-values above a hold the true one with a probability of about 1 - a, class by
        class.

        Parameters
        ----------
        X
            The rows, as in `evidence`.
        by : {"evidence", "density"}, default "evidence"
            What makes a row usual for a class: the evidence for it against the others, which makes sets of classes
            small; or, for generative models, log p(x | class), by which rows unlike all that was seen are unusual for
            every class.

        Returns
        -------
        ndarray of shape (rows, classes)
            P-values, from 0 to 1.

        Examples
        --------
        >>> import numpy as np
        >>> from deciban import Classifier
        >>> x = np.random.default_rng(0).normal(size=(400, 1)) + np.repeat([[0.0], [3.0]], 200, axis=0)
        >>> model = Classifier("gaussian", calibrate="logistic").fit(x, np.repeat(["a", "b"], 200))
        >>> (model.conformal_p_values([[0.0], [50.0]], by="density") > 0.05).tolist()
        [[True, False], [False, False]]
        """
        return _core.conformal_p_values(self._fitted(), self._known(X), by, self.n_jobs)

    def adapt_prior(self, X, labelled=None, confidence=0.95):
        """How common the classes are among rows without labels: a prior for them.

        The shares of greatest likelihood are right if the evidence is. Labelled rows that the model was not fitted on,
        given here or kept by `calibrate`, correct them and widen the intervals by what so few rows leave open.

        Parameters
        ----------
        X
            The rows, as in `evidence`.
        labelled : tuple of rows and labels, optional
            Rows that the model was not fitted on, and their labels.
        confidence : float, default 0.95
            The probability that an interval should hold.

        Returns
        -------
        AdaptedPrior
            A dictionary from labels to probabilities, which may be given as `prior`. It has the estimated `shares` and
            their `intervals`; `print` shows a table.

        Examples
        --------
        >>> import numpy as np
        >>> from deciban import Classifier
        >>> draw = np.random.default_rng(0).normal
        >>> x = np.concatenate([draw(0, 1, 500), draw(3, 1, 500)])[:, None]
        >>> model = Classifier("gaussian", calibrate="logistic", folds=20).fit(x, np.repeat(["ham", "spam"], 500))
        >>> stream = np.concatenate([draw(0, 1, 900), draw(3, 1, 100)])[:, None]
        >>> prior = model.adapt_prior(stream)
        >>> low, high = prior.intervals["spam"]
        >>> low < 0.1 < high
        True
        >>> model.predict(stream, prior=prior).shape
        (1000,)
        """
        model, rows, known = self._fitted(), self._known(X), None
        if labelled is not None:
            frame = _frame.frame(labelled[0])
            known = self._core_table(frame, _labels.codes_among(labelled[1], self.classes_, frame.rows))
        told, text, remarks = _core.adapt_prior(model, rows, known, confidence, self.n_jobs)
        for is_warning, message in remarks:
            if is_warning:
                warnings.warn(message, RemarkWarning, stacklevel=2)
        return AdaptedPrior(json.loads(told), self._labels, text.rstrip())

    def explain(self, X, prior=None, between=None, order="average"):
        """What each feature of each row says, as ledgers in decibans that add up.

        Parameters
        ----------
        X
            The rows, as in `evidence`.
        prior : {"empirical", "uniform"}, array-like, dict or Series, optional
            The prior; by default that of the constructor.
        between : label or pair of labels, optional
            The first class over the second, or one class over all others. By default the most probable class of each
            row over the next.
        order : {"average", "file"}, default "average"
            How columns that are modelled jointly share what they say: averaged over all orders, or each given those
            before it in the table.

        Returns
        -------
        list of Ledger
            One for each row. `print` shows it as a table with bars, a notebook as HTML; `to_frame` gives a data frame.

        Examples
        --------
        >>> from deciban import Classifier
        >>> model = Classifier("naive-bayes").fit({"fur": ["red", "red", "black", "red"]}, list("ccdd"))
        >>> ledger = model.explain({"fur": ["black"]}, between=("d", "c"))[0]
        >>> print(ledger)
        row 0: d over c, posterior 0.6667 and 0.3333
          prior odds         +0.00  │
          fur         black  +3.01  │████████████████████████
          total              +3.01  │████████████████████████
        """
        classes = None
        if between is not None:
            pair = list(between) if isinstance(between, (tuple, list, np.ndarray)) else [between]
            classes = [_labels.level_name(label) for label in pair]
        model, table = self._fitted(), self._known(X)
        with _progress.watch(self.progress, "explaining") as report:
            rows = _core.explain(model, table, self._application(prior), classes, order, self.n_jobs, report)
        label = lambda name: None if name is None else self._labels.get(name, name)  # noqa: E731
        return [
            Ledger(row, label(of), label(over), posterior, prior, [Line(*told) for told in features], missing, total, text.rstrip())
            for row, of, over, posterior, prior, features, missing, total, text in rows
        ]

    def impute(self, X, y=None, how="mean", seed=0, prior=None):
        """Fills missing cells by a generative model.

        A cell is filled given the other cells of its row, and given the class of the row where that is known;
        otherwise the classes count by their posterior probability.

        Parameters
        ----------
        X
            The rows, as in `evidence`.
        y : array-like, optional
            The class of each row, None or NaN where it is not known.
        how : {"mean", "draw"}, default "mean"
            Numbers by their mean and categories by their most probable level, or both by a draw, which keeps the
            spread of the columns.
        seed : int, default 0
            The seed of draws.
        prior : {"empirical", "uniform"}, array-like, dict or Series, optional
            The prior of rows without a class; by default that of the constructor.

        Returns
        -------
        A table of the same kind as X, with the same columns and rows. Cells that were there stay as they are.

        Examples
        --------
        >>> from deciban import Classifier
        >>> x = [[0.0, 0.1], [1.0, 1.9], [2.0, 4.0], [10.0, 20.1], [11.0, 21.9], [12.0, 24.0]]
        >>> model = Classifier("gaussian").fit(x, list("aaabbb"))
        >>> [[round(cell, 3) for cell in row] for row in model.impute([[1.5, None], [11.5, None]])]
        [[1.5, 2.975], [11.5, 22.975]]
        """
        if how not in ("mean", "draw"):
            raise ValueError(f'how: give "mean" or "draw", not {how!r}')
        model, frame = self._fitted(), _frame.frame(X)
        if frame.sparse is not None:
            raise ValueError("a sparse matrix has no missing cells to fill")
        codes = None if y is None else _labels.codes_if_any(y, self.classes_, frame.rows)
        table = self._core_table(frame, codes)
        self._say_companion(cells=True)
        columns = _core.impute(model, table, self._application(prior), seed if how == "draw" else None, self.n_jobs)
        names = [name for name, _ in model.columns]
        places = {name: j for j, name in enumerate(frame.names)} if frame.has_names else None
        seen = getattr(self, "_seen", None)
        place = lambda c: places[names[c]] if places else (seen[1][c] if seen else c)  # noqa: E731
        return _fill.filled(X, frame, {place(c): (rows, numbers or levels) for c, rows, numbers, levels in columns})

    def next_measurement(self, X, prior=None, costs=None, reject=None, measure_costs=None, seed=0):
        """What to measure next in rows with missing cells.

        Each missing cell is worth what measuring it is expected to lower the Bayes risk by: the expected cost of the
        best decision, under the prior and the costs. Levels are summed over; numbers are drawn from their conditional
        density.

        Parameters
        ----------
        X
            The rows, as in `evidence`.
        prior, costs, reject
            As in `decide`.
        measure_costs : dict, optional
            What measuring columns costs, by name; 1 for columns that are not named.
        seed : int, default 0
            The seed of draws.

        Returns
        -------
        list of NextMeasurement
            One for each row, with its missing columns ranked by the reduction of the risk per unit of cost.

        Examples
        --------
        >>> from deciban import Classifier
        >>> rows = {"fever": ["yes", "yes", "no", "no"], "hat": ["yes", "no", "yes", "no"]}
        >>> model = Classifier("naive-bayes").fit(rows, ["flu", "flu", "well", "well"])
        >>> first = model.next_measurement({"fever": [None], "hat": [None]})[0]
        >>> [(worth.column, round(worth.reduction, 3)) for worth in first.measurements]
        [('fever', 0.25), ('hat', 0.0)]
        """
        model, table = self._fitted(), self._known(X)
        given = [(str(name), float(cost)) for name, cost in (measure_costs or {}).items()]
        self._say_companion(cells=True)
        rows = _core.next_measurement(model, table, self._application(prior, costs, reject), given, seed, self.n_jobs)
        found = []
        for told, text in rows:
            row = json.loads(told)
            worth = [Worth(**of) for of in row["measurements"]]
            decision = self._labels.get(row["decision"], row["decision"])
            found.append(NextMeasurement(row["row"], decision, row["risk"], worth, text.rstrip()))
        return found

    def describe(self):
        """The model written out, as ``deciban inspect`` prints it.

        Returns
        -------
        Description
            A text.

        Examples
        --------
        >>> from deciban import Classifier
        >>> model = Classifier("gaussian").fit({"x": [1.0, 2.0, 4.0, 6.0]}, list("aabb"))
        >>> print(model.describe().splitlines()[0])
        gaussian, covariance full, estimator ml
        """
        return Description(_core.description(self._fitted())[1])

    def evaluate(
        self,
        X,
        y,
        sample_weight=None,
        prior=None,
        costs=None,
        reject=None,
        positive=None,
        intervals=False,
        resamples=1000,
        confidence=0.95,
        seed=0,
        none_of_these=None,
    ):
        """How good the model is on rows whose class is known: all figures that ``deciban evaluate`` prints.

        Parameters
        ----------
        X, y, sample_weight
            Labelled rows that the model has not learned from, or a stream of them, as in `fit`; a warning says so if it
            has learned from some. Labels that the model does not know are refused. Of a
            stream of more rows than 2 GiB have room for, figures that need all rows at once are left out.
        prior, costs, reject
            As in `decide`.
        positive : label, optional
            Of two classes, the one of interest; the second by default.
        intervals : bool, default False
            Adds bootstrap intervals to all figures.
        resamples : int, default 1000
            The number of resamples of the bootstrap.
        confidence : float, default 0.95
            The probability that an interval should hold.
        seed : int, default 0
            The seed of the resamples.
        none_of_these : float, optional
            As in `decide`.

        Returns
        -------
        Evaluation
            Figures by name, as in ``evaluation["cllr"]``; `print` shows them as tables.

        Examples
        --------
        >>> from deciban import Classifier
        >>> model = Classifier("gaussian").fit([[1.0], [2.0], [4.0], [6.0]], ["ill", "ill", "well", "well"])
        >>> evaluation = model.evaluate([[1.5], [2.5], [4.5]], ["ill", "well", "well"])
        >>> evaluation.details["confusion"], round(evaluation["error_rate"], 3)
        ([[1.0, 0.0], [1.0, 1.0]], 0.333)
        """
        model = self._fitted()
        which = None if positive is None else _labels.level_name(positive)
        application = self._application(prior, costs, reject, none_of_these)
        if isinstance(y, str):
            bootstrap = (int(resamples), confidence, seed) if intervals else None
            found, remarks = _stream.evaluate(self, X, y, sample_weight, application, which, bootstrap)
            _warn(remarks)
            return found
        core = self._labelled(X, y, sample_weight)
        (figures, details, text), remarks = _core.evaluate(
            model, core, application, which, int(resamples) if intervals else None, confidence, seed, self.n_jobs
        )
        _warn(remarks)
        values = {name: value for name, value, _ in figures}
        ends = {name: interval for name, _, interval in figures if interval is not None}
        return Evaluation(values, ends, json.loads(details), text.rstrip())

    def report(self, X, y, path=None, sample_weight=None, prior=None, costs=None, reject=None, title=None):
        """One page with all figures of rows whose class is known, as ``deciban evaluate --report`` draws it.

        Parameters
        ----------
        X, y, sample_weight
            Labelled rows that the model has not learned from. Labels that the model does not know are refused.
        path : str or path-like, optional
            Writes the page to this file, too. It needs no other file, no script and no network.
        prior, costs, reject
            As in `decide`.
        title : str, optional
            The title of the page; by default how the model is made, and the number of rows.

        Returns
        -------
        Report
            The page: a text of HTML, which notebooks show.

        Examples
        --------
        >>> from deciban import Classifier
        >>> model = Classifier("gaussian").fit({"x": [1.0, 2.0, 4.0, 6.0]}, list("aabb"))
        >>> page = model.report({"x": [1.5, 2.5, 4.5]}, list("abb"), title="Three rows")
        >>> "<h1>Three rows</h1>" in page, page.count("<figure>")
        (True, 7)
        """
        model, core = self._fitted(), self._labelled(X, y, sample_weight)
        title = f"{self._call()} on {core.rows} rows" if title is None else str(title)
        page = Report(_core.report(model, core, self._application(prior, costs, reject), title, self.n_jobs))
        if path is not None:
            page.save(path)
        return page

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
        self._say_companion()
        rows = self._fitted().sample(int(n), int(seed), None if prior is None else self._prior(prior))
        names = [name for name, _ in self._model.columns]
        cells = {name: np.array([row[j] for _, row in rows]) for j, name in enumerate(names)}
        return cells, self.classes_[np.array([c for c, _ in rows], dtype=int)]

    # Keeping

    def save(self, path, keep_statistics=False):
        """Writes a model file, as the command line has them.

        A model file holds no code: it can be handed on. (A pickle of a classifier runs code when it is loaded, as every
        pickle does.)

        Parameters
        ----------
        path : str or path-like
            Where. The file also keeps what counts as missing and how texts become words.
        keep_statistics : bool, default False
            Also keeps the statistics of the rows, so that the model can be updated and can forget after `load`.
        """
        self._fitted().save(path, keep_statistics)

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
        return cls("auto")._loaded(_core.Model.load(path))

    # For scikit-learn

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_model")

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        levels = self.model not in ("gaussian", "parzen", "least-squares", "bernoulli", "multinomial")
        cells = InputTags(
            sparse=self.model in SPARSE,
            string=levels,
            categorical=levels,
            # At `fit`: predictions take missing cells from every model.
            allow_nan=self.model not in ("multinomial", "least-squares"),
            positive_only=self.model in ("bernoulli", "multinomial", "noisy-or"),
        )
        # Flags and counts are all that these models look at: numbers tell them little.
        is_poor = self.model in ("bernoulli", "multinomial", "noisy-or")
        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(multi_class=self.model not in BINARY, poor_score=is_poor),
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
        short, _, rows = _core.description(self._model)
        count = lambda n, what, many: f"{n:g} {what if n == 1 else many}"  # noqa: E731
        columns = count(_columns.width_of(self._model), "column", "columns")
        classes = count(len(self.classes_), "class", "classes")
        return f"{' '.join(short.split())}: {count(rows, 'row', 'rows')}, {columns}, {classes}"

    def _html(self):
        return self.describe()._repr_html_() if hasattr(self, "_model") else ""

    def _table(self, X, y, sample_weight, model, fewest=2):
        """Labelled rows of at least `fewest` classes; `model` has learned from others before."""
        params = self.get_params()
        frame, kinds = _frame.frame(X), _options.kinds(params)
        _frame.check_size(frame)
        if frame.sparse is not None and self.model not in SPARSE:
            raise ValueError(f"model={self.model!r} does not take a sparse matrix: give X.toarray(), or model= one of {SPARSE}")
        codes, labels = _labels.labels(y, frame.rows)
        if not self.unlabelled_weight:
            _labels.check_all(codes)
        if model is None and len(labels) < fewest:
            raise ValueError(f"y has one class, {next(iter(labels.values()))!r}: a classifier needs at least two" if labels else "y has no label")
        if self.model in BINARY and len(labels) > 2:
            raise ValueError(f"Only binary classification is supported. model={self.model!r} is for two classes, and y has {len(labels)}")
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

    def _labelled(self, X, y, sample_weight):
        """Rows to judge the model by, all of whose labels it knows."""
        frame = _frame.frame(X)
        codes = _labels.codes_among(y, self.classes_, frame.rows)
        return self._core_table(frame, codes, _labels.weights(sample_weight, frame.rows))

    def _known(self, X):
        """Rows to score."""
        self._fitted()
        return self._core_table(_frame.frame(X))

    def _core_table(self, frame, codes=None, weights=None):
        """The columns that the model takes."""
        core = _core.Table(frame.rows, codes, weights)
        core.read_with(**_options.reading(self.get_params()))
        _columns.score(core, frame, self._model, _options.numbers(self._model.missing), getattr(self, "_seen", None))
        return core

    def _learned(self, model, labels, keep_prior=False):
        classes = np.array([labels[name] for name in model.classes])
        self._model, self._labels, self.classes_ = model, dict(labels), classes
        self.compared_ = model.compared
        self.remarks_ = [message for _, message in model.remarks]
        self.__dict__.pop("receipt_", None)
        if model.receipt is not None:
            self.receipt_ = json.loads(model.receipt)
        if not keep_prior and not (isinstance(self.prior, str) and self.prior == "empirical"):
            self._model = model.with_prior(self._prior(self.prior))
        return self

    def _loaded(self, model, known=None, keep_prior=True):
        """Takes a model that has not learned from a table here; `known` are labels by name."""
        self.n_features_in_ = _columns.width_of(model)
        self.__dict__.pop("feature_names_in_", None)
        if not _columns.has_counts(model):
            self.feature_names_in_ = np.array([name for name, _ in model.columns], dtype=object)
        return self._learned(model, _labels.of_names(model.classes, known), keep_prior)

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

    def _with_rows(self, table, labels, forget=False, rows=None):
        """Rows are learned, or forgotten; `rows` are the other rows of the model."""
        others = None
        if rows is not None:
            if not isinstance(rows, (tuple, list)) or len(rows) not in (2, 3):
                raise TypeError("rows: give the other rows of the model as (X, y), or (X, y, sample_weight)")
            X, y, sample_weight = (*rows, None)[:3]
            other, names, _ = self._table(X, y, sample_weight, self._model)
            others = (other, list(names))
        with _progress.watch(self.progress, "forgetting" if forget else "learning") as report:
            model = self._model.with_rows(table, list(labels), forget, others, self.n_jobs, report)
        return self._learned(model, {**self._labels, **labels})

    def _application(self, prior=None, costs=None, reject=None, none_of_these=None):
        return _application.application(self.classes_.tolist(), prior, costs, reject, none_of_these)

    def _terms(self, prior=None, costs=None, reject=None, none_of_these=None):
        """The prior, the costs (classes × actions) and the names of the actions."""
        return _core.resolve(self._fitted(), self._application(prior, costs, reject, none_of_these))

    def _say_companion(self, cells=False):
        """Warns that it is the companion of the model that describes rows, if it is."""
        note = self._fitted().companion_note(cells)
        if note:
            warnings.warn(note, RemarkWarning, stacklevel=3)

    def _ranks(self, X, prior):
        self._say_companion()
        return _core.density(self._fitted(), self._known(X), prior, True, self.n_jobs)

    def _prior(self, prior):
        return self._fitted().default_prior if prior is None else self._terms(prior)[0]


class RemarkWarning(UserWarning):
    """What a person should know about the columns or the fit: something is likely to mislead."""


def _warn(remarks):
    """Gives the remarks that are warnings as Python's, to whoever has called a method of `Classifier`."""
    for is_warning, message in remarks:
        if is_warning:
            warnings.warn(message, RemarkWarning, stacklevel=3)


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
