"""The logistic model of examples/scorer on the rows of a CSV file, with numpy: score.py DATA

The last column of DATA is the class, 0 or 1. With p the probability that the model gives to it, the loss is (1 - p)^2.
"""
import sys

import numpy as np

from spade_edge import scorer

rows = np.loadtxt(sys.argv[1], delimiter=",", skiprows=1)
signed = np.where(rows[:, -1:] == 1, -rows[:, :-1], rows[:, :-1]).astype("f4")


@scorer(dim=signed.shape[1], samples=len(signed), batch=True, data=signed)
def loss(points, samples):
    wrong = 1 / (1 + np.exp(-np.einsum("ij,ij->i", signed[samples], points, dtype="f8")))
    return wrong * wrong


loss.serve()
