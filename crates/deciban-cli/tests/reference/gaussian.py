"""Training errors, log loss and Brier score of Gaussian classifiers, by the textbook formulas.

Plain Python without libraries, so that it shares no code with the program it checks:

    python3 gaussian.py TABLE.csv TARGET > gaussian.txt     (TARGET c4 for a table without header)

One line per structure: name, errors, log loss in nats, Brier score. Unbiased covariances, prior of
the training data. Python 3.11; sums are exact (math.fsum).
"""

import csv
import math
import sys


def determinant_and_solve(matrix, vectors):
    """ln|A| and A⁻¹v for each v, by Gaussian elimination with pivots."""
    n = len(matrix)
    rows = [list(row) + [v[i] for v in vectors] for i, row in enumerate(matrix)]
    log_determinant = 0.0
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        log_determinant += math.log(abs(rows[i][i]))
        for r in range(n):
            if r != i:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    return log_determinant, [[rows[i][n + k] / rows[i][i] for i in range(n)] for k in range(len(vectors))]


def structured(scatter, freedom, structure):
    """The covariance from a scatter matrix."""
    d = len(scatter)
    covariance = [[s / freedom for s in row] for row in scatter]
    if "diagonal" in structure:
        return [[covariance[i][j] if i == j else 0.0 for j in range(d)] for i in range(d)]
    if "spherical" in structure:
        mean = math.fsum(covariance[i][i] for i in range(d)) / d
        return [[mean if i == j else 0.0 for j in range(d)] for i in range(d)]
    return covariance


def evaluate(rows, labels, structure):
    classes = sorted(set(labels))
    d = len(rows[0])
    groups = [[x for x, label in zip(rows, labels) if label == c] for c in classes]
    means = [[math.fsum(x[j] for x in g) / len(g) for j in range(d)] for g in groups]
    scatters = [
        [[math.fsum((x[i] - m[i]) * (x[j] - m[j]) for x in g) for j in range(d)] for i in range(d)]
        for g, m in zip(groups, means)
    ]
    if structure.startswith("tied"):
        total = [[math.fsum(s[i][j] for s in scatters) for j in range(d)] for i in range(d)]
        covariances = [structured(total, len(rows) - len(classes), structure)] * len(classes)
    else:
        covariances = [structured(s, len(g) - 1, structure) for s, g in zip(scatters, groups)]
    scores = []
    for g, m, covariance in zip(groups, means, covariances):
        shifted = [[x[j] - m[j] for j in range(d)] for x in rows]
        log_determinant, solved = determinant_and_solve(covariance, shifted)
        scores.append([
            math.log(len(g) / len(rows)) - 0.5 * (d * math.log(2 * math.pi) + log_determinant
                                                   + math.fsum(a * b for a, b in zip(u, v)))
            for u, v in zip(shifted, solved)
        ])
    errors, losses, briers = 0, [], []
    for i, label in enumerate(labels):
        joint = [s[i] for s in scores]
        most = max(joint)
        log_sum = most + math.log(math.fsum(math.exp(j - most) for j in joint))
        posterior = [math.exp(j - log_sum) for j in joint]
        truth = classes.index(label)
        errors += joint.index(most) != truth
        losses.append(log_sum - joint[truth])
        briers.append(math.fsum((p - (k == truth)) ** 2 for k, p in enumerate(posterior)))
    return errors, math.fsum(losses) / len(rows), math.fsum(briers) / len(rows)


def main():
    path, target = sys.argv[1:]
    with open(path, newline="") as file:
        table = [row for row in csv.reader(file) if row]
    if target in table[0]:
        at, table = table[0].index(target), table[1:]
    else:
        at = int(target[1:])
    labels = [row[at] for row in table]
    rows = [[float(x) for j, x in enumerate(row) if j != at] for row in table]
    for structure in ["full", "tied", "diagonal", "tied-diagonal", "spherical", "tied-spherical"]:
        errors, log_loss, brier = evaluate(rows, labels, structure)
        print(f"{structure} {errors} {log_loss!r} {brier!r}")


main()
