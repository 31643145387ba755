"""The paper's form of SPADE-DFL in numpy, batched over the clients, until their models are accurate: network.py FOLDER SEED.

FOLDER has meta.json, and the samples as package versus writes them. Arrays are float32, of shape (clients, samples, columns); a
client with fewer samples than others has some of weight zero. The loss is a black box: a function of points, one for each client
and sample. Prints one JSON object; "seconds" leaves out what is spent on scoring.
"""

import json
import os
import resource
import sys
import time

import numpy as np


def main():
    folder, seed = sys.argv[1], int(sys.argv[2])
    with open(os.path.join(folder, "meta.json")) as file:
        m = json.load(file)
    d, samples = m["dim"], m["samples"]

    def read(name, kind):
        return np.fromfile(os.path.join(folder, name), kind)

    x, y = read("train.f32", np.float32).reshape(-1, d), read("train.u8", np.uint8)
    test, sign = read("test.f32", np.float32).reshape(-1, d), read("test.u8", np.uint8).astype(np.float32) * 2 - 1
    n, most = len(samples), max(samples)
    a, c, w = np.zeros((n, most, d), np.float32), np.ones((n, most), np.float32), np.zeros((n, 1, most), np.float32)
    at = 0
    for i, k in enumerate(samples):
        a[i, :k], c[i, :k], w[i, 0, :k] = x[at : at + k], 2 * y[at : at + k].astype(np.float32) - 1, 1 / k
        at += k
    # Every edge is there in both directions; edge e goes out of src[e], and back[e] is the other direction.
    pairs = np.array(m["edges"])
    src, dst = np.concatenate([pairs[:, 0], pairs[:, 1]]), np.concatenate([pairs[:, 1], pairs[:, 0]])
    back = np.roll(np.arange(len(src)), len(pairs))
    out = np.zeros((n, len(src)), np.float32)
    out[src, np.arange(len(src))] = 1
    degree = out.sum(1, keepdims=True)

    rng = np.random.Generator(np.random.SFC64(seed))
    tau, eta, mu, gain = m["tau"], np.float32(m["eta"]), np.float32(m["mu"]), np.float32(m["gain"])

    def ask(phi):  # one fresh direction and one query for each sample
        count = n * most * d
        bits = np.unpackbits(rng.integers(0, 256, size=-(-count // 8), dtype=np.uint8), count=count)
        u = bits.astype(np.float32).reshape(n, most, d)
        u *= 2
        u -= 1
        points = mu * u
        points += phi[:, None, :]
        wrong = 1 / (1 + np.exp(c * np.einsum("nmd,nmd->nm", points, a)))
        u *= (wrong * wrong)[:, :, None]
        return u

    models, z = np.zeros((n, d), np.float32), np.zeros((len(src), d), np.float32)
    seconds, began = 0.0, time.perf_counter()
    for k in range(1, m["rounds"] + 1):
        p = degree * models - out @ z
        table = ask(models)
        mean = np.matmul(w, table)[:, 0]
        phi, total = models.copy(), np.zeros_like(models)
        for _ in range(tau):
            q = ask(phi)
            v = mean + np.matmul(w, q - table)[:, 0]
            table, mean = q, np.matmul(w, q)[:, 0]
            phi -= eta * v + gain / tau * p
            total += v
        models = models - gain * p - eta * total
        sent = z - 2 * models[src]
        z = (z - sent[back]) / 2
        seconds += time.perf_counter() - began
        accuracy = float(100 * np.mean((test @ models.T * sign[:, None]) > 0))
        if accuracy >= m["goal"]:
            break
        began = time.perf_counter()
    mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(json.dumps({"seconds": seconds, "rounds": k, "accuracy": accuracy, "mb": mb, "bytes": k * len(src) * d * 4}))


main()
