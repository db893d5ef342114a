"""Few labelled rows, and thousands without a label: the error on test rows, with and without the latter.

    python benches/unlabelled.py DATA [SEEDS [NAME...]]

DATA is a folder with pendigits/pendigits.tra, pendigits.tes and sms-spam/SMSSpamCollection. As many labelled rows of each
class are drawn at random; all other rows to learn from have no label. Test rows are never learned from: pendigits
has a file of its own, and of the messages 1574 are drawn. The prior of the test is that of the data. Figures are means
over the seeds; NAME is pendigits or sms-spam, and both by default. The figure of the docs is

    python benches/unlabelled.py DATA | cargo run --release -p deciban-plot --example unlabelled_curve
"""

import pathlib
import sys
import warnings

import numpy as np

from deciban import Classifier

warnings.simplefilter("ignore")

TEST_MESSAGES = 1574


def pendigits(folder, random):
    train, test = (np.loadtxt(folder / "pendigits" / f"pendigits.{part}", delimiter=",") for part in ("tra", "tes"))
    labels = [np.array([str(int(digit)) for digit in part[:, -1]], dtype=object) for part in (train, test)]
    return train[:, :-1], labels[0], test[:, :-1], labels[1]


def messages(folder, random):
    lines = (folder / "sms-spam" / "SMSSpamCollection").read_text(encoding="utf-8").splitlines()
    cells = np.array([line.split("\t", 1) for line in lines], dtype=object)[random.permutation(len(lines))]
    test, train = cells[:TEST_MESSAGES], cells[TEST_MESSAGES:]
    return train[:, 1].tolist(), train[:, 0], test[:, 1].tolist(), test[:, 0]


#: Of each data set the model, and the numbers of labelled rows.
CASES = {
    "pendigits": (pendigits, ("gaussian", dict(standardise=True, shrinkage=0.05)), 30, (20, 40, 160, 640)),
    "sms-spam": (messages, ("multinomial", {}), 300, (16, 32, 64, 256, 1024)),
}


def error(model, X, y, test, truth):
    names, counts = np.unique(truth.astype(str), return_counts=True)
    model.fit(X, y)
    decided = model.predict(test, prior=dict(zip(names.tolist(), (counts / counts.sum()).tolist())))
    return 100 * np.mean(decided.astype(str) != truth.astype(str))


def main():
    folder, seeds = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5
    print("data       labelled  labels only, %  with the others, %")
    chosen = sys.argv[3:] or list(CASES)
    for name in chosen:
        load, (kind, options), steps, sizes = CASES[name]
        for size in sizes:
            errors = []
            for seed in range(seeds):
                random = np.random.default_rng(seed)
                X, y, test, truth = load(folder, random)
                classes = sorted(set(y))
                of_class = [random.permutation(np.flatnonzero(y == c))[: size // len(classes)] for c in classes]
                few = np.concatenate(of_class)
                some = np.full(len(y), None, dtype=object)
                some[few] = y[few]
                chosen = X[few] if isinstance(X, np.ndarray) else [X[i] for i in few]
                errors.append((
                    error(Classifier(kind, **options), chosen, y[few], test, truth),
                    error(Classifier(kind, unlabelled_weight=1, iterations=steps, **options), X, some, test, truth),
                ))
            alone, others = np.mean(errors, axis=0)
            print(f"{name:10} {len(few):8} {alone:15.2f} {others:19.2f}", flush=True)


if __name__ == "__main__":
    main()
