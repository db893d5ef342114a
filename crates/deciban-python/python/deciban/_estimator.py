"""What scikit-learn expects of an estimator, without scikit-learn: parameters, tags, a text form, errors and warnings
of its own types where it is loaded.
"""

from __future__ import annotations

import html
import inspect
import sys
import warnings


class NotFittedError(ValueError, AttributeError):
    """The classifier has not learned yet: call `fit`.

    Where scikit-learn is loaded, the error that is raised is also scikit-learn's ``NotFittedError``.
    """


def loaded(name: str, own: type) -> type:
    """A class of ``sklearn.exceptions``, if scikit-learn is loaded: nobody else can be waiting for it."""
    return getattr(sys.modules.get("sklearn.exceptions"), name, own)


def not_fitted(message: str) -> NotFittedError:
    """The error for both who know this package and who know scikit-learn."""
    theirs = loaded("NotFittedError", NotFittedError)
    both = NotFittedError if theirs is NotFittedError else type("NotFittedError", (NotFittedError, theirs), {})
    return both(message)


def warn_of_conversion(message: str) -> None:
    """Says that data had to be changed to be understood."""
    warnings.warn(message, loaded("DataConversionWarning", UserWarning), stacklevel=4)


class available_if:
    """A method that objects have only if `check` does not raise an AttributeError for them, as in scikit-learn."""

    def __init__(self, check):
        self.check = check

    def __call__(self, method):
        self.method = method
        self.__doc__ = method.__doc__
        return self

    def __get__(self, instance, owner=None):
        if instance is None:
            return self.method
        self.check(instance)
        return self.method.__get__(instance, owner)


class Estimator:
    """Parameters are the arguments of the constructor, and kept under their names."""

    @classmethod
    def _parameters(cls) -> dict[str, inspect.Parameter]:
        return {name: p for name, p in inspect.signature(cls.__init__).parameters.items() if name != "self"}

    def get_params(self, deep=True):
        """The parameters of the constructor.

        Parameters
        ----------
        deep : bool, default True
            Accepted as scikit-learn's estimators accept it; no parameter is an estimator itself.

        Returns
        -------
        dict
            Values by name.
        """
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params):
        """Sets parameters of the constructor; they count from the next `fit` on.

        Parameters
        ----------
        **params : dict
            Values by name. Names that the constructor does not have are refused.

        Returns
        -------
        Classifier
            This object.
        """
        valid = self._parameters()
        for name, value in params.items():
            if name not in valid:
                raise ValueError(f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {sorted(valid)}.")
            setattr(self, name, value)
        return self

    def _changed(self) -> list[str]:
        """The arguments that differ from their defaults, as they are written in a call."""
        told = []
        for name, parameter in self._parameters().items():
            value = getattr(self, name)
            if repr(value) == repr(parameter.default):
                continue
            named = parameter.kind is inspect.Parameter.KEYWORD_ONLY
            told.append(f"{name}={value!r}" if named else repr(value))
        return told

    def _call(self) -> str:
        """How it is made."""
        return f"{type(self).__name__}({', '.join(self._changed())})"

    def __repr__(self):
        fitted = self._summary()
        return self._call() + (f" [{fitted}]" if fitted else "")

    def _repr_html_(self):
        heading = f"<b>{type(self).__name__}</b>({html.escape(', '.join(self._changed()))})"
        return f"<div>{heading}{self._html() or '<br>not fitted'}</div>"

    def _summary(self) -> str:
        """What was fitted, in a few words; nothing if there is no fit."""
        return ""

    def _html(self) -> str:
        """What was fitted, as HTML; nothing if there is no fit."""
        return ""
