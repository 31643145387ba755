"""Expands a few trained numbers to a model's parameters: x = x0 + A c, with the same bits as package examples/adapter of SPADE-Edge.

A fleet trains d numbers. A scorer with an adapter expands them here to the D parameters of its model.
"""
from __future__ import annotations

import hashlib
import json
import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_PURPOSE = 13  # the purpose of the signs in the random generator


class Adapter:
    """What the numbers of a fleet mean: the adapter in its task.

        adapter = Adapter.load("fleet.json", base=weights)     # or without base: the file that the task names, or zeros
        x = adapter.expand(c)                                  # float32: D numbers of d, or (n, D) of (n, d)

    base is x0, the model's parameters before the run, in the model's order. Give it if the program has the model anyway; if the
    task has a hash of base, both must match.
    """

    def __init__(self, spec: dict[str, Any], base: ArrayLike | None = None, basis: ArrayLike | None = None) -> None:
        self.spec, self.form, self.dim, self.of = spec, spec["form"], int(spec["dim"]), int(spec["of"])
        self.text = json.dumps({"adapter": spec}, separators=(",", ":"))
        self._base = np.zeros(self.of, "<f4") if base is None else np.ascontiguousarray(base, "<f4").ravel()
        if len(self._base) != self.of:
            raise ValueError(f"base has {len(self._base)} numbers, want {self.of} for the adapter")
        if "base" in spec and base is not None:
            _check("base", self._base.tobytes(), spec["base"])
        seed = int(spec.get("seed", 0))
        if self.form == "random":
            self._signs = _signs(seed, self.of, 0, 0)
        elif self.form == "coords":
            self._chosen = np.concatenate([np.arange(first, last + 1) for first, last in spec["ranges"]])
        elif self.form == "lora":
            self._signs = [np.stack([_signs(seed, m["columns"], k, i) for k in range(spec["rank"])])
                           for i, m in enumerate(spec["matrices"])]
        elif self.form == "basis":
            self._basis = np.ascontiguousarray(basis, "<f4").reshape(self.dim, self.of)
        else:
            raise ValueError(f"the adapter has the form {self.form!r}, want random, coords, lora or basis")

    @classmethod
    def load(cls, fleet: str | os.PathLike[str], base: ArrayLike | None = None) -> Adapter:
        """Reads the adapter of a fleet file or of a file from save, and its files in the same folder unless base is given."""
        with open(fleet, encoding="utf-8") as file:
            form = json.load(file)
        spec = form.get("adapter") or form.get("task", {}).get("program", {}).get("adapter")
        if spec is None:
            raise ValueError(f"{fleet} has no adapter, want it in task.program or at the top")
        read = {name: _read(name, os.path.dirname(fleet), spec[name]) for name in ("base", "basis")
                if name in spec and (name == "basis" or base is None)}
        return cls(spec, base if base is not None else read.get("base"), read.get("basis"))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the task of a fleet with this adapter, for "spade-edge init -task". dim goes to -dim, and radius() to -mu."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.text + "\n")

    def radius(self) -> float:
        """Returns the smoothing radius for a fleet with this adapter: 1.5 over the root of the parameters that a query moves."""
        moved = {"random": self.of, "lora": sum(self.spec.get("rank", 0) * m["rows"] * m["columns"] for m in self.spec.get("matrices", []))}
        return float(f"{1.5 / moved.get(self.form, self.dim) ** 0.5:.3g}")

    def expand(self, c: ArrayLike) -> NDArray[np.float32]:
        """Returns x0 + A c as a new float32 array, for one c or for each row of several."""
        c = np.asarray(c, "f4")
        if c.shape[-1] != self.dim:
            raise ValueError(f"c has {c.shape[-1]} numbers, want {self.dim}")
        if c.ndim > 1:
            return np.stack([self.expand(row) for row in c])
        if self.form == "random":
            x = np.resize(c, self.of)
            x *= self._signs
            x += self._base
            return x
        x = self._base.copy()
        if self.form == "coords":
            x[self._chosen] += c
        elif self.form == "lora":
            rank, at = self.spec["rank"], 0
            for m, signs in zip(self.spec["matrices"], self._signs):
                rows, columns = m["rows"], m["columns"]
                w = x[m["offset"]:m["offset"] + rows * columns].reshape(rows, columns)
                b = c[at:at + rows * rank].reshape(rows, rank)
                for k in range(rank):
                    w += b[:, k:k + 1] * signs[k]
                at += rows * rank
        else:
            for k in range(self.dim):
                x += c[k] * self._basis[k]
        return x


def _read(name, folder, file):
    with open(os.path.join(folder, file["file"]), "rb") as f:
        data = f.read()
    _check(name, data, file)
    return np.frombuffer(data, "<f4")


def _check(name, data, file):
    found = hashlib.sha256(data).hexdigest()
    if found != file["sha256"]:
        raise ValueError(f"{name} has SHA-256 {found}, want {file['sha256']} as in the task")


def _signs(seed, count, step, component):
    """The signs +1 and -1 of a stream of package zoest/rng: bit i of its words, the lowest first, set for -1."""
    k0, k1 = (int(w[0]) for w in _philox(np.array([_PURPOSE], "u4"), 0, 0x53504144, 0, seed & 0xFFFFFFFF, seed >> 32)[:2])
    blocks = np.arange((count + 127) // 128, dtype="u4")
    words = np.stack(_philox(blocks, component, step, 0, k0, k1), axis=1).astype("<u4")
    bits = np.unpackbits(words.view("u1").ravel(), count=count, bitorder="little")
    return 1 - 2 * bits.astype("f4")


def _philox(c0, c1, c2, c3, k0, k1):
    """Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011) on counters that differ in c0."""
    low = np.uint64(0xFFFFFFFF)
    c0 = c0.astype("u8")
    c1, c2, c3 = (np.full_like(c0, c) for c in (c1, c2, c3))
    for _ in range(10):
        p, q = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (q >> np.uint64(32)) ^ c1 ^ np.uint64(k0), q & low, (p >> np.uint64(32)) ^ c3 ^ np.uint64(k1), p & low
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0, c1, c2, c3
