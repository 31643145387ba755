#!/usr/bin/env python3
"""Applies a model file of SPADE-Edge to a CSV file, as "spade-edge predict MODEL -data csv:FILE -unknown" does:

  predict.py MODEL FILE     prints the probability of each class, or the number of the target, a line for each row

Python 3 and numpy. The file has commas between cells, decimal points, and all the columns of the model.
"""
import csv
import json
import sys

import numpy as np

with open(sys.argv[1], encoding="utf-8") as file:
    model = json.load(file)
task, gaps = model["task"], model["task"].get("missing", {})


def cells(v, of):
    """The number in a cell, or a zero or one for each of the categories of its column; NaN if it is missing."""
    blank = ["", "na", "n/a", "#n/a", "nan", "null", "?"] + ["none", "-", "."] * (not of)
    if gaps and v.lower() in blank and v not in of:
        return [np.nan] * max(1, len(of))
    if v not in of:  # nor in other letters: none of them
        v = next((c for c in of if c.lower() == v.lower()), v)
    return [float(v == c) for c in of] or [float(v)]


with open(sys.argv[2], encoding="utf-8-sig", newline="") as file:
    parts = [[cells(row[c["name"]].strip(), c.get("categories", [])) for c in task["columns"]]
             for row in csv.DictReader(file, skipinitialspace=True)]

x = np.array([sum(row, []) for row in parts])
if "fill" in gaps:
    marks = [[np.isnan(v[0]) for v, c in zip(row, task["columns"]) if c["name"] in gaps.get("columns", [])] for row in parts]
    x = np.hstack([np.where(np.isnan(x), gaps["fill"], x), np.array(marks, float)])
if s := task.get("standardize"):
    std = np.array(s["std"])
    x = np.where(std > 0, (x - np.array(s["mean"])) / np.where(std > 0, std, 1), 0)
x = x.astype("f4")  # rounded once, when it is standardized
if c := task.get("pca"):
    x = (c["scale"] * ((x - np.array(c["mean"])) @ np.array(c["components"]).T)).astype("f4")
one, w = np.ones((len(x), 1), "f4"), np.array(model["model"], "f4").astype("f8")
if task.get("bias"):
    x = np.hstack([x, one])
if h := task.get("hidden"):
    u, w = x @ w[:h * x.shape[1]].reshape(h, -1).T, w[h * x.shape[1]:]
    x = np.hstack([np.where(u < 0, u / 8, u), one])
z = x @ w.reshape(-1, x.shape[1]).T
if z.shape[1] == 1:
    z = np.hstack([0 * z, z])
p = np.exp(z - z.max(axis=1, keepdims=True))
p /= p.sum(axis=1, keepdims=True)
if t := task.get("target"):
    p = t["low"] + (t["high"] - t["low"]) * p[:, 1:]
np.savetxt(sys.stdout, p, "%.17g", delimiter=",")
