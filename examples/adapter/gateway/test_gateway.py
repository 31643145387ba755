"""python3 -m unittest, in this folder: needs a C compiler and numpy."""
import json
import os
import random
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import tty
import unittest

import numpy as np

from gateway import DIM, Line
from spade_edge import Fleet
from tests import need_program

HERE = os.path.dirname(os.path.abspath(__file__))


def want(x, sample):
    off = 1 - sum(float(v) * ((sample * 7 + i * 5) % 11 - 5) / 16 for i, v in enumerate(x))
    return off * off / (1 + off * off)


class Bad(threading.Thread):
    """A line to a device, a pair of file descriptors, that does what fault(direction, data, count) says: data, or less, or more."""

    def __init__(self, program, fault=lambda down, data, count: data, fd=None):
        super().__init__(daemon=True)
        self.program, self.fault, self.count, self.resets = program, fault, 0, 0
        if fd is None:
            fd, other = os.openpty()
            tty.setraw(fd)
            self.path = os.ttyname(other)
            self.other = other  # stays open, so that the line outlives a gateway
        self.fd, self.over = fd, False
        self.boot()
        self.start()

    def boot(self):
        self.device = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def reset(self):
        """The device loses what it had in its memory, and says something while it starts."""
        self.end()
        self.resets += 1
        self.boot()
        os.write(self.fd, b"boot v1.2\r\n\x7e\xa5\x7e")

    def end(self):
        self.device.kill()
        self.device.wait()
        self.device.stdin.close()
        self.device.stdout.close()

    def run(self):
        while not self.over:
            for fd in select.select([self.fd, self.device.stdout], [], [], 0.05)[0]:
                down = fd == self.fd
                try:
                    data = os.read(self.fd if down else self.device.stdout.fileno(), 4096)
                except OSError:
                    return
                self.count += 1
                data = self.fault(down, data, self.count)
                if data is None:
                    self.reset()
                    break
                if data:
                    os.write(self.device.stdin.fileno() if down else self.fd, data)
        self.end()


class Gateway(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cc = shutil.which("cc")
        if cc is None:
            raise unittest.SkipTest("needs a C compiler, cc")
        cls.folder = tempfile.TemporaryDirectory()
        cls.program = os.path.join(cls.folder.name, "device")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "device.c")
        subprocess.run([cc, "-std=c99", "-D__unix__", "-Wall", "-Wextra", "-Werror", "-O2", "-o", cls.program, source], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def ask(self, line, count=30):
        draw = np.random.default_rng(1)
        for sample in range(count):
            x = draw.normal(size=DIM).astype("f4")
            self.assertAlmostEqual(line.loss(x, sample), want(x, sample), places=5)

    def served(self, fault=lambda down, data, count: data):
        device = Bad(self.program, fault)

        def end():
            device.over = True
            device.join()

        self.addCleanup(end)
        return device

    def test_faultless(self):
        device = self.served()
        line = Line(device.path)
        self.ask(line)
        line._close()
        self.ask(Line(device.path))  # a gateway that was started again

    def test_lost_and_garbled_bytes(self):
        draw = random.Random(1)
        hurt = []

        def fault(down, data, count):
            if draw.random() < 0.3:
                at = draw.randrange(len(data))
                hurt.append(down)
                return data[:at] + (bytes([data[at] ^ 16]) if draw.random() < 0.5 else b"") + data[at + 1:]
            return data

        self.ask(Line(self.served(fault).path, patience=0.2, tries=30))
        self.assertEqual(set(hurt), {True, False})

    def test_resets(self):
        draw = random.Random(2)
        device = self.served(lambda down, data, count: None if draw.random() < 0.2 else data)
        self.ask(Line(device.path, patience=0.2, tries=30))
        self.assertGreater(device.resets, 3)

    def test_slow_answers(self):
        """An answer that comes after the query was sent again counts once, and is not taken for that of the next query."""
        late = []

        def fault(down, data, count):
            if down:
                return data
            late.append(data)
            return late.pop(0) + data if len(late) > 1 else b""

        self.ask(Line(self.served(fault).path, patience=0.2, tries=10), count=15)

    def test_no_device(self):
        with self.assertRaisesRegex(RuntimeError, "did not answer in 2 attempts: .*No such file"):
            Line(os.path.join(self.folder.name, "none"), patience=0.1, tries=2).loss(np.zeros(DIM), 0)
        silent = self.served(lambda down, data, count: b"")
        with self.assertRaisesRegex(RuntimeError, "did not answer in 2 attempts: no complete answer"):
            Line(silent.path, patience=0.1, tries=2).loss(np.zeros(DIM), 0)

    def test_fleet(self):
        """Two nodes, each with a device that loses bytes, train the 64 numbers that the device makes its model of."""
        need_program()
        draw = random.Random(3)

        def fault(down, data, count):
            return data[1:] if draw.random() < 0.02 else data

        for name in "a", "b":
            os.symlink(self.served(fault).path, os.path.join(self.folder.name, name))
        task = os.path.join(self.folder.name, "task.json")
        with open(task, "w", encoding="utf-8") as file:
            json.dump({"adapter": {"form": "random", "dim": DIM, "of": 1000, "seed": 1}}, file)
        command = [sys.executable, os.path.join(HERE, "gateway.py"), os.path.join(self.folder.name, "{name}"), "10", task]
        settings = dict(dim=DIM, samples=10, graph="complete", non_private=True, rounds=3, cooldown=2, mu=0.1, eta=2, task=task)
        with Fleet.create(os.path.join(self.folder.name, "study"), ["a", "b"], scorer=command, **settings) as fleet:
            fleet.start()
            fleet.wait(timeout=240)
            x = fleet.nodes["a"].model()
        self.assertEqual(x.shape, (DIM,))
        self.assertGreater(np.abs(x).max(), 0)

    def test_socket(self):
        """Over TCP, where the device hangs up after every third query."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            def serve():
                while True:
                    try:
                        conn = server.accept()[0]
                    except OSError:
                        return
                    with conn, subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as device:
                        for _ in range(3):
                            got = b""
                            while len(got) < 6 + 4 * DIM + 2 and (more := conn.recv(4096)):
                                got += more
                            device.stdin.write(got)
                            conn.sendall(device.stdout.read(10))

            threading.Thread(target=serve, daemon=True).start()
            line = Line("127.0.0.1:%d" % server.getsockname()[1], patience=5)
            self.ask(line, count=10)
            line._close()


if __name__ == "__main__":
    unittest.main()
