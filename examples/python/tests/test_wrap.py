import os
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np

from spade_edge import Fleet, wrap

from . import HERE, need_program

try:
    import sklearn
except ImportError:
    sklearn = None
try:
    import torch
except ImportError:
    torch = None

DRAW = np.random.default_rng(5)
X, Y = DRAW.normal(size=(12, 3)), np.array([0, 2, 1, 1, 0, 2, 2, 1, 0, 0, 1, 2])


class Steps:
    """What wrap knows a Pipeline of scikit-learn by."""
    steps, named_steps = [], {}


class Numpy(unittest.TestCase):
    def test_arrays(self):
        """A dict of arrays becomes a vector and back; what is frozen stays, and the loss sees both."""
        model = {"w": np.array([[1.0, 2, 3], [4, 5, 6]]), "scale": np.array(3.0), "b": np.array([7.0, 8])}
        seen = []

        def loss(m, x, y):
            seen.append((x, y))
            return float(m["scale"]) * float((m["w"] @ x + m["b"])[y % 2])

        w = wrap(model, (X, Y), loss, frozen="scale")
        self.assertEqual((w.dim, w.samples, w.start.dtype), (8, 12, "float32"))
        self.assertEqual(w.start.tolist(), [1, 2, 3, 4, 5, 6, 7, 8])
        v = np.arange(8, dtype="f4") / 4
        self.assertAlmostEqual(w(v, 1), 3 * float(v[:3] @ X[1] + v[6]), places=5)
        self.assertTrue((seen[0][0] == X[1]).all() and seen[0][1] == Y[1])
        self.assertEqual(model["w"].tolist(), [[1, 2, 3], [4, 5, 6]])  # a query leaves the caller's model alone
        self.assertIs(w.into_model(v), model)
        self.assertEqual((model["w"].ravel().tolist(), model["b"].tolist(), float(model["scale"])),
                         (v[:6].tolist(), v[6:].tolist(), 3))

    def test_places(self):
        """Rows count from 0 in their order, also in a table that has labels, and a loss cannot change them."""
        class Table:
            """As pandas does, index a column by its labels."""
            iloc = None
            def __init__(self, values): self.values = values
            def __array__(self, *_): return self.values
            def __len__(self): return len(self.values)
            def __getitem__(self, label): return self.values[::-1][label]
        w = wrap({"w": np.ones(1)}, (X, Table(Y)), lambda m, x, y: float(y))
        self.assertEqual([w(w.start, i) for i in range(12)], Y.tolist())

        def changes(m, x, y):
            x /= 2
            return float(x[0])
        with self.assertRaisesRegex(ValueError, "read-only"):
            wrap({"w": np.ones(1)}, (X, Y), changes)(np.ones(1, "f4"), 0)
        X[0] += 0  # the caller's array stays writable

    def test_wrong(self):
        ok = {"w": np.ones(2)}
        for model, data, frozen, want in (
                ([1], (X,), (), "want a scikit-learn estimator"), (ok, (X,), ["v"], "frozen has 'v', want names from w"),
                (ok, (X,), "w", "all parameters are frozen"), (ok, (X, Y[:-1]), (), "have 11, 12 samples"), (ok, (X[:0],), (), "the data has no rows"),
                (ok, (), (), "data is empty"), (ok, ("text",), (), "data has 'text'"), (ok, 5, (), "data is int, want a tuple of arrays"),
                (Steps(), (X, Y), (), r"want its last step \(model\[-1\]\)")):
            with self.assertRaisesRegex((TypeError, ValueError), want):
                wrap(model, data, lambda *a: 0, frozen=frozen)
        with self.assertRaisesRegex(TypeError, "loss is None"):
            wrap(ok, (X,))


@unittest.skipUnless(sklearn, "needs scikit-learn")
class Sklearn(unittest.TestCase):
    def test_linear(self):
        """The loss of a classifier that was never fitted is the log loss of its own probabilities."""
        from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
        from sklearn.metrics import log_loss
        for model, y in (LogisticRegression(), Y), (SGDClassifier(loss="log_loss"), Y > 0), (LogisticRegression(), np.where(Y > 0, "ill", "well")):
            w = wrap(model, (X, y))
            self.assertFalse(w.start.any())
            v = DRAW.normal(size=w.dim).astype("f4")
            got = [w(v, i) for i in range(len(X))]
            fitted = w.into_model(v)
            self.assertAlmostEqual(np.mean(got), log_loss(y, fitted.predict_proba(X), labels=fitted.classes_), places=6)
            fitted.predict(X)
        w = wrap(LinearRegression(), (X, X @ [1, 2, 3] + 4))
        self.assertEqual(w.dim, 4)
        self.assertLess(max(w(np.array([1, 2, 3, 4], "f4"), i) for i in range(12)), 1e-9)
        w = wrap(LinearRegression(), (X, Y), loss=lambda said, y: abs(said - y), frozen="intercept_")
        self.assertEqual((w.dim, w(np.zeros(3, "f4"), 1)), (3, 2))

    def test_settings(self):
        """A model without an intercept gets none, and a setting that only fit knows is said to have no effect."""
        from sklearn.linear_model import LinearRegression, LogisticRegression
        self.assertEqual(wrap(LogisticRegression(fit_intercept=False), (X, Y)).dim, 9)
        w = wrap(LinearRegression(fit_intercept=False), (X, X @ [1, 2, 3]))
        self.assertEqual(w.dim, 3)
        self.assertLess(w(np.array([1, 2, 3], "f4"), 1), 1e-9)
        w.into_model(np.ones(3)).predict(X)
        for model, want in ((LogisticRegression(class_weight="balanced"), "class_weight='balanced' has no effect: the loss is the log loss"),
                            (LogisticRegression(C=0.01), "C=0.01 has no effect"), (LinearRegression(positive=True), "positive=True has no effect: .*squared error")):
            with self.assertWarnsRegex(UserWarning, want):
                wrap(model, (X, Y))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            wrap(LogisticRegression(), (X, Y))
            wrap(LogisticRegression(C=0.01), (X, Y), loss=lambda p, y: 1 - p[y])

    def test_start(self):
        """A fitted model begins where it is; a network where its random_state says, whatever the device's data."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.neural_network import MLPClassifier, MLPRegressor
        fitted = LogisticRegression().fit(X, Y)
        self.assertTrue(np.allclose(wrap(fitted, (X, Y)).start, np.append(fitted.coef_.ravel(), fitted.intercept_), atol=1e-6))
        with self.assertRaisesRegex(ValueError, "the model has the classes"):
            wrap(fitted, (X, Y + 1))
        for make, y in (MLPClassifier, Y), (MLPRegressor, X[:, 0]):
            a, b = (wrap(make((4,), random_state=1), d, classes=[0, 1, 2] if make is MLPClassifier else None) for d in ((X, y), (X[:5] * 9, y[:5])))
            self.assertTrue(a.start.any() and (a.start == b.start).all())
            self.assertTrue((a.start != wrap(make((4,), random_state=2), (X, y)).start).any())
            self.assertNotEqual(a(a.start, 0), a(a.start + 1, 0))

    def test_classes(self):
        """A device that lacks a class has the parameters of the others; a class that nobody named is refused."""
        from sklearn.linear_model import LogisticRegression
        self.assertEqual(wrap(LogisticRegression(), (X[Y < 2], Y[Y < 2]), classes=[0, 1, 2]).dim, 12)
        with self.assertRaisesRegex(ValueError, "has the class 2"):
            wrap(LogisticRegression(), (X, Y), classes=[0, 1])
        from sklearn.neighbors import KNeighborsClassifier
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.linear_model import Perceptron
        with self.assertRaisesRegex(TypeError, "no predict_proba"):
            wrap(Perceptron(), (X, Y))
        self.assertEqual(wrap(Perceptron(), (X, Y), lambda z, y: -z[y])(np.arange(12, dtype="f4") * 0 + 1, 2), -(X[2].sum() + 1))
        for model in KNeighborsClassifier(), RandomForestClassifier(2), RandomForestClassifier(2).fit(X, Y):
            with self.assertRaisesRegex(TypeError, "so its parameters are unknown"):
                wrap(model, (X, Y))

    def test_data(self):
        """Data that is no (X, y) of finite numbers and known classes is named before anything is learned from it."""
        from sklearn.linear_model import LinearRegression, LogisticRegression
        from sklearn.pipeline import make_pipeline
        missing = X.copy()
        missing[3, 1] = np.nan
        for model, data, want in (
                (LogisticRegression(), (X,), r"data is 1 arrays, want \(X, y\)"), (LogisticRegression(), X, r"data is ndarray, want \(X, y\)"),
                (LogisticRegression(), (X, Y[:3]), "X has 12 rows and y has 3"), (LogisticRegression(), (X[:0], Y[:0]), "the data has no rows"),
                (LogisticRegression(), (X, np.full(12, np.nan)), "y has nan in row 0"), (LogisticRegression(), (missing, Y), "X has nan in row 3"),
                (LogisticRegression(), (X, Y * 0), r"only the class \[0\]: give wrap the classes"), (LogisticRegression(), (X[0], Y), r"X has the shape \(3,\)"),
                (LogisticRegression(), (np.full((12, 2), "a"), Y), "X is not an array of numbers"),
                (LogisticRegression(), (X, Y[:, None]), r"y has the shape \(12, 1\)"), (LogisticRegression(), (X, [None, "a"] * 6), "y has None in row 0"),
                (LinearRegression(), (X, X[:, 0] / 0), "y has .*inf in row 0"), (make_pipeline(LogisticRegression()), (X, Y), "want its last step")):
            with self.assertRaisesRegex((TypeError, ValueError), want), np.errstate(divide="ignore"):
                wrap(model, data)

    def test_example(self):
        """Ten lines from a model to a fleet that has learned it."""
        need_program()
        path = os.path.join(HERE, "three_hospitals.py")
        with open(path) as file:
            self.assertLessEqual(len(file.read().splitlines()), 12)
        done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=400, env=dict(os.environ, PYTHONPATH=os.pathsep.join([HERE, *filter(None, [os.environ.get("PYTHONPATH")])])))
        self.assertEqual(done.returncode, 0, done.stderr)
        right = [float(line.split("right for ")[1].split("%")[0]) for line in done.stdout.splitlines()]
        self.assertEqual(len(right), 3, done.stdout)
        self.assertGreater(min(right), 85, done.stdout)


@unittest.skipUnless(torch, "needs PyTorch")
class Torch(unittest.TestCase):
    def test_module(self):
        """The vector is the parameters that are not frozen; the loss is torch's own, without dropout."""
        torch.manual_seed(3)
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.ReLU(), torch.nn.Linear(4, 3))
        model[3].bias.requires_grad = False
        loss, kept = torch.nn.functional.cross_entropy, model[3].bias.detach().clone()
        w = wrap(model, (X.astype("f4"), Y), loss, frozen="0")
        self.assertEqual(w.dim, 12)
        self.assertTrue((w.start == model[3].weight.detach().numpy().ravel()).all())
        first = model[0].weight.detach().clone()
        v = DRAW.normal(size=12).astype("f4")
        got = [w(v, i) for i in range(12)]
        model = w.into_model(v)
        with torch.no_grad():
            want = loss(model(torch.tensor(X.astype("f4"))), torch.tensor(Y))
        self.assertAlmostEqual(float(np.mean(got)), float(want), places=5)
        self.assertTrue((model[0].weight == first).all() and (model[3].bias == kept).all())
        self.assertTrue((model[3].weight.detach().numpy().ravel() == v).all())
        self.assertEqual(w(v, 3), w(v, 3))


class Starts(unittest.TestCase):
    def test_start_goes_to_the_fleet(self):
        """The start of a model is the x0 of a fleet."""
        need_program()
        w = wrap({"w": np.array([0.5, -2, 3])}, (X,), lambda m, x: 0.0)
        with tempfile.TemporaryDirectory() as folder:
            start = w.save_start(os.path.join(folder, "start.npy"))
            Fleet.create(os.path.join(folder, "f"), ["a", "b"], dim=3, samples=12, graph="complete", non_private=True, x0=start)
            files = [f for f in os.listdir(os.path.join(folder, "f")) if f not in ("a", "b", "fleet.json")]
            kept = [np.fromfile(os.path.join(folder, "f", f), "<f4") for f in files]
        self.assertTrue(any(k.size >= 3 and (k[-3:] == w.start).all() for k in kept), files)


if __name__ == "__main__":
    unittest.main()
