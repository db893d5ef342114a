"""The estimator and the transformer of Spark ML."""

from __future__ import annotations

import json
import os
import tempfile

from pyspark.ml.base import Estimator, Model
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)

from .. import _classifier, _core, _stream
from . import _evaluate, _frames
from ._passes import Cluster


class _Columns(Params):
    """The columns that are read and written."""

    labelCol = Param(Params._dummy(), "labelCol", "the column of the classes", TypeConverters.toString)
    weightCol = Param(Params._dummy(), "weightCol", "a column of row weights", TypeConverters.toString)
    predictionCol = Param(Params._dummy(), "predictionCol", "the most probable class", TypeConverters.toString)
    probabilityCol = Param(
        Params._dummy(), "probabilityCol", "the probability of each class, in the order of `classes`", TypeConverters.toString
    )
    evidenceCol = Param(
        Params._dummy(), "evidenceCol", "log p(x | class) of each class, in nats; none by default", TypeConverters.toString
    )

    def _get(self, name):
        param = self.getParam(name)
        return self.getOrDefault(param) if self.isDefined(param) else None

    def _put(self, given: dict) -> None:
        for name, value in given.items():
            if value is not None:
                self._set(**{name: value})


class Classifier(Estimator, _Columns, DefaultParamsReadable, DefaultParamsWritable):
    """A probabilistic classifier of data frames.

    Every model of `deciban.Classifier` is learned by passes over the frame, each of which brings back statistics, and
    gives the same model as on one machine. (Stochastic gradient descent is refused: it visits rows in their order.)
    Columns of numbers, texts, booleans, dates and ``array<double>`` are read as files are; those of Spark ML vectors,
    too.

    Parameters
    ----------
    model : str, default "auto"
        As in `deciban.Classifier`.
    labelCol : str, default "label"
        The column of the classes. Rows without a class are left out.
    weightCol : str, optional
        A column of row weights.
    predictionCol : str, default "prediction"
        The most probable class: a text, or an integer if all labels are.
    probabilityCol : str, default "probability"
        An array with the probability of each class, in the order of ``ClassifierModel.classes``.
    evidenceCol : str, optional
        An array with log p(x | class) of each class, in nats.
    source : {"auto", "frame", "files"}, default "auto"
        Who reads the rows. "files" has executors read the Parquet or CSV files of the frame with deciban's own reader,
        each a share of row groups or bytes; they must see the paths. "frame" takes any frame. "auto" takes "files" where the frame is nothing but a scan of
        Parquet files in a file system that the driver sees.
    **options
        Options of `deciban.Classifier`, such as ``covariance="tied"`` or ``ignore=["id"]``.

    Examples
    --------
    ::

        Classifier("naive-bayes", labelCol="income", ignore=["id"]).fit(adults).transform(more)
    """

    model = Param(Params._dummy(), "model", "the kind of model", TypeConverters.toString)
    options = Param(Params._dummy(), "options", "options of deciban.Classifier, as JSON", TypeConverters.toString)
    source = Param(Params._dummy(), "source", "who reads the rows: auto, frame or files", TypeConverters.toString)

    def __init__(
        self,
        model="auto",
        *,
        labelCol="label",
        weightCol=None,
        predictionCol="prediction",
        probabilityCol="probability",
        evidenceCol=None,
        source="auto",
        **options,
    ):
        super().__init__()
        self._setDefault(
            model="auto", labelCol="label", predictionCol="prediction", probabilityCol="probability", options="{}", source="auto"
        )
        _classifier.Classifier(model, **options)  # refuses options that there are not
        if source not in ("auto", "frame", "files"):
            raise ValueError(f"source: give 'auto', 'frame' or 'files', not {source!r}")
        columns = {"labelCol": labelCol, "weightCol": weightCol, "predictionCol": predictionCol}
        self._put({**columns, "probabilityCol": probabilityCol, "evidenceCol": evidenceCol})
        self._put({"model": model, "options": json.dumps(options), "source": source})

    def _classifier(self):
        return _classifier.Classifier(self._get("model"), **json.loads(self._get("options")))

    def _fit(self, dataset):
        classifier, label, weight = self._classifier(), self._get("labelCol"), self._get("weightCol")
        _frames.check(dataset, [label, *([weight] if weight else [])])
        cluster = Cluster.of(dataset, label, weight, self._get("source"))
        columns = _stream.columns_of(classifier, label, weight)
        model = _core.fit_remote(
            cluster.ask, cluster.first(), _stream.reading(classifier), columns, _stream.learner(classifier)
        )
        _classifier._warn(model.remarks)
        classifier._seen = None
        fitted = ClassifierModel(classifier._loaded(model, keep_prior=False))
        names = ("labelCol", "weightCol", "predictionCol", "probabilityCol", "evidenceCol")
        fitted._put({name: self._get(name) for name in names})
        fitted.cluster = cluster
        return fitted._resetUid(self.uid) if hasattr(fitted, "_resetUid") else fitted


class ClassifierModel(Model, _Columns, MLReadable, MLWritable):
    """A fitted classifier, which adds columns to data frames.

    Attributes
    ----------
    classifier : deciban.Classifier
        The model: it scores tables, explains, and is saved as a model file for `deciban serve` and the command line.
    classes : list
        The labels, in the order of probabilities and evidence.
    """

    def __init__(self, classifier=None):
        super().__init__()
        self._setDefault(labelCol="label", predictionCol="prediction", probabilityCol="probability")
        self.classifier = classifier
        self.cluster = None

    @property
    def classes(self):
        return self.classifier.classes_.tolist()

    def _transform(self, dataset):
        names = [self._get(name) for name in ("predictionCol", "probabilityCol", "evidenceCol")]
        return _frames.scored(dataset, self.classifier, *names)

    def evaluate(self, dataset, memory=128 << 20, **options):
        """All figures of labelled rows, as `deciban.Classifier.evaluate` has them.

        Executors score their own rows, and send sums back. Figures that need all rows at once, such as AUC and minimum
        Cllr, need their evidence, too: up to `memory` bytes of it. Of more rows, so many are drawn, and a warning says
        so.

        Parameters
        ----------
        dataset : DataFrame
            Labelled rows. Those without a label are left out.
        memory : int, default 128 MiB
            Bytes of evidence that executors send to the driver.
        **options
            Those of `deciban.Classifier.evaluate`, such as ``prior=`` and ``costs=``.

        Returns
        -------
        Evaluation
            Figures by name.
        """
        label, weight = self._get("labelCol"), self._get("weightCol")
        _frames.check(dataset, [label, *([weight] if weight else [])])
        return _evaluate.evaluated(self.classifier, dataset, label, weight, memory, **options)

    def write(self):
        """How `save` writes it: parameters, and the model file in a table of one row."""
        return _ModelWriter(self)

    @classmethod
    def read(cls):
        """How `load` reads it."""
        return _ModelReader(cls)


class _ModelWriter(MLWriter):
    def __init__(self, instance):
        super().__init__()
        self.instance = instance

    def saveImpl(self, path):
        session = self.sparkSession
        DefaultParamsWriter.saveMetadata(self.instance, path, session)
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "model.deciban")
            self.instance.classifier.save(file)
            with open(file, "rb") as opened:
                content = bytearray(opened.read())
        session.createDataFrame([(content,)], "model binary").coalesce(1).write.parquet(os.path.join(path, "model"))


class _ModelReader(MLReader):
    def __init__(self, cls):
        super().__init__()
        self.cls = cls

    def load(self, path):
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        content = self.sparkSession.read.parquet(os.path.join(path, "model")).collect()[0]["model"]
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "model.deciban")
            with open(file, "wb") as opened:
                opened.write(content)
            model = self.cls(_classifier.Classifier.load(file))
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model
