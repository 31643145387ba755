"""The whole job in numpy: load two digits, project them, train a ring of clients, test. Prints one JSON object.

mnist.py DIR COMPONENTS CLIENTS ROUNDS TAU ETA MU GAIN: COMPONENTS 0 takes the pixels as they are, GAIN is a share of the
limit of stability. "seconds" is the time of the rounds alone.
"""

import gzip
import json
import os
import sys
import time

import numpy as np

import network


def read(folder, name, head):
    for path, how in ((name, open), (name + ".gz", gzip.open)):
        path = os.path.join(folder, path)
        if os.path.exists(path):
            with how(path, "rb") as file:
                return np.frombuffer(file.read(), np.uint8, offset=head)
    raise SystemExit(f"no {name} in {folder}")


def load(folder, part):
    y = read(folder, part + "-labels-idx1-ubyte", 8)
    x = read(folder, part + "-images-idx3-ubyte", 16).reshape(len(y), -1)
    return x.astype(np.float32) / np.float32(255), (y == y.max()).astype(np.float32)


def project(x, test, n):
    """Brings both parts to n principal components of the first, with a mean squared norm of n."""
    mean = x.mean(axis=0)
    x, test = x - mean, test - mean
    values, vectors = np.linalg.eigh(x.T @ x / np.float32(len(x)))
    top = vectors[:, -n:] * np.sqrt(n / values[-n:].sum())
    return x @ top, test @ top


def main():
    folder, (components, clients, rounds, tau) = sys.argv[1], map(int, sys.argv[2:6])
    eta, mu, share = map(float, sys.argv[6:9])
    x, y = load(folder, "train")
    test, classes = load(folder, "t10k")
    if components:
        x, test = project(x, test, components)
    data = network.deal(x, y, clients, np.random.default_rng(1))
    highest = 2 - 2 * np.cos(2 * np.pi * (clients // 2) / clients)  # of the ring's Laplacian
    began = time.perf_counter()
    models = network.run(data, rounds, tau, eta, mu, 1, share * 8 / 3 / highest)
    seconds = time.perf_counter() - began
    accuracy = 100 * np.mean((test @ models.T > 0) == (classes[:, None] > 0))
    print(json.dumps({"seconds": seconds, "score": {"mean": float(accuracy)}}))


main()
