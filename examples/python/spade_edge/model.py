"""Applies a trained model, as "spade-edge predict" does, in numpy."""
from __future__ import annotations

import csv
import decimal
import io
import json
import os
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MISSING = ["", "na", "n/a", "#n/a", "nan", "null", "?"]
_MISSING_NUMBER = ["none", "-", "."]


def _number(text):
    """The decimal number in a text, or None: 1, 1.0 and +1 are one name, but 007 is a code."""
    if re.fullmatch(r"[+-]?(0|(?!0\d)\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", text):
        return decimal.Decimal(text)
    return None


def load_model(path: str | os.PathLike[str]) -> Model:
    """Reads a model file that "spade-edge export NODEFILE -out model.json" wrote."""
    with open(path, encoding="utf-8") as file:
        return Model(json.load(file), os.fspath(path))


class Model:
    """A built-in model with its preprocessing. parameters is a float32 array; run, member and round say where it comes from."""

    def __init__(self, document: dict[str, Any], name: str = "the model") -> None:
        if not isinstance(document, dict) or "model" not in document:
            raise ValueError(f'{name} is not a model file: it has no "model" (spade-edge export NODEFILE -out model.json writes one)')
        self._task = document.get("task")
        if not self._task or "columns" not in self._task:
            raise ValueError(f'{name} has no task: only the program that computed the losses knows what its numbers mean')
        self.parameters = np.array(document["model"], "f4")
        self.run, self.member, self.round = document.get("run"), document.get("member"), document.get("round")
        self.columns = [c["name"] for c in self._task["columns"]]
        self.target = (self._task.get("target") or {}).get("name")
        self.classes = self._task.get("classes")

    def predict(self, rows: str | os.PathLike[str] | list[dict[str, Any]], unknown: bool = False) -> NDArray[np.float64]:
        """Predicts samples.

        rows is the path of a CSV file (commas, decimal points, a line of names), or a list of dicts from column to cell,
        text or number. A missing cell is empty, NA, NaN, None or ?. A category that the model does not know is an error; with
        unknown=True it counts as none of the known ones. Returns the probability of each class, an array of
        len(rows) x len(classes), or a number for each row if the model has a numeric target.
        """
        x = self._features(self._read(rows), unknown)
        one, w = np.ones((len(x), 1), "f4"), self.parameters.astype("f8")
        if self._task.get("bias"):
            x = np.hstack([x, one])
        if h := self._task.get("hidden"):
            cut = h * x.shape[1]
            u, w = x @ w[:cut].reshape(h, -1).T, w[cut:]
            x = np.hstack([np.where(u < 0, u / 8, u), one])
        z = x @ w.reshape(-1, x.shape[1]).T
        if z.shape[1] == 1:
            z = np.hstack([0 * z, z])
        p = np.exp(z - z.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        if t := self._task.get("target"):
            return t["low"] + (t["high"] - t["low"]) * p[:, 1]
        return p

    def classify(self, rows: str | os.PathLike[str] | list[dict[str, Any]], unknown: bool = False) -> list[str]:
        """Returns the most probable class of each row."""
        if not self.classes:
            raise ValueError("the model has no classes: it predicts a number")
        return [self.classes[i] for i in self.predict(rows, unknown).argmax(axis=1)]

    def _read(self, rows):
        if isinstance(rows, (str, os.PathLike)):
            with open(rows, encoding="utf-8-sig", newline="") as file:
                text = file.read()
            rows = list(csv.DictReader(io.StringIO(text), skipinitialspace=True))
        if not len(rows):
            raise ValueError("no rows, want at least one")
        gone = [c for c in self.columns if c not in rows[0]]
        if gone:
            raise ValueError(f"columns are missing: {', '.join(gone)}; the model has {', '.join(self.columns)}")
        return rows

    def _cell(self, row, column, number, unknown):
        of, value = column.get("categories", []), row[column["name"]]
        value = "" if value is None else str(value).strip()
        if self._task.get("missing") and value not in of and value.lower() in _MISSING + ([] if of else _MISSING_NUMBER):
            return [np.nan] * max(1, len(of))
        if of:
            if value not in of:  # nor in other letters: none of them
                same = [c for c in of if c.lower() == value.lower()] or [c for c in of if _number(c) == _number(value) is not None]
                value = same[0] if len(same) == 1 else value
                if value not in of and not unknown:
                    raise ValueError(f"row {number}, column {column['name']}: {value!r} is not one of {', '.join(of)}")
            return [float(value == c) for c in of]
        try:
            return [float(value)]
        except ValueError:
            raise ValueError(f"row {number}, column {column['name']}: {value!r} is not a number") from None

    def _features(self, rows, unknown):
        columns, gaps = self._task["columns"], self._task.get("missing") or {}
        cells = [[self._cell(row, c, i + 1, unknown) for c in columns] for i, row in enumerate(rows)]
        x = np.array([sum(row, []) for row in cells])
        if "fill" in gaps:
            marked = [i for i, c in enumerate(columns) if c["name"] in gaps.get("columns", [])]
            marks = np.array([[np.isnan(row[i][0]) for i in marked] for row in cells], float).reshape(len(x), -1)
            x = np.hstack([np.where(np.isnan(x), gaps["fill"], x), marks])
        if np.isnan(x).any():
            raise ValueError("some cells are missing, but the model has no rule for them")
        if s := self._task.get("standardize"):
            std = np.array(s["std"])
            x = np.where(std > 0, (x - np.array(s["mean"])) / np.where(std > 0, std, 1), 0)
        x = x.astype("f4")  # rounded once, when it is standardized
        if c := self._task.get("pca"):
            x = (c["scale"] * ((x - np.array(c["mean"])) @ np.array(c["components"]).T)).astype("f4")
        return x
