"""Statistics of labelled rows: what generative models are fitted from, and what statistics files hold."""

from __future__ import annotations

import html

from . import _core, _labels


class Statistics:
    """What rows leave behind for generative models: counts, means and scatters of each class, never the rows.

    Statistics add up: those of parts, of days or of organisations are merged, and rows are forgotten by taking their
    statistics away. Make them with `Classifier.collect`, read them with `Statistics.load`, and fit models from them
    with `Classifier.fit_statistics`. The files are those of ``deciban stats``, ``merge``, ``forget`` and ``fit``.

    Attributes
    ----------
    classes : list
        The labels.
    columns : list of str
        The names of the columns.
    rows : dict
        The number of rows of each class.

    Examples
    --------
    >>> from deciban import Classifier
    >>> model = Classifier("gaussian")
    >>> some = model.collect({"x": [1.0, 2.0, 4.0, 6.0]}, list("aabb"))
    >>> more = model.collect({"x": [3.0, 5.0, 9.0, 7.0]}, list("aabb"))
    >>> both = some + more
    >>> both
    Statistics: 8 rows, 1 columns
    y  rows
    a     4
    b     4
    >>> model.fit_statistics(both).predict({"x": [3.0, 8.0]}).tolist()
    ['a', 'b']
    >>> (both - more).rows
    {'a': 2, 'b': 2}
    """

    def __init__(self, *, _core_statistics=None, _known=None):
        if _core_statistics is None:
            raise TypeError("make statistics with Classifier.collect(X, y), or read them with Statistics.load(path)")
        self._core = _core_statistics
        self._labels = _labels.of_names(_core_statistics.classes, _known)

    @property
    def classes(self):
        return list(self._labels.values())

    @property
    def columns(self):
        return self._core.columns

    @property
    def rows(self):
        counts = self._core.rows().tolist()
        return {label: int(n) if n == int(n) else n for label, n in zip(self._labels.values(), counts)}

    def merge(self, other):
        """The statistics of the rows behind both, as ``deciban merge`` gives them. ``a + b`` is the same.

        Parameters
        ----------
        other : Statistics
            Statistics of the same columns. Classes and levels may be new.

        Returns
        -------
        Statistics
            New statistics; these stay as they are.
        """
        return self._with(other, "merge")

    def forget(self, other):
        """The statistics without the rows behind others, as ``deciban forget`` gives them. ``a - b`` is the same.

        Where rounding would leave fewer than nine good digits, this is an error.

        Parameters
        ----------
        other : Statistics
            Statistics of rows that are all behind these.

        Returns
        -------
        Statistics
            New statistics; these stay as they are.
        """
        return self._with(other, "remove")

    def __add__(self, other):
        return self.merge(other) if isinstance(other, Statistics) else NotImplemented

    def __sub__(self, other):
        return self.forget(other) if isinstance(other, Statistics) else NotImplemented

    def __radd__(self, other):
        # `sum` begins with 0.
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def save(self, path):
        """Writes a statistics file, as the command line has them.

        Parameters
        ----------
        path : str or path-like
            Where.
        """
        self._core.save(path)

    @classmethod
    def load(cls, path):
        """Reads a statistics file, of this package or of the command line.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        Statistics
            The statistics. Labels are texts, or integers if all are.
        """
        return cls(_core_statistics=_core.Statistics.load(path))

    def _with(self, other, how):
        if not isinstance(other, Statistics):
            raise TypeError(f"statistics are merged with Statistics, not with {type(other).__name__}")
        changed = self._core.__deepcopy__(None)
        getattr(changed, how)(other._core)
        return Statistics(_core_statistics=changed, _known={**other._labels, **self._labels})

    def __repr__(self):
        return self._core.described("Statistics").rstrip()

    def _repr_html_(self):
        return f"<pre>{html.escape(repr(self))}</pre>"
