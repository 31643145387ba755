"""The scorer of the tests: squares, in whole batches or one by one, with the same bits, or with a row that has no loss."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from spade_edge import scorer  # noqa: E402

how, name = sys.argv[1:]
draw = np.random.default_rng(ord(name))
rows = draw.normal(size=(50, 3))
want = rows @ [1, -1, 0.5]


def loss(x, sample):
    if how == "bad" and sample == 7:
        raise ValueError("row 7 has no label")
    miss = sum(float(a) * float(b) for a, b in zip(rows[sample], x)) - want[sample]
    return miss * miss / (1 + miss * miss)


if how == "many":
    scorer(dim=3, samples=50, batch=True)(lambda x, h: [loss(p, i) for p, i in zip(x, h)]).serve()
else:
    scorer(dim=3, samples=50)(loss).serve()
