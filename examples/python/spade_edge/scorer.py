"""Serves a function's losses to a node: the program's side of the stream protocol, with CBOR frames.

examples/scorer/README.md of SPADE-Edge specifies the protocol.
"""
from __future__ import annotations

import contextlib
import hashlib
import json
import os
import reprlib
import struct
import sys
import traceback
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

if TYPE_CHECKING:
    from .adapter import Adapter

# Every query has the same layout: its length, and a map of id, sample and float32 parameters (tag 85 of RFC 8746).
_QUERY_HEAD = 33
# An answer: its length, 21, and a map of id and loss.
_ANSWER = struct.pack("<I", 21) + b"\xa2\x01\x1b" + bytes(8) + b"\x02\xfb" + bytes(8)
_ANSWER_TYPE = np.dtype({"names": ["id", "loss"], "formats": [">u8", ">f8"], "offsets": [7, 17], "itemsize": len(_ANSWER)})
_ERROR_BYTES = 2000
_BUFFER = 1 << 20
_ROOM = 1 << 22  # expanded numbers at a time; one query may exceed it


def _show(text):
    sys.stderr.write(text + "\n")


def scorer(dim: int | None = None, samples: int | None = None, batch: bool = False, adapter: Adapter | None = None,
           task: dict[str, Any] | None = None, data: Any = None) -> Callable[[Callable[..., Any]], Scorer]:
    """Decorator that turns a function that returns a loss into a Scorer.

    dim is the number of parameters, and samples the number of the device's samples. The function gets the parameters, a
    float32 array of dim numbers, and the index of a sample, 0 to samples-1. It returns the loss of that sample, preferably
    between 0 and 1. With batch=True it gets the parameters of n queries, an (n, dim) array, and the indices of n samples,
    and returns n losses. The arrays are read-only views, valid only during the call: copy what you keep.

        @scorer(dim=3, samples=len(rows), data=rows)
        def loss(x, sample):
            return float((rows[sample, :3] @ x - rows[sample, 3]) ** 2)

        if __name__ == "__main__":
            loss.serve()

    With an Adapter in place of dim, the fleet trains its few numbers, and the function gets the parameters expanded from
    them, in a new array. task is the object in task.program of the fleet file, if it has one; an Adapter sets it.

    data is all that losses depend on, in the order of the samples: an array, bytes, or a list of such. The node gets its
    SHA-256, which stays on the device. If the data changed since the node's last start, its estimator forgets the old data.
    Without data it forgets at each start, if the run protects each record; the run then does not continue with the same bits.

    Read the data once, when the program starts. An index must mean the same sample during the whole run. If the function raises,
    or returns no number, the query has no loss: the node asks again, and reports the end of the traceback if it gives up.
    """

    def decorate(function):
        return Scorer(function, dim, samples, batch, adapter, task, data)

    return decorate


class Scorer:
    """Serves a function that returns losses. Calling the Scorer calls the function."""

    def __init__(self, function: Callable[..., Any], dim: int | None = None, samples: int | None = None, batch: bool = False,
                 adapter: Adapter | None = None, task: dict[str, Any] | None = None, data: Any = None) -> None:
        if adapter is not None:
            if dim not in (None, adapter.dim):
                raise ValueError(f"dim is {dim!r}, want None or {adapter.dim}, as in the adapter")
            if task is not None:
                raise ValueError("adapter and task are given, want one of them: an adapter is the task")
            dim = adapter.dim
        self.adapter = adapter
        self._task = adapter.text if adapter is not None else json.dumps(task, separators=(",", ":")) if task is not None else ""
        for name, value in (("dim", dim), ("samples", samples)):
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 1 <= value < 1 << 31:
                raise ValueError(f"{name} is {value!r}, want a whole number of at least 1")
        self.function, self.dim, self.samples, self.batch = function, int(dim), int(samples), bool(batch)
        self._digest = digest(data) if data is not None else ""
        self._failure = None, ""  # what the last failure was, and the text of its traceback
        self.__doc__, self.__name__ = function.__doc__, getattr(function, "__name__", "loss")
        size = _QUERY_HEAD + 4 * self.dim
        self._type = np.dtype({
            "names": ["head", "id", "sample", "tag", "x"],
            "formats": [("u1", (7,)), ">u8", ">u8", ("u1", (8,)), ("<f4", (self.dim,))],
            "offsets": [0, 7, 17, 25, _QUERY_HEAD], "itemsize": size,
        })
        self._head = struct.pack("<I", size - 4) + b"\xa3\x01\x1b"
        self._tag = b"\x03\xd8\x55\x5a" + struct.pack(">I", 4 * self.dim)

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    def serve(self) -> None:
        """Answers queries on standard input until it ends. What the function prints goes to standard error."""
        if sys.stdin is not None and sys.stdin.isatty():
            self._try()
            return
        given, taken = os.dup(0), os.dup(1)
        quiet = os.open(os.devnull, os.O_RDONLY)
        os.dup2(quiet, 0)  # if the function reads standard input, it gets nothing instead of a query
        os.dup2(2, 1)
        os.close(quiet)
        with open(given, "rb", buffering=0) as source, open(taken, "wb", buffering=0) as sink:
            self.answer(source, sink)

    def answer(self, source, sink, failed=_show, turn=contextlib.nullcontext()):
        """Answers the queries from the raw stream source on sink until source ends.

        failed is called with the traceback of each call of the function that raised, the first included. Losses are computed in "with turn".
        """
        texts = [(key, text.encode()) for key, text in ((4, self._task), (5, self._digest)) if text]
        hello = struct.pack(">BBB BBI BBI", 0xA3 + len(texts), 1, 1, 2, 0x1A, self.dim, 3, 0x1A, self.samples)
        for key, text in texts:
            hello += struct.pack(">BBI", key, 0x7A, len(text)) + text
        _write(sink, struct.pack("<I", len(hello)) + hello)
        size = self._type.itemsize
        buffer = bytearray(size * max(16, _BUFFER // size))
        view, filled = memoryview(buffer), 0
        while got := source.readinto(view[filled:]):
            filled += got
            count, rest = divmod(filled, size)
            if count:
                queries = np.frombuffer(buffer, self._type, count)
                queries.setflags(write=False)
                with turn:
                    answers = self._answers(queries, failed)
                _write(sink, answers)
                view[:rest] = bytes(view[count * size:filled])
                filled = rest
        if filled:
            raise ValueError(f"standard input ended in the middle of a query, after {filled} of {size} bytes")

    def _answers(self, queries, failed):
        ids, samples, points = queries["id"], queries["sample"], queries["x"]
        for name, want in (("head", self._head), ("tag", self._tag)):
            if (queries[name] != np.frombuffer(want, "u1")).any():
                raise ValueError('a query is not in the CBOR format: the node file needs "format": "cbor"')
        if self.adapter is not None:
            most = max(1, _ROOM // self.adapter.of)
            if len(queries) > most:
                return b"".join(self._answers(queries[i:i + most], failed) for i in range(0, len(queries), most))
            points = self.adapter.expand(points)
        out = np.frombuffer(bytearray(_ANSWER * len(queries)), _ANSWER_TYPE)
        out["id"] = ids
        try:
            function = self.function
            if self.batch:
                out["loss"] = numbers(function(points, samples.astype(np.int64)), len(queries))
            else:
                out["loss"] = [number(function(x, h)) for x, h in zip(points, samples.tolist())]
            return out.tobytes()
        except Exception as error:  # at least one query has no loss
            text = self._traceback(error)
            failed(text)
            if len(queries) == 1:
                return _error(int(ids[0]), text)
        return b"".join(self._answers(queries[i:i + 1], failed) for i in range(len(queries)))  # finds out which

    def _traceback(self, error):
        """Returns the text of a traceback. It keeps the last one, because formatting takes longer than most losses."""
        places, at = [], error.__traceback__
        while at is not None:
            places.append((at.tb_frame.f_code, at.tb_lineno))
            at = at.tb_next
        what = type(error), str(error), places
        if error.__cause__ or error.__context__ or what != self._failure[0]:
            self._failure = what, "".join(traceback.format_exception(type(error), error, error.__traceback__))
        return self._failure[1]

    def _try(self):
        """Prints what a user sees who starts the program without a node."""
        x = np.zeros((1, self.dim), "f4")
        if self.adapter is not None:
            x = self.adapter.expand(x)
        found = numbers(self.function(x, np.zeros(1, "i8")), 1)[0] if self.batch else number(self.function(x[0], 0))
        print(f"a scorer of {self.dim} parameters and {self.samples} samples; the loss of sample 0 at zero is {found}")
        print('in the node file: "oracle": {"stream": ["python3", "%s"], "format": "cbor"}' % os.path.basename(sys.argv[0]))


def number(loss):
    """Returns what a loss function returned as a float: a number, or an array or a tensor with one number."""
    if isinstance(loss, float):
        return float(loss)
    if getattr(loss, "shape", ()) and np.prod(loss.shape) != 1:
        raise TypeError(f"loss returned an array of shape {tuple(loss.shape)}, want a number")
    value = loss.item() if hasattr(loss, "item") else loss
    if isinstance(value, complex) or not hasattr(value, "__float__"):  # None, text and lists
        raise TypeError(f"loss returned {reprlib.repr(loss)}, want a number")
    return float(value)


def numbers(losses, count):
    """Returns what a loss function with batch=True returned as an array of count floats."""
    found = losses.shape if hasattr(losses, "shape") else (len(losses),) if hasattr(losses, "__len__") else ()
    if isinstance(losses, (str, bytes)) or len(found) != 1 or found[0] != count:
        what = f"an array of shape {tuple(found)}" if found and not isinstance(losses, (str, bytes)) else reprlib.repr(losses)
        raise TypeError(f"loss returned {what} for {count} queries, want {count} losses, one for each query")
    if isinstance(losses, np.ndarray) and losses.dtype.kind in "fiub":
        return losses
    return np.array([number(loss) for loss in losses])


def digest(data):
    """Returns a SHA-256 of an array, bytes, or a list of such, with the types and shapes of arrays."""
    if isinstance(data, (list, tuple)):
        data = "".join(map(digest, data)).encode()
    elif not isinstance(data, (bytes, bytearray)):
        array = np.ascontiguousarray(data)
        if array.dtype.hasobject:
            raise ValueError("data is an array of objects, want numbers, text or bytes")
        data = f"{array.dtype.str} {array.shape} ".encode() + array.tobytes()
    return hashlib.sha256(data).hexdigest()


def _error(id, text):
    """Returns the answer for a query without a loss, with the end of the reason."""
    text = text.encode("utf-8", "replace")[-_ERROR_BYTES:].decode("utf-8", "ignore").encode()
    message = b"\xa2\x01\x1b" + struct.pack(">Q", id) + b"\x03\x79" + struct.pack(">H", len(text)) + text
    return struct.pack("<I", len(message)) + message


def _write(sink, data):
    view = memoryview(data)
    while view:
        view = view[sink.write(view):]
