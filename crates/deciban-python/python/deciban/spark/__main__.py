"""The program for ``spark-submit``: ``python -m deciban.spark fit|predict|evaluate``."""

from __future__ import annotations

import argparse
import ast
import sys


def parser() -> argparse.ArgumentParser:
    """The arguments."""
    program = argparse.ArgumentParser(
        prog="python -m deciban.spark",
        description="Fit, apply and evaluate models of deciban on Spark.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""Examples:
  python -m deciban.spark fit flowers.parquet --target species --model gaussian -o flowers.deciban
  python -m deciban.spark fit flowers.parquet --target species --option covariance=tied -o flowers.deciban
  python -m deciban.spark predict flowers.deciban new.parquet -o predicted.parquet
  python -m deciban.spark evaluate flowers.deciban labelled.parquet --target species
  spark-submit --master yarn --archives deciban.tar.gz#env $(python -c 'import deciban.spark.__main__ as m; print(m.__file__)') fit ...""",
    )
    commands = program.add_subparsers(dest="command", required=True)
    fit = commands.add_parser("fit", help="learn a model from labelled rows")
    fit.add_argument("data", nargs="+", help="paths that Spark reads")
    fit.add_argument("--model", default="auto", help="the kind of model, as in `deciban fit`")
    fit.add_argument("--target", required=True, help="the column of the classes")
    fit.add_argument("--weight", help="a column of row weights")
    fit.add_argument("--source", default="auto", choices=("auto", "frame", "files"), help="who reads the files")
    fit.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="an option of deciban.Classifier")
    fit.add_argument("-o", "--output", required=True, help="write the model to this file")
    predict = commands.add_parser("predict", help="add predictions to rows")
    predict.add_argument("model", help="a model file")
    predict.add_argument("data", nargs="+", help="paths that Spark reads")
    predict.add_argument("--evidence", action="store_true", help="add a column `evidence`, too")
    predict.add_argument("-o", "--output", required=True, help="write the rows to this folder, as Parquet")
    evaluate = commands.add_parser("evaluate", help="how good a model is on labelled rows")
    evaluate.add_argument("model", help="a model file")
    evaluate.add_argument("data", nargs="+", help="paths that Spark reads")
    evaluate.add_argument("--target", required=True, help="the column of the classes")
    for command in (fit, predict, evaluate):
        command.add_argument("--format", default="parquet", choices=("parquet", "csv", "json", "orc"), help="of the data")
    return program


def value_of(text: str):
    """A number, a flag or a list as Python writes them, or else a text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def main(arguments=None) -> int:
    """Runs the program."""
    given = parser().parse_args(arguments)
    from pyspark.sql import SparkSession

    from .. import Classifier as Fitted
    from . import Classifier, ClassifierModel

    session = SparkSession.builder.getOrCreate()
    reader = session.read.format(given.format)
    if given.format == "csv":
        reader = reader.option("header", True).option("inferSchema", True)
    frame = reader.load(given.data)
    try:
        if given.command == "fit":
            options = dict(option.split("=", 1) for option in given.option)
            options = {name.replace("-", "_"): value_of(value) for name, value in options.items()}
            learner = Classifier(given.model, labelCol=given.target, weightCol=given.weight, source=given.source, **options)
            model = learner.fit(frame)
            model.classifier.save(given.output)
            print(model.classifier)
        elif given.command == "predict":
            model = ClassifierModel(Fitted.load(given.model))
            model._put({"evidenceCol": "evidence" if given.evidence else None})
            model.transform(frame).write.parquet(given.output)
        else:
            model = ClassifierModel(Fitted.load(given.model))
            model._put({"labelCol": given.target})
            print(model.evaluate(frame))
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
