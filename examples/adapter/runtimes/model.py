"""The network and the data that the scorers in this folder share: 8 inputs, 16 hidden units, 3 classes; 195 parameters.

  python3 model.py net.onnx        writes the network for ONNX Runtime; it needs the package onnx

The parameters are inputs of the graph, one tensor each: a runtime that can only infer is fed them at each run.
"""
import sys

import numpy as np

SAMPLES = 60
SHAPES = [("w1", (16, 8)), ("b1", (16,)), ("w2", (3, 16)), ("b2", (3,))]
DIM = sum(int(np.prod(shape)) for _, shape in SHAPES)


def data():
    """Rows of 8 numbers, and the class of each, from a rule."""
    rows = np.sin(np.outer(np.arange(1, SAMPLES + 1), np.arange(1, 9)) * 1.7).astype("f4")
    return rows, np.argmax(np.stack([rows[:, 0], rows[:, 1], -rows[:, 0] - rows[:, 1]]), axis=0)


def tensors(x):
    """The parameters by name, views of one vector."""
    at, out = 0, {}
    for name, shape in SHAPES:
        n = int(np.prod(shape))
        out[name], at = x[at:at + n].reshape(shape), at + n
    return out


def loss(x, sample):
    """What every runtime is compared with: (1 - p)^2, p the probability of the right class."""
    rows, classes = data()
    t = tensors(np.asarray(x, "f4"))
    z = np.maximum(rows[sample] @ t["w1"].T + t["b1"], 0) @ t["w2"].T + t["b2"]
    p = np.exp(z - z.max())
    return float((1 - p[classes[sample]] / p.sum()) ** 2)


def write_onnx(path):
    from onnx import TensorProto, checker, helper, save

    def tensor(name, shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    nodes = [helper.make_node("Gemm", ["row", "w1", "b1"], ["a"], transB=1), helper.make_node("Relu", ["a"], ["h"]),
             helper.make_node("Gemm", ["h", "w2", "b2"], ["z"], transB=1), helper.make_node("Softmax", ["z"], ["p"], axis=1)]
    inputs = [tensor("row", (1, 8))] + [tensor(name, shape) for name, shape in SHAPES]
    graph = helper.make_graph(nodes, "net", inputs, [tensor("p", (1, 3))])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    checker.check_model(model)
    save(model, path)


if __name__ == "__main__":
    write_onnx(sys.argv[1])
