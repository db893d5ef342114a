"""Mean and deviation of the numbers in a file."""

import math
import sys


def read(path):
    with open(path) as file:
        return [float(line) for line in file if line.strip()]


def mean(values):
    return sum(values) / len(values)


def deviation(values):
    m = mean(values)
    return math.sqrt(sum((x - m) ** 2 for x in values) / (len(values) - 1))


if __name__ == "__main__":
    for path in sys.argv[1:]:
        values = read(path)
        print(f"{path}: {mean(values):.3f} +- {deviation(values):.3f}")
