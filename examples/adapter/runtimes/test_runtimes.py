"""python3 -m unittest, in this folder: what has its runtime here is tested, with losses and as the scorer of a fleet.

ONNX Runtime for Node is looked for in the folder that NODE_MODULES names, where "npm install onnxruntime-node" has put it.
"""
import hashlib
import importlib.util
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import model

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "python"))
from spade_edge import Adapter, Fleet  # noqa: E402
from tests import need_program  # noqa: E402

X = (np.random.default_rng(1).normal(size=(4, model.DIM)) / 2).astype("<f4")


class Runtimes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def losses(self, command):
        """Compares a scorer's losses with those in numpy."""
        asked = [(i, h) for i in range(len(X)) for h in (0, 7, model.SAMPLES - 1)]
        text = b""
        for n, (i, h) in enumerate(asked):
            body = (b"\xa3\x01\x1b" + struct.pack(">Q", n) + b"\x02\x1b" + struct.pack(">Q", h) + b"\x03\xd8\x55\x5a"
                    + struct.pack(">I", 4 * model.DIM) + X[i].tobytes())
            text += struct.pack("<I", len(body)) + body
        out = subprocess.run(command, input=text, stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(struct.unpack("<I", out[:4])[0], 15)
        self.assertEqual(struct.unpack(">I", out[9:13])[0], model.DIM)
        answers = out[19:]
        self.assertEqual(len(answers), 25 * len(asked))
        for at in range(0, len(answers), 25):
            n, = struct.unpack(">Q", answers[at + 7:at + 15])
            i, h = asked[n]
            self.assertAlmostEqual(struct.unpack(">d", answers[at + 17:at + 25])[0], model.loss(X[i], h), places=5)

    def trained(self, command, spec):
        """Runs two nodes that train the numbers of an adapter, whose file follows the command, and checks that the loss falls."""
        need_program()
        X[0].tofile(os.path.join(self.folder, "base.bin"))
        spec = {**spec, "of": model.DIM, "base": {"file": "base.bin", "sha256": hashlib.sha256(X[0].tobytes()).hexdigest()}}
        adapter, task = Adapter(spec, X[0]), os.path.join(self.folder, "adapter.json")
        adapter.save(task)
        command = command + [task]
        settings = dict(dim=adapter.dim, samples=model.SAMPLES, graph="complete", non_private=True, rounds=10, cooldown=2,
                        mu=0.1, eta=3, task=task)
        with tempfile.TemporaryDirectory() as folder:
            with Fleet.create(os.path.join(folder, "study"), ["a", "b"], scorer=command, **settings) as fleet:
                fleet.start()
                fleet.wait(timeout=240)
                x = adapter.expand(fleet.nodes["a"].model())
        before, after = (np.mean([model.loss(x, h) for h in range(model.SAMPLES)]) for x in (X[0], x))
        self.assertLess(after, before - 0.05)

    def test_onnx_runtime(self):
        modules = os.environ.get("NODE_MODULES", "")
        if not shutil.which("node") or not os.path.isdir(os.path.join(modules, "onnxruntime-node")):
            self.skipTest("needs node, and NODE_MODULES with onnxruntime-node")
        if importlib.util.find_spec("onnx") is None:
            self.skipTest("needs the package onnx, which writes the model")
        script = os.path.join(self.folder, "onnx.mjs")  # beside its modules, as a module of Node looks for them
        shutil.copy(os.path.join(HERE, "onnx.mjs"), script)
        os.symlink(os.path.abspath(modules), os.path.join(self.folder, "node_modules"))
        path = os.path.join(self.folder, "net.onnx")
        model.write_onnx(path)
        self.losses(["node", script, path])
        self.trained(["node", script, path], {"form": "coords", "dim": model.DIM - 144, "ranges": [[144, model.DIM - 1]]})

    def test_torch(self):
        if importlib.util.find_spec("torch") is None:
            self.skipTest("needs PyTorch")
        script = [sys.executable, os.path.join(HERE, "torch_scorer.py")]
        self.losses(script)
        self.trained(script, {"form": "random", "dim": 24, "seed": 1})


if __name__ == "__main__":
    unittest.main()
