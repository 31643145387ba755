import os
import subprocess
import sys
import tempfile
import time
import traceback
import unittest

import numpy as np

from spade_edge import Fleet, Node, SpadeEdgeError
from spade_edge.process import python

from . import HERE, need_program

SCORER = os.path.join(HERE, "tests", "score.py")
SETTINGS = dict(dim=3, samples=50, graph="complete", non_private=True, rounds=20, cooldown=2)


class Processes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        need_program()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def fleet(self, *args, **settings):
        return Fleet.create(os.path.join(self.folder.name, "study"), ["a", "b", "c"], scorer=python(SCORER, *args, "{name}"),
                            **{**SETTINGS, **settings})

    def test_fleet(self):
        """Three nodes with scorers in Python learn; one that is stopped in the middle and started again changes no bit."""
        models = []
        for stop in False, True:
            self.folder.cleanup()
            os.mkdir(self.folder.name)
            events = []
            with self.fleet("one" if stop else "many", run="same") as fleet:
                fleet.start(on_event=lambda name, event: events.append((name, event["msg"])))
                if stop:
                    fleet.nodes["b"].stop()
                    self.assertFalse(fleet.nodes["b"].running)
                    fleet.nodes["b"].start()
                outcomes = fleet.wait(timeout=120)
                self.assertEqual(set(outcomes), {"a", "b", "c"})
                fleet.stop()
                self.assertEqual(fleet.wait(), outcomes)
                self.assertEqual({name for name, _ in events} | {"b"}, {"a", "b", "c"})
                models.append({name: node.model() for name, node in fleet.nodes.items()})
                for name, node in fleet.nodes.items():
                    self.assertEqual(node.status()["round"], 22)
        for name in "a", "b", "c":
            self.assertTrue((models[0][name] == models[1][name]).all())
            self.assertLess(np.abs(models[0][name] - [1, -1, 0.5]).max(), 0.2)

    def test_raises(self):
        """A scorer that raises ends a run without privacy, and its traceback is what the node's status says."""
        with self.fleet("bad") as fleet:
            fleet.start()
            with self.assertRaises(SpadeEdgeError) as caught:
                fleet.wait(timeout=120)
            self.assertEqual(caught.exception.code, 1)
            self.assertIn("row 7 has no label", str(caught.exception))
            said = "".join(traceback.format_exception(caught.exception))
            cause, effect = said.index("\nValueError: row 7 has no label\n"), said.index("spade-edge run: exit code 1")
            self.assertLess(cause, effect)
            self.assertIn('line 18, in loss\n    raise ValueError("row 7 has no label")', said[:cause])
            self.assertNotIn("\\n", said)
            self.assertTrue(any("row 7 has no label" in s.get("failure", "") for s in fleet.status().values()))
        os.rename(os.path.join(self.folder.name, "study"), os.path.join(self.folder.name, "old"))
        settings = dict(dim=3, samples=50, graph="complete", rounds=20000, epsilon=1000)
        with Fleet.create(os.path.join(self.folder.name, "study"), ["a", "b"], scorer=python(SCORER, "bad", "{name}"),
                          **settings) as fleet:
            fleet.start("-anyway")
            while True:  # the run goes on with a public constant, and says so to this device alone
                local = fleet.nodes["a"].status()["local"]
                if local and "last_failure" in local:
                    break
                self.assertTrue(fleet.nodes["a"].running, fleet.nodes["a"].events)
                time.sleep(0.1)
            self.assertIn("Traceback", local["last_failure"])
            self.assertIn("row 7 has no label", local["last_failure"])

    def test_faults(self):
        """What the program refuses is an exception with its words and its exit code."""
        with self.assertRaisesRegex(SpadeEdgeError, "nope.json") as caught:
            Node(os.path.join(self.folder.name, "nope.json")).status()
        self.assertEqual(caught.exception.code, 64)
        with self.assertRaisesRegex(SpadeEdgeError, "rounds"):
            self.fleet(rounds=-1)
        with self.assertRaisesRegex(TypeError, "want a list"):
            Fleet.create(os.path.join(self.folder.name, "x"), ["a", "b"], scorer="python3 score.py")
        with self.assertRaisesRegex(RuntimeError, "not started"):
            Node("node.json").wait()

    def test_example(self):
        """The example learns what it says."""
        done = subprocess.run([sys.executable, os.path.join(HERE, "three_nodes.py")], capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 4, done.stdout)
        for line in lines[:3]:
            self.assertGreater(float(line.split("right for ")[1].split("%")[0]), 80)


if __name__ == "__main__":
    unittest.main()
