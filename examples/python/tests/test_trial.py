import os
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import numpy as np

from spade_edge import Fleet, ScorerError, SpadeEdgeError, trial, wrap

from . import HERE, need_program

X = np.random.default_rng(0).normal(size=(60, 2))
FAST = dict(non_private=True, rounds=3, cooldown=1, eta=0.1, mu=0.1, timeout=100)
SITE = """
import numpy as np
from spade_edge import trial, wrap
print("a line before the trial")
x = np.random.default_rng(0).normal(size=(60, 2))
def site(n): return wrap({"w": np.zeros(2)}, (x[int(n)::3],), lambda m, row: float(((m["w"] - [1, -1]) ** 2).sum() / 4))
print("sign", np.sign(trial(site, ["0", "1", "2"], non_private=True, rounds=3, cooldown=1, eta=0.1, mu=0.1, timeout=100)["0"]))
"""


def site_of(goal, calls=None):
    def site(name):
        def loss(m, row):
            if calls is not None:
                calls.append(name)
            return float(((m["w"] - goal) ** 2).sum() / 4)
        return wrap({"w": np.zeros(2)}, (X[int(name)::3],), loss)
    return site


class Trials(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        need_program()

    def test_two(self):
        """The second trial of a program learns from the second one's data, and what it learned does not depend on the first."""
        goal, calls = np.array([1, -1]), []
        first = trial(site_of(goal, calls), ["0", "1", "2"], **FAST)
        second = trial(site_of(-goal), ["0", "1", "2"], **FAST)
        self.assertEqual(np.sign(first["0"]).tolist(), [1, -1])
        self.assertEqual(np.sign(second["0"]).tolist(), [-1, 1])
        self.assertEqual(set(calls), {"0", "1", "2"})

    def test_sites(self):
        """Sites with other classes are refused, and two with the same data are named, as a program has that returns one site for all names."""
        made = site_of(np.ones(2))
        with self.assertWarnsRegex(UserWarning, "a and b have the same data"):
            trial(lambda name: made("0"), ["a", "b"], **FAST)
        one, other = made("0"), made("1")
        one.classes, other.classes = ["no", "yes"], ["yes", "zebra"]
        with self.assertRaisesRegex(ValueError, r"a has the classes \['no', 'yes'\], and b \['yes', 'zebra'\]: give wrap"):
            trial({"a": one, "b": other}.get, ["a", "b"], **FAST)

    def test_hosts(self):
        """A trial runs in a module of a package, in text without a file as a notebook has it, and after prints."""
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "pkg"))
            for name, text in ("__init__.py", ""), ("main.py", "from . import __name__\n" + SITE):
                with open(os.path.join(folder, "pkg", name), "w") as file:
                    file.write(text)
            for command in ["-m", "pkg.main"], ["-c", SITE]:
                done = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, timeout=200,
                                      env=dict(os.environ, PYTHONPATH=HERE))
                self.assertEqual(done.stdout, "a line before the trial\nsign [ 1. -1.]\n", done.stderr)

    def test_all_losses_raise(self):
        """A trial whose losses all raise is an error with the first traceback, also if it is private and ran to its end."""
        for private in False, True:
            calls = []

            def loss(m, row):
                calls.append(len(calls))
                raise ValueError(f"call {calls[-1]} has no label")

            def site(name):
                good = wrap({"w": np.zeros(2)}, (X[:20],), lambda m, row: 0.5)
                return wrap({"w": np.zeros(2)}, (X[:20],), loss) if name == "b" else good

            settings = {**FAST, **(dict(non_private=False, unit="record", epsilon=100) if private else {})}
            with self.assertRaises(SpadeEdgeError) as caught:
                trial(site, ["a", "b"], **settings)
            cause = caught.exception.__cause__
            self.assertIsInstance(cause, ScorerError)
            self.assertIn("ValueError: call ", str(cause))
            self.assertIn("in loss\n", str(cause))
            if private:
                self.assertIn("ValueError: call 0 has no label", str(cause))
                self.assertRegex(str(caught.exception), "all [0-9]+ losses of b failed")

    def test_timeout(self):
        """A trial that lasts too long names the first failure of a loss."""
        calls = []

        def loss(m, row):
            calls.append(len(calls))
            raise ValueError("no label")

        def wait(fleet, timeout):
            while len(calls) < 2:
                time.sleep(0.02)
            raise subprocess.TimeoutExpired("spade-edge run", timeout)

        with mock.patch.object(Fleet, "wait", wait), self.assertRaises(subprocess.TimeoutExpired) as caught:
            trial(lambda name: wrap({"w": np.zeros(2)}, (X[:20],), loss), ["a", "b"], **{**FAST, "non_private": False, "epsilon": 100})
        self.assertIn("ValueError: no label", str(caught.exception.__cause__))

    def test_wrong(self):
        """What is no site is named."""
        with self.assertRaisesRegex(TypeError, r"site\('a'\) returned NoneType, want what wrap returns"):
            trial(lambda name: None, ["a"])
        with self.assertRaisesRegex(ValueError, "names is empty"):
            trial(lambda name: None, [])


if __name__ == "__main__":
    unittest.main()
