"""Tries wrapped models: trial runs a fleet on this machine, and this program computes the losses of all its members."""
from __future__ import annotations

import hmac
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from typing import Callable

import numpy as np
from numpy.typing import NDArray

from .process import Fleet, ScorerError, SpadeEdgeError
from .wrap import Wrapped


def trial(site: Callable[[str], Wrapped], names: list[str], timeout: float | None = None,
          **settings: object) -> dict[str, NDArray[np.float32]]:
    """Runs a fleet on this machine, and returns the members' final vectors by name.

    site(name) returns the Wrapped of a member. Each node is a process of its own, and asks this one for its losses, one at a time;
    so trial works in a module, a test, a notebook, and several times in one program. settings are those of Fleet.create. By
    default the graph is complete, and the numbers of records and the start values come from the sites.

    If all losses of a member fail, trial raises SpadeEdgeError, with the first traceback as its cause. After timeout seconds it
    raises subprocess.TimeoutExpired, with the first failure as its cause, if there was one.
    """
    sites = {name: site(name) for name in names}
    for name, s in sites.items():
        if not isinstance(s, Wrapped):
            raise TypeError(f"site({name!r}) returned {type(s).__name__}, want what wrap returns")
    first = next(iter(sites.values()), None)
    seen = {}
    for name, s in sites.items():
        if list(s.classes) != list(first.classes):
            raise ValueError(f"{names[0]} has the classes {list(first.classes)}, and {name} {list(s.classes)}: give wrap the classes of all, classes=[...]")
        if s._digest and seen.setdefault(s._digest, name) != name:
            warnings.warn(f"{seen[s._digest]} and {name} have the same data: check what site returns for a name", stacklevel=2)
        if s.dim != first.dim or (s.start != first.start).any():
            raise ValueError(f"{names[0]} and {name} start with different values: give the model a seed, and give wrap the classes")
    if first is None:
        raise ValueError("names is empty, want the names of the members")
    with tempfile.TemporaryDirectory() as folder:
        if first.start.any():
            settings.setdefault("x0", first.save_start(os.path.join(folder, "start.npy")))
        settings.setdefault("graph", "complete")
        if settings.get("unit") == "record":
            settings.setdefault("records", ",".join(str(s.samples) for s in sites.values()))
        else:
            settings.setdefault("samples", min(s.samples for s in sites.values()))
        with _Losses(sites, os.path.join(folder, "losses")) as losses, Fleet.create(
                os.path.join(folder, "trial"), names, scorer=losses.command, dim=first.dim, **settings) as fleet:
            fleet.start()
            try:
                fleet.wait(timeout)
            except subprocess.TimeoutExpired as error:
                raise error from next(iter(losses.failures.values()), None)
            for name, node in fleet.nodes.items():
                raise_if_all_failed(name, node.status(), losses.failures.get(name))
            return {name: node.model() for name, node in fleet.nodes.items()}


def raise_if_all_failed(name, status, cause):
    """Raises a SpadeEdgeError if the status of a node says that none of its losses could be computed."""
    local = status.get("local") or {}
    failed = local.get("failed_queries", 0)
    if failed and failed >= status["queries"]:
        raise SpadeEdgeError("run", 0, f"all {failed} losses of {name} failed: the model has learned nothing from it. The last reason: "
                                       f"{local.get('last_failure', '')}") from cause


class _Losses:
    """Serves the losses of all members to the processes that run command. failures has each member's first failure, a ScorerError."""

    def __init__(self, sites, path):
        self._sites, self._turn, self.failures = sites, threading.Lock(), {}
        self._door, self._secret = socket.create_server(("127.0.0.1", 0)), secrets.token_hex(16)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{self._door.getsockname()[1]} {self._secret}")
        relay = os.path.join(os.path.dirname(os.path.abspath(__file__)), "relay.py")
        self.command = [sys.executable, "-IS", relay, path, "{name}"]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                link, _ = self._door.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._serve, args=(link,), daemon=True).start()

    def _serve(self, link):
        """Answers one process. Losses are computed one at a time, because the sites may share a model."""
        with link, link.makefile("rb", buffering=0) as source, link.makefile("wb", buffering=0) as sink:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            line = b""
            while not line.endswith(b"\n") and len(line) < 1000 and (byte := source.read(1)):
                line += byte
            secret, _, name = line.decode("utf-8", "replace").rstrip("\n").partition(" ")
            if not hmac.compare_digest(secret.encode(), self._secret.encode()):
                return
            try:
                self._sites[name].answer(source, sink, turn=self._turn,
                                         failed=lambda text: self.failures.setdefault(name, ScorerError("\n" + text)))
            except OSError:  # the process has ended
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._door.close()
