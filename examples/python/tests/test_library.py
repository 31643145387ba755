import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import traceback
import unittest

import numpy as np

from spade_edge import Fleet, LocalNode, SpadeEdgeError
from spade_edge.process import python

from . import HERE, ROOT, need_program

_built = tempfile.TemporaryDirectory()
SCORER = os.path.join(HERE, "tests", "score.py")


def need_library():
    """Builds the C library of this checkout, unless SPADE_EDGE_LIBRARY names one."""
    if os.environ.get("SPADE_EDGE_LIBRARY"):
        return
    if not shutil.which("go") or not shutil.which(os.environ.get("CC", "cc")):
        raise unittest.SkipTest("needs SPADE_EDGE_LIBRARY, the path of libspade_edge.so, or Go and a C compiler")
    path = os.path.join(_built.name, "libspade_edge.so")
    subprocess.run(["go", "build", "-buildmode=c-shared", "-o", path, "."], cwd=os.path.join(ROOT, "examples", "c"), check=True,
                   env=dict(os.environ, CGO_ENABLED="1"))
    os.environ["SPADE_EDGE_LIBRARY"] = path


def losses(name):
    """The loss of tests/score.py."""
    rows = np.random.default_rng(ord(name)).normal(size=(50, 3))
    want = rows @ [1, -1, 0.5]

    def loss(x, sample):
        miss = sum(float(a) * float(b) for a, b in zip(rows[sample], x)) - want[sample]
        return miss * miss / (1 + miss * miss)

    return loss


class LocalNodes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        need_program()
        need_library()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def fleet(self, run, *names, **settings):
        return Fleet.create(os.path.join(self.folder.name, run), names, scorer=python(SCORER, "one", "{name}"), run="same",
                            **{**dict(dim=3, samples=50, graph="complete", non_private=True, rounds=20, cooldown=2), **settings})

    def test_same_bits(self):
        """A node in this process ends with the bits of one that is a process, also after a stop in the middle."""
        with self.fleet("apart", "a", "b") as fleet:
            fleet.start()
            fleet.wait(timeout=120)
            want = [node.model() for node in fleet.nodes.values()]
        with self.fleet("here", "a", "b") as fleet:
            fleet.nodes["b"].start()
            a, rounds = losses("a"), []

            def counted(x, sample):
                rounds.append(sample)
                if len(rounds) == 1000:
                    node.stop()
                return a(x, sample)

            lines = []
            with LocalNode(fleet.nodes["a"].file, counted, 50, on_line=lines.append) as node:
                self.assertFalse(node.run())
                self.assertLess(node.status()["round"], 22)
            with LocalNode(fleet.nodes["a"].file, a, 50) as node:
                self.assertTrue(node.run())
                self.assertTrue((node.model() == want[0]).all())
                self.assertEqual(node.status()["round"], 22)
                with self.assertRaises(SpadeEdgeError):
                    node.certificate()  # the run is not private
            fleet.nodes["b"].wait(timeout=60)
            self.assertTrue((fleet.nodes["b"].model() == want[1]).all())
            self.assertTrue(lines)

    def test_private(self):
        """A private node has a certificate."""
        with self.fleet("private", "a", "b", non_private=False, epsilon=1000) as fleet:
            fleet.nodes["b"].start("-anyway")
            with LocalNode(fleet.nodes["a"].file, losses("a"), 50) as node:
                self.assertTrue(node.run(anyway=True))
                self.assertEqual(node.certificate()["member"], "a")
            fleet.nodes["b"].wait(timeout=60)

    def test_faults(self):
        """A loss that raises ends a run without privacy with its traceback; a wrong file and a node that is closed are named."""
        with self.assertRaisesRegex(SpadeEdgeError, "nope.json") as caught:
            LocalNode("nope.json")
        self.assertEqual(caught.exception.code, 2)
        with self.fleet("bad", "a", "b") as fleet:
            node = LocalNode(fleet.nodes["a"].file, lambda x, h: 1 / 0, 50)
            with self.assertRaises(SpadeEdgeError) as caught:
                node.run()
            self.assertIsInstance(caught.exception.__cause__, ZeroDivisionError)
            said = "".join(traceback.format_exception(caught.exception))
            self.assertLess(said.index("ZeroDivisionError: division by zero"), said.index("spade-edge run: exit code 1"))
            node.close()
            with self.assertRaises(SpadeEdgeError):
                node.status()

    def test_no_number(self):
        """A loss that returns no number has not returned whatever was in memory: the run ends with the reason."""
        for value, want in (None, "loss returned None, want a number"), ("0.5", "loss returned '0.5'"), (np.ones(3), r"of shape \(3,\)"):
            with self.fleet(f"none-{np.ndim(value)}-{value is None}", "a", "b") as fleet:
                with LocalNode(fleet.nodes["a"].file, lambda x, h: value, 50) as node:
                    with self.assertRaises(SpadeEdgeError) as caught:
                        node.run()
                    with self.assertRaisesRegex(TypeError, want):
                        raise caught.exception.__cause__

    def test_all_losses_fail(self):
        """A private node without one loss ends with the first reason, although its rounds are done."""
        with self.fleet("private", "a", "b", non_private=False, epsilon=1000, rounds=3) as fleet:
            fleet.nodes["b"].start("-anyway")
            with LocalNode(fleet.nodes["a"].file, lambda x, h: None, 50) as node:
                with self.assertRaisesRegex(SpadeEdgeError, "all [0-9]+ losses of this node failed") as caught:
                    node.run(anyway=True)
                self.assertIn("loss returned None, want a number", str(caught.exception.__cause__))
                self.assertEqual(node.certificate()["member"], "a")
                self.assertGreater(node.status()["local"]["failed_queries"], 0)
            fleet.nodes["b"].wait(timeout=60)

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_forked(self):
        """In a forked child every call of a node raises, and names what to use instead."""
        with self.fleet("forked", "a", "b") as fleet:
            with LocalNode(fleet.nodes["a"].file, losses("a"), 50) as node:
                calls = [node.run, node.stop, node.status, node.certificate, node.model, node.close,
                         lambda: LocalNode(fleet.nodes["a"].file, losses("a"), 50)]
                pid, right = os.fork(), 0
                if pid == 0:
                    try:
                        for call in calls:
                            try:
                                call()
                            except RuntimeError as error:
                                right += "spawn" in str(error)
                    finally:
                        os._exit(right)
                self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), len(calls))
                self.assertEqual(node.status()["round"], 0)

    def test_waiting_is_said(self):
        """A node that waits says for whom and why, without being asked, and rarely."""
        with self.fleet("alone", "a", "b") as fleet:
            with LocalNode(fleet.nodes["a"].file, losses("a"), 50) as node, self.assertLogs("spade_edge", "WARNING") as said:
                stopper = threading.Timer(8, node.stop)
                stopper.start()
                node.run()
            self.assertEqual(len(said.output), 1, said.output)
            self.assertIn('waiting for "b" (not connected: ', said.output[0])
            self.assertIn("connection refused", said.output[0])

    def test_interrupt(self):
        """Ctrl-C ends run, and the node goes on later."""
        # A shell starts what runs in the background with the signal ignored.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        with self.fleet("slow", "a", "b") as fleet:
            with LocalNode(fleet.nodes["a"].file, losses("a"), 50) as node:
                threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
                began = time.monotonic()
                with self.assertRaises(KeyboardInterrupt):
                    node.run()  # waits for b
                self.assertLess(time.monotonic() - began, 60)


if __name__ == "__main__":
    unittest.main()
