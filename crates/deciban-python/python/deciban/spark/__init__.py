"""deciban on Spark: passes go to the executors, and only statistics come back.

`Classifier` is an estimator of Spark ML, and `ClassifierModel` the fitted transformer; both work in a ``Pipeline``. They
need the wheel of deciban and PyArrow on the executors, and no JVM beside Spark's own: `fit` and `transform` work under
Spark Connect, too. ``python -m deciban.spark`` is a program for ``spark-submit``.

Examples
--------
::

    from deciban.spark import Classifier

    model = Classifier("gaussian", labelCol="species", covariance="tied").fit(flowers)
    model.transform(flowers).select("species", "prediction", "probability").show()
    model.classifier.save("flowers.deciban")  # the same file that `deciban serve` takes
"""

from ._estimator import Classifier, ClassifierModel

__all__ = ["Classifier", "ClassifierModel"]
