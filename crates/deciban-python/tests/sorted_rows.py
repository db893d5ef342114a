"""Rows whose third class, with a level of its own, stands in one place: what passes over parts of a table are tested on."""

import numpy as np
import pyarrow as pa

RNG = np.random.default_rng(4)
N = 3000
Y = np.sort(RNG.choice(["b", "a", "c"], N, p=[0.5, 0.4, 0.1]))[::-1].copy()
A, B = RNG.normal(size=N) + (Y == "a"), RNG.normal(size=N) * 2 + (Y == "c")
JOB = np.where(Y == "c", "clown", RNG.choice(["cook", "judge"], N))
WORDS = np.array(["free", "prize", "home", "dinner", "night", "win", "sun"])
MAIL = [f"{' '.join(WORDS[RNG.integers(0, 5 if y == 'b' else 7, 6)])} no{i % 90}" for i, y in enumerate(Y)]
TABLE = pa.table({"a": A, "b": B, "job": JOB, "mail": MAIL, "w": RNG.random(N), "y": Y})
