"""Bring your own model: wrap makes a scorer of a scikit-learn estimator, a PyTorch module, or numpy arrays."""
from __future__ import annotations

import os
import reprlib
import warnings
from typing import Any, Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike

from .scorer import Scorer, digest, number


def wrap(model: Any, data: tuple | list, loss: Callable[..., Any] | None = None, frozen: Iterable[str] | str = (),
         classes: ArrayLike | None = None) -> Wrapped:
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
    if hasattr(model, "steps") and hasattr(model, "named_steps"):
        raise TypeError("model is a Pipeline, want its last step (model[-1]) and the data as the steps before it return it. Steps that are "
                        "fitted on this device's data would differ between devices: use constants that all devices share")
    if hasattr(model, "get_params") and hasattr(model, "fit"):
        return _Sklearn(model, data, loss, frozen, classes)
    if isinstance(model, dict):
        return _Numpy(model, data, loss, frozen)
    raise TypeError(f"model is {type(model).__name__}, want a scikit-learn estimator, a torch.nn.Module or a dict of arrays")


class Wrapped(Scorer):
    """A model as a scorer. start has its initial values, float32: the x0 of all members. model is the wrapped model."""
    classes: Any = ()  # of a classifier of scikit-learn, in the order of their numbers

    def __init__(self, model: Any, data: tuple | list, frozen: Iterable[str] | str) -> None:
        self.model, self.data = model, data
        arrays = self._arrays()
        frozen = [frozen] if isinstance(frozen, str) else list(frozen)
        for name in frozen:
            if not any(_means(name, n) for n in arrays):
                raise ValueError(f"frozen has {name!r}, want names from {', '.join(arrays)}")
        self._shapes = {n: np.shape(a) for n, a in arrays.items() if not any(_means(f, n) for f in frozen)}
        if not self._shapes:
            raise ValueError("all parameters are frozen, so there is nothing to learn")
        if not isinstance(data, (tuple, list)):
            raise TypeError(f"data is {type(data).__name__}, want a tuple of arrays")
        if not data:
            raise ValueError("data is empty, want at least one array with a row for each sample")
        counts = {_rows(d) for d in data}
        if len(counts) != 1:
            raise ValueError(f"the arrays of data have {', '.join(map(str, sorted(counts)))} samples, want the same number in each")
        if counts == {0}:
            raise ValueError("the data has no rows, want at least one sample")
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

    def into_model(self, x: ArrayLike) -> Any:
        """Sets the model's parameters from a vector, and returns the model."""
        self._put(self._split(np.array(x, "f4")))
        return self.model

    def _one(self, x, sample):
        self._put(self._split(x))
        return number(self._loss_of(sample))

    def save_start(self, path: str | os.PathLike[str]) -> str | os.PathLike[str]:
        """Writes start for "spade-edge init -x0 PATH"."""
        np.save(path, self.start)
        return path


class _Numpy(Wrapped):
    def __init__(self, model, data, loss, frozen):
        self._now, self._loss = dict(model), _callable(loss)
        super().__init__(model, [_fixed(d) for d in data] if isinstance(data, (tuple, list)) else data, frozen)

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
        super().__init__(model, [torch.as_tensor(_in_order(d)) for d in _pair(data)], frozen)

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
        x, y = map(np.asarray, _pair(data))
        try:
            x = np.asarray(x, "f8")
        except (TypeError, ValueError) as error:
            raise ValueError(f"X is not an array of numbers: {error}") from None
        if x.ndim != 2:
            raise ValueError(f"X has the shape {x.shape}, want a row for each sample and a column for each feature")
        if len(x) != _rows(y):
            raise ValueError(f"X has {len(x)} rows and y has {_rows(y)}, want the same number")
        if not len(x):
            raise ValueError("the data has no rows, want at least one sample")
        for name, values in ("X", x), ("y", y):
            bad = np.array([_missing(v) for v in values.ravel()] if values.dtype.hasobject else _missing(values)).reshape(values.shape)
            if bad.any():
                row = int(np.argwhere(bad)[0][0])
                raise ValueError(f"{name} has {values[row] if values.ndim == 1 else values[row][bad[row]][0]} in row {row}, want finite "
                                 "values: leave the row out, or fill it with a constant that all devices share")
        self._classifies = is_classifier(model)
        if self._classifies and y.ndim != 1:
            raise ValueError(f"y has the shape {y.shape}, want one class for each row")
        if self._classifies:
            classes = np.unique(y if classes is None else classes)
            if len(classes) < 2:
                raise ValueError(f"the data has only the class {classes.tolist()}: give wrap the classes of all devices, classes=[...]")
            unknown = np.setdiff1d(y, classes)
            if len(unknown):
                raise ValueError(f"the data has the class {unknown[0]!r}, want classes from {classes.tolist()}")
            y, self.classes = np.searchsorted(classes, y), classes
        elif loss is None:
            y = np.asarray(y, "f8")
        if loss is None and self._classifies and not hasattr(model, "predict_proba"):
            raise TypeError(f"{type(model).__name__} has no predict_proba: give loss, a function of the decision and the class index")
        for name in _OF_FIT if loss is None else ():
            if repr(getattr(model, name, None)) not in _OF_FIT[name]:
                warnings.warn(f"{name}={getattr(model, name)!r} has no effect: the loss is the {'log loss' if self._classifies else 'squared error'} "
                              "of each row; give wrap a loss that has it", stacklevel=3)
        self._said = getattr(model, "predict_proba", None) or getattr(model, "decision_function", None) or model.predict
        self._loss = _callable(loss or (_log_loss if self._classifies else lambda said, y: np.sum((said - y) ** 2)))
        _prepare(model, x.shape[1], classes if self._classifies else None)
        super().__init__(model, (_fixed(x), _fixed(y)), frozen)

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
    if not getattr(model, "fit_intercept", True):
        model.intercept_ = 0.0  # no array, so no parameter
    model.n_features_in_ = columns


# What changes how an estimator fits, and not what it predicts with given parameters, with the usual values.
_OF_FIT = {"class_weight": ("None",), "C": ("None", "1.0", "1"), "alpha": ("None", "1.0", "1", "0.0001"), "l1_ratio": ("None", "0.15", "0.5"), "positive": ("None", "False")}


def _in_order(array):
    """Returns an array by whose index samples are counted from 0, in place of one of pandas, which counts by its labels."""
    return np.asarray(array) if hasattr(array, "iloc") else array


def _fixed(array):
    """Returns an array as _in_order does, which a loss cannot change."""
    array = _in_order(array)
    if isinstance(array, np.ndarray):
        array = array.view()
        array.flags.writeable = False
    return array


def _log_loss(probabilities, y):
    return -np.log(max(probabilities[y], 1e-12))


def _pair(data):
    if not isinstance(data, (tuple, list)) or len(data) != 2:
        found = f"{len(data)} arrays" if isinstance(data, (tuple, list)) else type(data).__name__
        raise TypeError(f"data is {found}, want (X, y)")
    return data


def _rows(array):
    if isinstance(array, (str, bytes)) or not np.ndim(array):
        raise TypeError(f"data has {reprlib.repr(array)}, want arrays with a row for each sample")
    return len(array)


def _missing(values):
    """Reports which values are NaN, infinite or None."""
    if values is None:
        return True
    try:
        return ~np.isfinite(values)
    except TypeError:  # text
        return np.zeros(np.shape(values), bool)


def _callable(loss):
    if not callable(loss):
        raise TypeError(f"loss is {loss!r}, want a function")
    return loss


def _means(frozen, name):
    return f".{frozen}." in f".{name}."
