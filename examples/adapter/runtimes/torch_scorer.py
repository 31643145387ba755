"""A scorer with PyTorch, forward passes alone: no gradient is ever asked for.

  python3 torch_scorer.py                 the fleet trains all parameters
  python3 torch_scorer.py adapter.json    the fleet trains the few numbers of an adapter, which this program expands
"""
import os
import sys

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
from model import DIM, SAMPLES, data  # noqa: E402
from spade_edge import Adapter, Scorer  # noqa: E402

torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
rows, classes = (torch.from_numpy(part) for part in data())


@torch.no_grad()
def loss(x, sample):
    torch.nn.utils.vector_to_parameters(torch.tensor(x), net.parameters())
    p = torch.softmax(net(rows[sample]), dim=0)
    return float((1 - p[classes[sample]]) ** 2)


if __name__ == "__main__":
    how = {"adapter": Adapter.load(sys.argv[1])} if len(sys.argv) > 1 else {"dim": DIM}
    Scorer(loss, samples=SAMPLES, **how).serve()
