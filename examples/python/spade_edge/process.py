"""Nodes as processes of the program spade-edge: make their files, start and watch them, export their models."""
from __future__ import annotations

import collections
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, Callable

import numpy as np
from numpy.typing import NDArray


class SpadeEdgeError(Exception):
    """The program refused or failed. code is its exit code; "spade-edge help exit-codes" explains it."""

    def __init__(self, command: str, code: int, text: str) -> None:
        super().__init__(f"spade-edge {command}: exit code {code}: {text.strip()}")
        self.code, self.text = code, text


class ScorerError(Exception):
    """The traceback of a scorer that had no loss. It is the cause of the resulting SpadeEdgeError."""


def program() -> str:
    """Returns the path of the program spade-edge."""
    found = os.environ.get("SPADE_EDGE") or shutil.which("spade-edge")
    if not found:
        raise FileNotFoundError("spade-edge is not on the PATH: install it, or set SPADE_EDGE to its path")
    return found


def call(*args: object) -> str:
    """Runs a command of the program, and returns its output."""
    done = subprocess.run([program(), *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8")
    if done.returncode:
        raise SpadeEdgeError(args[0], done.returncode, done.stderr)
    return done.stdout


class Node:
    """The node of a node file, in a separate process. The process is stopped when this object or its "with" block ends."""

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self.file = os.fspath(file)
        self.events = collections.deque(maxlen=1000)  # log events of the node as dicts, oldest first
        self._process = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, *flags: str, on_event: Callable[[dict[str, Any]], object] | None = None) -> Node:
        """Starts the node, or continues where it stopped. flags go to "spade-edge run".

        on_event is called in another thread with each log event, a dict with time, level, msg and more.
        """
        if self.running:
            raise RuntimeError(f"{self.file} is already running")
        self._outcome, self._out = None, tempfile.TemporaryFile("w+", encoding="utf-8")
        self.events.clear()
        self._process = subprocess.Popen(
            [program(), "run", self.file, "-json", "-log", "json", *flags],
            stdin=subprocess.DEVNULL, stdout=self._out, stderr=subprocess.PIPE, encoding="utf-8")
        self._reader = threading.Thread(target=self._read, args=(self._process.stderr, on_event), daemon=True)
        self._reader.start()
        return self

    def _read(self, pipe, on_event):
        with pipe:
            for line in pipe:
                try:
                    event = json.loads(line)
                except ValueError:
                    event = {"level": "TEXT", "msg": line.rstrip("\n")}
                self.events.append(event)
                if on_event:
                    on_event(event)

    def wait(self, timeout: float | None = None) -> dict[str, Any]:
        """Waits until the run is done, and returns its outcome: model hash, accuracy, privacy and more, as a dict."""
        if self._process is None:
            raise RuntimeError(f"{self.file} was not started")
        code = self._process.wait(timeout)
        if code:
            said = self._said()
            cause = [e["msg"] for e in self.events if e["level"] == "ERROR" and e["msg"].startswith("Traceback ")]
            raise SpadeEdgeError("run", code, said) from (ScorerError("\n" + cause[-1]) if cause else None)
        if self._outcome is None:
            self._reader.join()
            self._out.seek(0)
            self._outcome = json.load(self._out)
            self._out.close()
        return self._outcome

    def _said(self):
        """Returns the last log events as text."""
        self._reader.join()
        return "\n".join(str(e["msg"]) + "".join(f", {k} {v}" for k, v in e.items() if k not in ("time", "level", "msg", "run", "node"))
                         for e in list(self.events)[-5:])

    def stop(self, timeout: float = 30) -> None:
        """Stops the process between two steps. start continues from there."""
        if self.running:
            self._process.terminate()
            try:
                self._process.wait(timeout)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._process is not None:
            if self._process.returncode == 0:
                self.wait()  # keeps the outcome
            self._reader.join()
            self._out.close()

    def status(self) -> dict[str, Any]:
        """Returns the status of the node, running or not: the dict of "spade-edge status -json".

        If the process failed, "failure" says why. In a running node, ["local"]["last_failure"] is the reason for the newest
        query without a loss.
        """
        found = json.loads(call("status", self.file, "-json"))
        if self._process is not None and self._process.poll():
            found["failure"] = self._said()
        return found

    def export(self, path: str | os.PathLike[str]) -> str | os.PathLike[str]:
        """Writes the model to a file: a model file for load_model (.json), or only the numbers (.npy)."""
        call("export", self.file, "-out", path)
        return path

    def model(self) -> NDArray[np.float32]:
        """Returns the parameters of the last stored release, as a float32 array."""
        with tempfile.TemporaryDirectory() as folder:
            return np.load(self.export(os.path.join(folder, "model.npy")))

    def __enter__(self) -> Node:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __del__(self) -> None:
        if getattr(self, "_process", None) is not None and self._process.poll() is None:
            self._process.kill()


class Fleet:
    """The nodes of a fleet on this machine, for a trial. A real fleet makes each key on its device (spade-edge help fleets)."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)
        with open(os.path.join(self.folder, "fleet.json"), encoding="utf-8") as file:
            self.members = [m["name"] for m in json.load(file)["members"]]
        self.nodes = {}
        for name in self.members:
            file = os.path.join(self.folder, name, "node.json")
            if os.path.exists(file):
                self.nodes[name] = Node(file)

    @classmethod
    def create(cls, folder: str | os.PathLike[str], names: list[str], scorer: list[str] | None = None, **settings: object) -> Fleet:
        """Makes the files of a fleet in a new folder.

        scorer is the command of a scorer, a list in which {name} stands for the node's name; settings must then have dim and
        samples. Settings are the flags of "spade-edge init", with _ for -: graph="ring", non_private=True, rounds=50,
        epsilon=1, unit="record", records="200,150" (in place of samples).
        """
        if isinstance(scorer, str):
            raise TypeError(f"scorer is {scorer!r}, want a list: the program and its arguments")
        if not {"hosts", "port", "nats", "mqtt"} & settings.keys():
            settings["hosts"] = ",".join(_free(len(names)))
        flags = []
        for key, value in settings.items():
            flag = "-" + key.replace("_", "-")
            if isinstance(value, bool):
                flags.append(f"{flag}={str(value).lower()}")
            else:
                flags += [flag, str(value)]
        call("init", folder, "-nodes", ",".join(names), *flags)
        fleet = cls(folder)
        if scorer:
            for name, node in fleet.nodes.items():
                with open(node.file, encoding="utf-8") as file:
                    settings = json.load(file)
                settings["oracle"] = {"stream": [a.replace("{name}", name) for a in scorer], "format": "cbor"}
                if "PYTHONPATH" in os.environ:  # a scorer gets only the variables that are named
                    settings["oracle"]["environment"] = ["PYTHONPATH"]
                with open(node.file, "w", encoding="utf-8") as file:
                    json.dump(settings, file, indent=2)
        return fleet

    def start(self, *flags: str, on_event: Callable[[str, dict[str, Any]], object] | None = None) -> Fleet:
        """Starts all nodes. on_event is called with a node's name and its log event."""
        for name, node in self.nodes.items():
            node.start(*flags, on_event=on_event and (lambda event, name=name: on_event(name, event)))
        return self

    def wait(self, timeout: float | None = None) -> dict[str, dict[str, Any]]:
        """Waits until all nodes are done, and returns their outcomes by name. As soon as one fails, all are stopped."""
        outcomes, began = {}, time.monotonic()
        try:
            while left := [name for name in self.nodes if name not in outcomes]:
                done = [name for name in left if not self.nodes[name].running]
                outcomes.update({name: self.nodes[name].wait() for name in done})
                if not done:
                    if timeout is not None and time.monotonic() - began > timeout:
                        raise subprocess.TimeoutExpired("spade-edge run", timeout)
                    time.sleep(0.02)
            return {name: outcomes[name] for name in self.nodes}
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        for node in self.nodes.values():
            node.stop()

    def status(self) -> dict[str, dict[str, Any]]:
        return {name: node.status() for name, node in self.nodes.items()}

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _free(n):
    """Returns n addresses on this machine on which nobody listens now."""
    with contextlib.ExitStack() as stack:
        taken = [stack.enter_context(socket.socket()) for _ in range(n)]
        for s in taken:
            s.bind(("127.0.0.1", 0))
        return ["127.0.0.1:%d" % s.getsockname()[1] for s in taken]


def python(*args: str) -> list[str]:
    """Returns the command that runs a file with this Python: Fleet.create(..., scorer=python("score.py", "{name}"))."""
    return [sys.executable, *(os.path.abspath(a) if os.path.exists(a) else a for a in args)]
