"""A node in this process, through the C library of examples/c (spade_edge.h specifies each function)."""
from __future__ import annotations

import ctypes
import json
import logging
import math
import os
import threading
import time
import traceback
from typing import Any, Callable

import numpy as np
from numpy.typing import NDArray

from .process import SpadeEdgeError
from .scorer import number
from .trial import raise_if_all_failed

_LOSS = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.POINTER(ctypes.c_float), ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p)
_LINE = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)
_ABI = 2
_STOPPED = -5
_library = _process = None  # the library, and the process that loaded it


def _load():
    """Returns the library: libspade_edge.so, or the file that SPADE_EDGE_LIBRARY names."""
    global _library, _process
    if _library is not None and _process != os.getpid():
        raise RuntimeError("this process is a fork of one that uses the library of SPADE-Edge, whose threads it lacks: start it with "
                           'multiprocessing.get_context("spawn")')
    if _library is None:
        path = os.environ.get("SPADE_EDGE_LIBRARY", "libspade_edge.so")
        try:
            lib = ctypes.CDLL(path)
        except OSError as error:
            raise OSError(f"{error}: build the library (examples/c/README.md), and set SPADE_EDGE_LIBRARY to its path") from None
        if lib.spade_abi() != _ABI:
            raise OSError(f"{path} has interface {lib.spade_abi()}, want {_ABI}: use a library and a package from the same release")
        node, text = ctypes.c_int32, [ctypes.c_int32, ctypes.c_char_p, ctypes.c_size_t]
        for name, result, args in (
            ("open", node, [ctypes.c_char_p, ctypes.c_size_t, _LOSS, ctypes.c_void_p]),
            ("lines", node, [node, _LINE, ctypes.c_void_p]), ("run", node, [node, ctypes.c_uint32]), ("stop", node, [node]),
            ("close", node, [node]), ("status", ctypes.c_int64, text), ("certificate", ctypes.c_int64, text),
            ("model", ctypes.c_int64, [node, ctypes.c_void_p, ctypes.c_size_t]), ("dim", ctypes.c_int64, [node]), ("error", ctypes.c_int64, text[1:]),
        ):
            function = getattr(lib, "spade_" + name)
            function.restype, function.argtypes = result, args
        _library, _process = lib, os.getpid()
    return _library


def _logged():
    """Returns the default on_line: see LocalNode."""
    log, again = logging.getLogger("spade_edge"), [0.0, 5.0]  # the next warning, and seconds until the one after it

    def on_line(line):
        if "waiting for " in line and time.monotonic() >= again[0]:
            again[:] = time.monotonic() + again[1], min(2 * again[1], 3600)
            log.warning(line)
        else:
            log.info(line)

    return on_line


class LocalNode:
    """The node of a node file, in this process. A child process after fork cannot use it: every call raises.

    loss(x, sample) returns the loss of a sample, 0 to samples-1, at the float32 array x, a view that is valid only during the
    call. If loss raises or returns no number, the node asks again, and failure holds the newest exception. Without loss the node uses the oracle of
    its file. on_line is called in another thread with each line that the node logs. By default, lines about missing neighbors
    go to the logger "spade_edge" as warnings, at growing intervals, and all other lines as information.
    """

    def __init__(self, file: str | os.PathLike[str], loss: Callable[[NDArray[np.float32], int], float] | None = None, samples: int = 0,
                 on_line: Callable[[str], object] | None = None) -> None:
        self._handle, self.failure, self._first = 0, None, None

        def asked(x, d, sample, _):
            try:
                view = np.ctypeslib.as_array(x, (d,))
                view.setflags(write=False)
                return number(loss(view, sample))
            except BaseException as error:  # no exception may leave a callback
                # Drop the frames' variables: they may be views of memory that is invalid after the call.
                self.failure = error.with_traceback(error.__traceback__.tb_next)
                traceback.clear_frames(self.failure.__traceback__)
                self._first = self._first or self.failure
                return math.nan

        self._loss = _LOSS(asked) if loss else _LOSS()
        on_line = on_line or _logged()
        self._line = _LINE(lambda line, _: on_line(line.decode("utf-8", "replace")))
        self._handle = self._checked("open", self._lib.spade_open(os.fsencode(file), samples if loss else 0, self._loss, None))
        self._checked("lines", self._lib.spade_lines(self._handle, self._line, None))

    @property
    def _lib(self):
        return _load()

    def _checked(self, command, result):
        if result < 0:
            text = ctypes.create_string_buffer(4096)
            self._lib.spade_error(text, len(text))
            raise SpadeEdgeError(command, -result, text.value.decode("utf-8", "replace"))
        return result

    def run(self, anyway: bool = False) -> bool:
        """Runs all remaining rounds; call it once. Returns True when they are done, and False after stop.

        It raises SpadeEdgeError if the node fails. Also, at the end of a private run, if none of its losses could be computed: the
        rounds are done, but the model has learned nothing from this node. The cause is the newest exception of loss, or the first.
        """
        lib, outcome = self._lib, []

        def through():
            code = lib.spade_run(self._handle, anyway)
            try:
                outcome.append(code == _STOPPED or self._checked("run", code))
            except SpadeEdgeError as error:
                outcome.append(error)
            outcome.append(code)

        thread = threading.Thread(target=through)
        thread.start()
        while thread.is_alive():
            try:
                thread.join(0.2)  # with a timeout, so that an interrupt arrives
            except BaseException:
                self.stop()
                thread.join()
                raise
        if isinstance(outcome[0], SpadeEdgeError):
            raise outcome[0] from self.failure
        if outcome[1] == 0:
            raise_if_all_failed("this node", self.status(), self._first)
        return outcome[1] == 0

    def stop(self) -> None:
        """Makes run return soon. Another LocalNode can continue from there."""
        self._checked("stop", self._lib.spade_stop(self._handle))

    def _text(self, command):
        function, size = getattr(self._lib, "spade_" + command), 1 << 16
        while True:
            text = ctypes.create_string_buffer(size)
            length = self._checked(command, function(self._handle, text, size))
            if length < size:
                return json.loads(text.raw[:length])
            size = 2 * (length + 1)

    def status(self) -> dict[str, Any]:
        """Returns the status of the node, like Node.status."""
        return self._text("status")

    def certificate(self) -> dict[str, Any]:
        """Returns the certificate: an upper bound on what all releases so far leaked."""
        return self._text("certificate")

    def model(self) -> NDArray[np.float32]:
        """Returns the last release, a float32 array."""
        x = np.empty(self._checked("model", self._lib.spade_dim(self._handle)), "f4")
        self._checked("model", self._lib.spade_model(self._handle, x.ctypes.data, x.size))
        return x

    def close(self) -> None:
        if self._handle > 0:
            self._lib.spade_close(self._handle)
            self._handle = -1

    def __enter__(self) -> LocalNode:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
