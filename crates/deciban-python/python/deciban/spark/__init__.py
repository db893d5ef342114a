"""deciban on Spark: passes go to the executors, and only statistics come back.

`Classifier` is an estimator of Spark ML, and `ClassifierModel` the fitted transformer; both work in a ``Pipeline``.
`compare` compares models by cross-validation. They need the wheel of deciban and PyArrow on the executors, and no JVM
beside Spark's own, and so work under Spark Connect, too. ``python -m deciban.spark`` is a program for ``spark-submit``.

Examples
--------
::

    from deciban.spark import Classifier

    model = Classifier("gaussian", labelCol="species", covariance="tied").fit(flowers)
    model.transform(flowers).select("species", "prediction", "probability").show()
    model.classifier.save("flowers.deciban")  # the same file that `deciban serve` takes
"""

from importlib import import_module

__all__ = ["Classifier", "ClassifierModel", "compare"]


def __getattr__(name):
    """What the driver uses is imported when it is asked for: executors have no need of Spark ML."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("._compare" if name == "compare" else "._estimator", __name__), name)
