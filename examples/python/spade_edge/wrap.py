"""Bring your own model: wrap makes a scorer of a scikit-learn estimator, a PyTorch module, or numpy arrays."""
import os
import sys
import tempfile

import numpy as np

from .process import Fleet, python
from .scorer import Scorer, digest

_AS_SCORER = "--spade-edge-scorer"


def wrap(model, data, loss=None, frozen=(), classes=None):
    """Returns a Wrapped, which is a Scorer, of a model and a device's data. The data stays in this process.

    model is one of
      a scikit-learn estimator with coef_ and intercept_, or coefs_ and intercepts_ (linear models, MLP...), fitted or not.
        data is (X, y). loss(prediction, y) gets a row of predict_proba or, if the estimator lacks it, of decision_function or
        predict. The default None is the log loss for a classifier (y is then the index of the class), and the squared error
        otherwise. classes are the classes of all devices; None takes them from y.
      a torch.nn.Module: data is (X, y), arrays or tensors. loss(output, y) returns a tensor of one number, as torch's losses
        do, for a batch of one.
      a dict of arrays: loss(model, *sample) gets a dict of arrays with the parameters to score, and one row of each array in
        data.

    The fleet's vector is the parameters, flattened one after the other. frozen names parameters that do not change: "bias"
    also stands for "head.bias" and "bias.x". PyTorch parameters with requires_grad=False are frozen, too. All members must
    start with the same values: give the module a seed, or the estimator a random_state.
    """
    if hasattr(model, "parameters") and hasattr(model, "state_dict"):
        return _Torch(model, data, loss, frozen)
    if hasattr(model, "get_params") and hasattr(model, "fit"):
        return _Sklearn(model, data, loss, frozen, classes)
    if isinstance(model, dict):
        return _Numpy(model, data, loss, frozen)
    raise TypeError(f"model is {type(model).__name__}, want a scikit-learn estimator, a torch.nn.Module or a dict of arrays")


class Wrapped(Scorer):
    """A model as a scorer. start has its initial values, float32: the x0 of all members. model is the wrapped model."""

    def __init__(self, model, data, frozen):
        self.model, self.data = model, data
        arrays = self._arrays()
        frozen = [frozen] if isinstance(frozen, str) else list(frozen)
        for name in frozen:
            if not any(_means(name, n) for n in arrays):
                raise ValueError(f"frozen has {name!r}, want names from {', '.join(arrays)}")
        self._shapes = {n: np.shape(a) for n, a in arrays.items() if not any(_means(f, n) for f in frozen)}
        if not self._shapes:
            raise ValueError("all parameters are frozen, so there is nothing to learn")
        counts = {len(d) for d in data}
        if len(counts) != 1:
            raise ValueError(f"the arrays of data have {', '.join(map(str, sorted(counts)))} samples, want the same number in each")
        self.start = np.concatenate([np.ravel(arrays[n]) for n in self._shapes]).astype("f4")
        super().__init__(self._one, self.start.size, counts.pop())
        try:
            self._digest = digest([*data, *(a for n, a in arrays.items() if n not in self._shapes)])
        except ValueError:  # data of objects: the node cannot notice a change
            self._digest = ""

    def _split(self, x):
        """Returns the arrays of a vector, by name."""
        arrays, at = {}, 0
        for name, shape in self._shapes.items():
            n = int(np.prod(shape))
            arrays[name], at = np.asarray(x[at:at + n]).reshape(shape), at + n
        return arrays

    def into_model(self, x):
        """Sets the model's parameters from a vector, and returns the model."""
        self._put(self._split(np.array(x, "f4")))
        return self.model

    def _one(self, x, sample):
        self._put(self._split(x))
        return float(self._loss_of(sample))

    def save_start(self, path):
        """Writes start for "spade-edge init -x0 PATH"."""
        np.save(path, self.start)
        return path


class _Numpy(Wrapped):
    def __init__(self, model, data, loss, frozen):
        self._now, self._loss = dict(model), _callable(loss)
        super().__init__(model, data, frozen)

    def _arrays(self):
        return {n: np.asarray(a) for n, a in self.model.items()}

    def _put(self, arrays):
        self._now.update(arrays)

    def into_model(self, x):
        self.model.update(self._split(np.array(x, "f4")))
        return self.model

    def _loss_of(self, sample):
        return self._loss(self._now, *(d[sample] for d in self.data))


class _Torch(Wrapped):
    def __init__(self, model, data, loss, frozen):
        import torch
        self._torch, self._loss = torch, _callable(loss)
        model.eval()  # with dropout or batch statistics a loss would depend on more than the vector
        super().__init__(model, [torch.as_tensor(d) for d in data], frozen)

    def _arrays(self):
        return {n: p.detach().cpu().numpy() for n, p in self.model.named_parameters() if p.requires_grad}

    def _put(self, arrays):
        with self._torch.no_grad():
            for name, p in self.model.named_parameters():
                if name in arrays:
                    p.copy_(self._torch.from_numpy(np.array(arrays[name])))

    def _loss_of(self, sample):
        x, y = (d[sample:sample + 1] for d in self.data)
        with self._torch.no_grad():
            return self._loss(self.model(x), y)


class _Sklearn(Wrapped):
    def __init__(self, model, data, loss, frozen, classes):
        from sklearn.base import is_classifier
        x, y = np.asarray(data[0], "f8"), np.asarray(data[1])
        self._classifies = is_classifier(model)
        if self._classifies:
            classes = np.unique(y if classes is None else classes)
            unknown = np.setdiff1d(y, classes)
            if len(unknown):
                raise ValueError(f"the data has the class {unknown[0]!r}, want classes from {classes.tolist()}")
            y = np.searchsorted(classes, y)
        elif loss is None:
            y = np.asarray(y, "f8")
        if loss is None and self._classifies and not hasattr(model, "predict_proba"):
            raise TypeError(f"{type(model).__name__} has no predict_proba: give loss, a function of the decision and the class index")
        self._said = getattr(model, "predict_proba", None) or getattr(model, "decision_function", None) or model.predict
        self._loss = _callable(loss or (_log_loss if self._classifies else lambda said, y: np.sum((said - y) ** 2)))
        _prepare(model, x.shape[1], classes if self._classifies else None)
        super().__init__(model, (x, y), frozen)

    def _arrays(self):
        arrays = {}
        for attribute in "coef_", "intercept_", "coefs_", "intercepts_":
            value = getattr(self.model, attribute, None)
            if isinstance(value, list):
                arrays.update({f"{attribute}.{i}": np.asarray(v) for i, v in enumerate(value)})
            elif value is not None and np.ndim(value):
                arrays[attribute] = np.asarray(value)
        if not arrays:
            raise TypeError(f"{type(self.model).__name__} has neither coef_ nor coefs_, so its parameters are unknown")
        return arrays

    def _put(self, arrays):
        for name, value in arrays.items():
            attribute, _, i = name.partition(".")
            if i:
                getattr(self.model, attribute)[int(i)] = value.astype("f8")
            else:
                setattr(self.model, attribute, value.astype("f8"))

    def _loss_of(self, sample):
        x, y = self.data[0][sample:sample + 1], self.data[1][sample]
        return self._loss(self._said(x)[0], y)


def _prepare(model, columns, classes):
    """Sets the shape and the initial values of an estimator that was never fitted, without data."""
    if hasattr(model, "coef_") or hasattr(model, "coefs_"):
        if classes is not None and list(model.classes_) != list(classes):
            raise ValueError(f"the model has the classes {list(model.classes_)}, want {list(classes)}")
        return
    if hasattr(model, "hidden_layer_sizes"):  # initialized from random_state; its first step is on rows of zeros
        targets = np.zeros(2) if classes is None else classes
        model.partial_fit(np.zeros((len(targets), columns)), targets, *([] if classes is None else [classes]))
        return
    if not any(c.__module__.startswith("sklearn.linear_model") for c in type(model).__mro__):
        return  # its parameters are unknown
    if classes is None:
        model.coef_, model.intercept_ = np.zeros(columns), np.zeros(1)
    else:
        rows = 1 if len(classes) == 2 else len(classes)
        model.classes_, model.coef_, model.intercept_ = classes, np.zeros((rows, columns)), np.zeros(rows)
    model.n_features_in_ = columns


def _log_loss(probabilities, y):
    return -np.log(max(probabilities[y], 1e-12))


def _callable(loss):
    if not callable(loss):
        raise TypeError(f"loss is {loss!r}, want a function")
    return loss


def _means(frozen, name):
    return f".{frozen}." in f".{name}."


def trial(site, names, timeout=None, **settings):
    """Runs a fleet on this machine, one process per member, and returns the members' final vectors by name.

    site(name) returns the Wrapped of a member. trial starts its program again as the scorer of each member; that process runs
    up to this call, so it must pass the same names. settings are those of Fleet.create. By default the graph is complete, and
    the numbers of records and the start values come from the sites.
    """
    if sys.argv[1:2] == [_AS_SCORER]:
        site(sys.argv[2]).serve()
        sys.exit(0)
    if not os.path.isfile(sys.argv[0]):
        raise RuntimeError("trial runs its program again in each process: call it from a file")
    sites = [site(name) for name in names]
    for name, s in zip(names, sites):
        if s.dim != sites[0].dim or (s.start != sites[0].start).any():
            raise ValueError(f"{names[0]} and {name} start with different values: give the model a seed, and give wrap the classes")
    samples = ",".join(str(s.samples) for s in sites)
    with tempfile.TemporaryDirectory() as folder:
        if sites[0].start.any():
            settings.setdefault("x0", sites[0].save_start(os.path.join(folder, "start.npy")))
        settings.setdefault("graph", "complete")
        settings.setdefault("records" if settings.get("unit") == "record" else "samples", samples if settings.get("unit") == "record" else
                            min(s.samples for s in sites))
        with Fleet.create(os.path.join(folder, "trial"), names, scorer=python(sys.argv[0], _AS_SCORER, "{name}"), dim=sites[0].dim,
                          **settings) as fleet:
            fleet.start()
            fleet.wait(timeout)
            return {name: node.model() for name, node in fleet.nodes.items()}
