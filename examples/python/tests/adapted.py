"""A scorer of 100 parameters, which the node expands ("node"), or which this program does ("scorer")."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from spade_edge import Adapter, Scorer  # noqa: E402


def loss(x, samples):
    rows = np.sin(np.outer(samples + 1, np.arange(1, 101))).astype("f4")
    squares = [(np.float64(x[i]) @ rows[i] - 1) ** 2 for i in range(len(x))]
    return [float(s / (1 + s)) for s in squares]


how = {"dim": 100} if sys.argv[1] == "node" else {"adapter": Adapter.load(os.path.join("..", "fleet.json"))}
Scorer(loss, samples=20, batch=True, **how).serve()
