import contextlib
import io
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from fractions import Fraction

import numpy as np

from spade_edge import scorer

from . import HERE


def query(id, sample, x):
    """A query as examples/scorer/README.md shows it."""
    message = (b"\xa3\x01\x1b" + struct.pack(">Q", id) + b"\x02\x1b" + struct.pack(">Q", sample) + b"\x03\xd8\x55\x5a"
               + struct.pack(">I", 4 * len(x)) + np.asarray(x, "<f4").tobytes())
    return struct.pack("<I", len(message)) + message


class Pieces(io.RawIOBase):
    """Input that comes in pieces of the given sizes, over and over."""

    def __init__(self, data, *sizes):
        self.data, self.sizes, self.turn = data, sizes, 0

    def readinto(self, view):
        n = min(len(view), len(self.data), self.sizes[self.turn % len(self.sizes)])
        self.turn += 1
        view[:n], self.data = self.data[:n], self.data[n:]
        return n


class Sink:
    """Output that takes some bytes of what it is given."""

    def __init__(self):
        self.data = b""

    def write(self, view):
        self.data += bytes(view[:1000])
        return min(len(view), 1000)


def ask(s, data, *sizes):
    """What a scorer writes: the hello, and the answers, each an id with a loss or a text."""
    sink, said = Sink(), io.StringIO()
    with contextlib.redirect_stderr(said):
        s.answer(Pieces(data, *(sizes or (1 << 30,))), sink)
    frames, rest = [], sink.data
    while rest:
        size, = struct.unpack_from("<I", rest)
        frames.append(rest[4:4 + size])
        rest = rest[4 + size:]
    answers = []
    for f in frames[1:]:
        assert f[:3] == b"\xa2\x01\x1b", f
        id, = struct.unpack_from(">Q", f, 3)
        if f[11:13] == b"\x02\xfb":
            answers.append((id, struct.unpack_from(">d", f, 13)[0]))
        else:
            assert f[11:13] == b"\x03\x79", f
            size, = struct.unpack_from(">H", f, 13)
            assert len(f) == 15 + size
            answers.append((id, f[15:].decode()))
    return frames[0], answers


class Scorers(unittest.TestCase):
    def test_answers(self):
        """Losses are those of the function, however the bytes come in pieces, one by one and in batches."""
        draw = np.random.default_rng(1)
        for dim in 1, 2, 3, 1000, 70000:
            rows = draw.normal(size=(7, dim))
            want, data = [], b""
            for id in range(40 if dim < 70000 else 5):
                x, h = draw.normal(size=dim).astype("f4"), int(draw.integers(7))
                data += query(id + (1 << 40), h, x)
                want.append((id + (1 << 40), float(rows[h] @ x.astype("f8"))))

            one = scorer(dim=dim, samples=7)(lambda x, h: float(rows[h] @ x.astype("f8")))
            many = scorer(dim=dim, samples=7, batch=True)(
                lambda x, h: np.array([rows[i] @ p.astype("f8") for p, i in zip(x, h)]))
            for s in one, many:
                for sizes in (), (1, 5000, 17), (33 + 4 * dim,), (65536,):
                    hello, got = ask(s, data, *sizes)
                    self.assertEqual(hello, struct.pack(">BBBBBIBBI", 0xA3, 1, 1, 2, 0x1A, dim, 3, 0x1A, 7))
                    self.assertEqual(got, want)

    def test_data(self):
        """The hello tells a digest of the data, which any change of it changes."""
        rows = np.arange(6, dtype="f4").reshape(3, 2)
        digests = set()
        for data in rows, rows[::-1], rows.T, rows.astype("f8"), rows.tobytes(), [rows, rows], [rows, [1, 2]], ["a", "b"], ["ab"]:
            hello, _ = ask(scorer(dim=2, samples=3, data=data)(lambda x, h: 0), b"")
            head = struct.pack(">BBBBBIBBI", 0xA4, 1, 1, 2, 0x1A, 2, 3, 0x1A, 3) + b"\x05\x7a\0\0\0\x40"
            self.assertEqual((hello[:len(head)], len(hello)), (head, len(head) + 64))
            digests.add(hello[len(head):])
        self.assertEqual(len(digests), 9)
        with self.assertRaisesRegex(ValueError, "want numbers, text or bytes"):
            scorer(dim=2, samples=3, data=np.array([{}]))(lambda x, h: 0)

    def test_raises(self):
        """A query without a loss costs no other its own, and says why with the end of the traceback."""
        def odd(x, h):
            if h == 2:
                raise ValueError("row 2 has no label: é" + "x" * 5000)
            return h

        def odd_ones(x, h):
            return [odd(None, i) for i in h]

        data = b"".join(query(id, id % 4, [0, 0]) for id in range(8))
        for s in scorer(dim=2, samples=4)(odd), scorer(dim=2, samples=4, batch=True)(odd_ones):
            _, got = ask(s, data)
            self.assertEqual([id for id, _ in got], list(range(8)))
            for id, answer in got:
                if id % 4 == 2:
                    self.assertTrue(answer.endswith("xxx\n") and len(answer) <= 2000, answer)
                else:
                    self.assertEqual(answer, id % 4)
        _, got = ask(scorer(dim=1, samples=1)(lambda x, h: 1 / 0), query(1, 0, [1]))
        self.assertIn("Traceback", got[0][1])
        self.assertIn("ZeroDivisionError", got[0][1])

    def test_no_number(self):
        """What is no number is no loss, although numpy would make one of it; what has one number is one."""
        two = query(1, 0, [1]) + query(2, 0, [3])
        for value, want in ((None, "returned None"), ("0.5", "returned '0.5'"), (b"1", "returned b'1'"), (1j, "returned 1j"), ([1], r"returned [1]"),
                            (np.ones(2), "an array of shape (2,)"), (np.ones(0), "an array of shape (0,)"), (np.array("7"), "want a number")):
            _, got = ask(scorer(dim=1, samples=1)(lambda x, h: value), two)
            for _, answer in got:
                self.assertIn("TypeError: loss returned", answer)
                self.assertIn(want, answer)
        for value in 1, True, np.float32(1), np.array(1), np.ones((1, 1)), Fraction(1):
            self.assertEqual(ask(scorer(dim=1, samples=1)(lambda x, h: value), two)[1], [(1, 1.0), (2, 1.0)])
        for value, want in ((None, "returned None"), (0.5, "returned 0.5"), (np.ones((1, 3)), "shape (1, 3)"), ([None], "returned None"), (["1"], "returned '1'"),
                            (np.ones(3), "shape (3,)"), (np.array(["1"]), "want a number"), ("1", "returned '1'"), (np.array([1j]), "want a number")):
            _, got = ask(scorer(dim=1, samples=1, batch=True)(lambda x, h: value), two)
            for _, answer in got:
                self.assertIn("TypeError: loss returned", answer)
                self.assertIn(want, answer)

    def test_views(self):
        """What the function gets cannot be written to."""
        def write(x, h):
            x[0] = 1

        _, got = ask(scorer(dim=1, samples=1)(write), query(1, 0, [1]))
        self.assertIn("read-only", got[0][1])

    def test_wrong(self):
        """Numbers that are none, JSON in place of CBOR, and a query that is cut off are refused with a reason."""
        for dim, samples in (0, 1), (1, 0), (1.5, 1), ("3", 1), (True, 1):
            with self.assertRaisesRegex(ValueError, "want a whole number"):
                scorer(dim=dim, samples=samples)(lambda x, h: 0)
        s = scorer(dim=2, samples=3)(lambda x, h: 0)
        with self.assertRaisesRegex(ValueError, '"format": "cbor"'):
            ask(s, b'{"id":1,"sample":0,"x":[0.5,-0.25]}\n{"id":2,"sample":0,"x":[0.5,-0.25]}\n')
        with self.assertRaisesRegex(ValueError, "in the middle of a query"):
            ask(s, query(1, 0, [0, 0])[:-1])

    def test_process(self):
        """What the function prints, and what it reads, does not get between the node and its answers."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "score.py")
            with open(path, "w") as file:
                file.write("import os, sys\nfrom spade_edge import scorer\n"
                           "@scorer(dim=1, samples=2)\ndef loss(x, h):\n"
                           "    print('here'); os.system('echo there'); assert sys.stdin.read() == ''\n    return x[0]\n"
                           "loss.serve()\n")
            done = subprocess.run([sys.executable, path], input=query(5, 1, [0.5]), capture_output=True, timeout=60,
                                  env=dict(os.environ, PYTHONPATH=HERE))
        self.assertEqual(done.stdout[19:], struct.pack("<I", 21) + b"\xa2\x01\x1b" + struct.pack(">Q", 5) + b"\x02\xfb"
                         + struct.pack(">d", 0.5))
        self.assertIn(b"here", done.stderr)
        self.assertIn(b"there", done.stderr)


if __name__ == "__main__":
    unittest.main()
