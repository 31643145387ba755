"""Three nodes on this machine learn logistic regression from the losses of a numpy function.

  python3 three_nodes.py           makes a fleet, runs it, and says what it has learned
  python3 three_nodes.py NAME      is the scorer of node NAME, which the fleet starts
"""
import sys
import tempfile

import numpy as np

from spade_edge import Fleet, scorer
from spade_edge.process import python

NAMES = ["north", "south", "west"]
TRUTH = np.array([1.5, -2.0, 0.5, 0.0])


def patients(seed, n=200):
    """Made-up patients: three numbers and a one, and whether they are ill."""
    draw = np.random.default_rng(seed)
    x = np.hstack([draw.normal(size=(n, 3)), np.ones((n, 1))])
    return x, draw.random(n) < 1 / (1 + np.exp(-x @ TRUTH))


def serve(name):
    x, ill = patients(NAMES.index(name))
    signed = np.where(ill[:, None], x, -x)

    @scorer(dim=x.shape[1], samples=len(x), batch=True)
    def logistic(points, samples):
        """log(1 + exp(-margin)), the loss of scikit-learn's LogisticRegression."""
        return np.logaddexp(0, -(signed[samples] * points).sum(axis=1))

    logistic.serve()


def main():
    with tempfile.TemporaryDirectory() as folder:
        with Fleet.create(folder + "/study", NAMES, scorer=python(__file__, "{name}"), dim=4, graph="complete",
                          unit="record", records="200,200,200", epsilon=1) as fleet:
            fleet.start()
            fleet.wait(timeout=120)
            models = {name: node.model() for name, node in fleet.nodes.items()}
    x, ill = patients(seed=100, n=2000)
    for name, w in models.items():
        print(f"{name:6} {np.round(w, 2)}  right for {((x @ w > 0) == ill).mean():.1%} of 2,000 new patients")
    print(f"truth  {TRUTH}  right for {((x @ TRUTH > 0) == ill).mean():.1%}")


if __name__ == "__main__":
    serve(sys.argv[1]) if len(sys.argv) > 1 else main()
