"""A network in one process, batched over its clients: the job of `spade-edge simulate`, as one writes it in numpy.

The method is that of package sdk/admm, the paper's form with all samples in each batch: a round fills the memory table,
makes tau local steps and exchanges messages along a ring. The loss is a black box here too: a function of points, one
for each client and sample. Arrays are float32, of shape (clients, samples, columns); a client with one sample less than
others has one of weight zero.
"""

import numpy as np

BLOCK = 1 << 19  # numbers in an array of as many clients as are worked on at a time


def deal(x, y, clients, rng):
    """Deals the samples to the clients at random: rows (n, m, d), classes (n, m) as -1 and 1, weights (n, m, 1)."""
    order = rng.permutation(len(x))
    most = -(-len(x) // clients)
    a = np.zeros((clients, most, x.shape[1]), np.float32)
    c = np.ones((clients, most), np.float32)
    w = np.zeros((clients, most, 1), np.float32)
    for i in range(clients):
        own = order[i::clients]
        a[i, : len(own)], c[i, : len(own)], w[i, : len(own)] = x[own], 2 * y[own] - 1, 1 / len(own)
    return a, c, w


def losses(points, a, c):
    """The squared probability loss of two classes, of each sample at its own point."""
    wrong = 1 / (1 + np.exp(c * np.einsum("nmd,nmd->nm", points, a)))
    return wrong * wrong


def signs(rng, shape):
    """Random signs, from single bits."""
    count = int(np.prod(shape))
    bits = np.unpackbits(rng.integers(0, 256, size=-(-count // 8), dtype=np.uint8), count=count)
    s = bits.astype(np.float32)
    s *= 2
    s -= 1
    return s.reshape(shape)


def local(x, p, data, rng, tau, eta, mu, beta):
    """The local work of a block of clients in a round. Returns -eta times the sum of their estimates."""
    a, c, w = data
    mu, eta, drift = np.float32(mu), np.float32(eta), np.float32(eta * mu * beta) * p
    average = np.swapaxes(w, 1, 2)  # a row of weights for each client

    def ask(phi):  # one fresh direction and one query for each sample
        u = signs(rng, a.shape)
        points = mu * u
        points += phi[:, None, :]
        u *= losses(points, a, c)[:, :, None]
        return u

    table = ask(x)
    abar = np.matmul(average, table)[:, 0]
    phi, s = x.copy(), np.zeros_like(x)
    for _ in range(tau):
        q = ask(phi)
        table -= q
        v = abar - np.matmul(average, table)[:, 0]
        table, abar = q, v
        phi -= eta * v + drift
        s += v
    return -eta * s


def run(data, rounds, tau, eta, mu, rho, gain, seed=1):
    """Returns the clients' models after the rounds. gain is tau*eta*mu*beta."""
    rng = np.random.Generator(np.random.SFC64(seed))
    n, m, d = data[0].shape
    left, right = np.roll(np.arange(n), 1), np.roll(np.arange(n), -1)
    x = np.zeros((n, d), np.float32)
    zl, zr = rho * x, rho * x
    size = max(1, BLOCK // (m * d))
    s = np.empty_like(x)
    for _ in range(rounds):
        p = 2 * rho * x - zl - zr
        for i in range(0, n, size):
            of = slice(i, i + size)
            s[of] = local(x[of], p[of], [t[of] for t in data], rng, tau, eta, mu, gain / (tau * eta * mu))
        x = x - gain * p + s
        ml, mr = zl - 2 * rho * x, zr - 2 * rho * x
        zl, zr = 0.5 * (zl - mr[left]), 0.5 * (zr - ml[right])
    return x
