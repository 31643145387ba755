import hashlib
import json
import os
import tempfile
import unittest

import numpy as np

from spade_edge import Adapter, Fleet, Scorer, SpadeEdgeError
from spade_edge.process import python

from . import HERE, need_program
from .test_scorer import ask, query

OF = 10_001
BASE = (np.arange(OF) % 1000).astype("f4") / np.float32(8)
C = np.arange(1, 101).astype("f4") / np.float32(3)
BASIS = (np.arange(2 * OF) % 77).astype("f4") / np.float32(7)
MATRICES = [{"name": "a", "offset": 10, "rows": 7, "columns": 65}, {"name": "b", "offset": 500, "rows": 20, "columns": 9}]
# Each form, and the SHA-256 that examples/adapter/adapter_test.go has for the same numbers.
GOLDEN = [
    ({"form": "random", "dim": 100, "of": OF, "seed": 12345678901234567890}, 
     "e69cdb04ba19fd45292591588b84df372194371a23e4e4b26fb43a1d9bf39f5e"),
    ({"form": "lora", "dim": 54, "of": OF, "seed": 5, "rank": 2, "matrices": MATRICES}, 
     "2f0bcfda773d7afbeac732c370700dce958c5d2cf0a82649187dcbb628fbe6c1"),
    ({"form": "coords", "dim": 5, "of": OF, "ranges": [[0, 2], [9999, 10000]]}, 
     "c15c1cd731f54bb779abd9d134db10a90895ef670ebea86843b7ada34af6f5d2"),
    ({"form": "basis", "dim": 2, "of": OF}, 
     "482b4473a4247a44525f09d6dda57eb3b774dfc2dee9cbb40cd06dd431927a0e"),
]


class Adapters(unittest.TestCase):
    def test_golden(self):
        """Every form has the bits of the package in Go, one at a time and several at once."""
        for spec, want in GOLDEN:
            a = Adapter(spec, BASE, BASIS)
            c = C[:a.dim]
            x = a.expand(c)
            self.assertEqual(x.dtype, np.float32)
            self.assertEqual(hashlib.sha256(x.tobytes()).hexdigest(), want, spec["form"])
            self.assertTrue((a.expand(np.stack([c, c * 2]))[0] == x).all())

    def test_load(self):
        """The files of a fleet are read and checked; a base that is given must have the hash of the task."""
        with tempfile.TemporaryDirectory() as folder:
            base = np.arange(6, dtype="<f4")
            base.tofile(os.path.join(folder, "base.bin"))
            spec = {"form": "random", "dim": 2, "of": 6, "seed": 1,
                    "base": {"file": "base.bin", "sha256": hashlib.sha256(base.tobytes()).hexdigest()}}
            path = os.path.join(folder, "fleet.json")

            def write(adapter):
                with open(path, "w", encoding="utf-8") as f:
                    json.dump({"task": {"program": {"adapter": adapter}}} if adapter else {}, f)

            write(spec)
            for a in Adapter.load(path), Adapter.load(path, base.reshape(2, 3)):
                self.assertTrue((a.expand(np.zeros(2)) == base).all())
                self.assertEqual(json.loads(a.text), {"adapter": spec})
            for wrong, words in ((base + 1, "want " + spec["base"]["sha256"]), (base[:5], "5 numbers, want 6")):
                with self.assertRaisesRegex(ValueError, words):
                    Adapter.load(path, wrong)
            task = os.path.join(folder, "adapter.json")
            a.save(task)
            self.assertEqual(Adapter.load(task).text, a.text)
            self.assertEqual(a.radius(), 0.612)
            (base + 1).tofile(os.path.join(folder, "base.bin"))
            with self.assertRaisesRegex(ValueError, "base has SHA-256"):
                Adapter.load(path)
            write(None)
            with self.assertRaisesRegex(ValueError, "no adapter"):
                Adapter.load(path)
            with self.assertRaisesRegex(ValueError, "want random"):
                Adapter({"form": "none", "dim": 1, "of": 1})
            with self.assertRaisesRegex(ValueError, "3 numbers, want 2"):
                a.expand(np.zeros(3))

    def test_scorer(self):
        """A scorer with an adapter says so in its hello, and its function gets all parameters, in groups that have room."""
        of = 3_000_000
        a = Adapter({"form": "random", "dim": 3, "of": of, "seed": 1})
        shapes = []

        def loss(x, samples):
            shapes.append(x.shape)
            return x[:, 0] * a.expand([1, 0, 0])[0] + samples

        hello, answers = ask(Scorer(loss, samples=9, batch=True, adapter=a), query(7, 2, [0.5, 1, 2]) + query(8, 3, [1, 1, 2]))
        self.assertEqual(hello[:1], b"\xa4")
        self.assertTrue(hello.endswith(b"\x04\x7a" + len(a.text).to_bytes(4, "big") + a.text.encode()))
        self.assertEqual(answers, [(7, 2.5), (8, 4.0)])
        self.assertEqual(shapes, [(1, of), (1, of)])
        with self.assertRaisesRegex(ValueError, "dim is 4"):
            Scorer(loss, dim=4, samples=9, adapter=a)

    def test_fleet(self):
        """A fleet whose scorers expand the numbers trains them; a scorer with another seed is refused."""
        need_program()
        with tempfile.TemporaryDirectory() as folder:
            base = np.random.default_rng(1).normal(size=100) / 2
            base.astype("<f4").tofile(os.path.join(folder, "base.bin"))
            with open(os.path.join(folder, "base.bin"), "rb") as f:
                file = {"file": "base.bin", "sha256": hashlib.sha256(f.read()).hexdigest()}
            a = Adapter({"form": "random", "dim": 8, "of": 100, "seed": 7, "base": file}, base)
            task, other = os.path.join(folder, "adapter.json"), os.path.join(folder, "other.json")
            a.save(task)
            Adapter({**a.spec, "seed": 8}, base).save(other)
            script = python(os.path.join(HERE, "tests", "adapted.py"), task)
            settings = dict(dim=8, samples=20, graph="complete", non_private=True, rounds=3, cooldown=2, mu=a.radius(), task=task)
            with Fleet.create(os.path.join(folder, "study"), ["a", "b"], scorer=script, **settings) as fleet:
                fleet.start()
                fleet.wait(timeout=120)
                model = fleet.nodes["a"].model()
            self.assertEqual(model.shape, (8,))
            self.assertNotEqual(model.tobytes(), bytes(32))
            script = python(os.path.join(HERE, "tests", "adapted.py"), other)
            with Fleet.create(os.path.join(folder, "wrong"), ["a", "b"], scorer=script, **settings) as fleet:
                fleet.start()
                with self.assertRaisesRegex(SpadeEdgeError, r"oracle\.stream has the task .*as in task\.program"):
                    fleet.wait(timeout=120)
