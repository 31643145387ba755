#!/usr/bin/env python3
"""The loss of a logistic model on the rows of a CSV file, for SPADE-Edge. Python 3 and nothing else.

  score.py json DATA   messages are lines of JSON
  score.py cbor DATA   messages are CBOR behind their length

The last column of DATA is the class, 0 or 1. With p the probability that the model gives to it, the loss is (1 - p)^2.
"""
import array
import hashlib
import json
import math
import struct
import sys


def load(path):
    with open(path) as file:
        next(file)  # the names of the columns
        return [[float(cell) for cell in line.split(",")] for line in file]


def loss(row, x):
    z = 0.0
    for a, b in zip(x, row):
        z += a * b
    if row[-1] == 1:
        z = -z
    # The probability of the other class, 1/(1 + exp(-z)); exp never sees a number above 0.
    if z >= 0:
        wrong = 1 / (1 + math.exp(-z))
    else:
        wrong = math.exp(z) / (1 + math.exp(z))
    return wrong * wrong


def floats(data):
    """The float32 numbers in data, the lowest byte of each first."""
    x = array.array("f", data)
    if sys.byteorder == "big":
        x.byteswap()
    return x


def digest(rows):
    """Identifies the rows and their order, so that the node notices if they change between two starts."""
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def serve_json(rows):
    hello = {"hello": 1, "dim": len(rows[0]) - 1, "samples": len(rows), "data": digest(rows)}
    print(json.dumps(hello), flush=True)
    for line in sys.stdin:
        query = json.loads(line)
        x = array.array("f", query["x"])  # to float32, which is what the digits stand for
        answer = {"id": query["id"], "loss": loss(rows[query["sample"]], x)}
        print(json.dumps(answer), flush=True)


def serve_cbor(rows):
    def send(message):
        sys.stdout.buffer.write(struct.pack("<I", len(message)) + message)
        sys.stdout.buffer.flush()

    # {1: version, 2: dim, 3: samples, 5: data}, dim and samples in four bytes, and data as a text of 64
    head = struct.pack(">BBB BBI BBI BBB", 0xA4, 1, 1, 2, 0x1A, len(rows[0]) - 1, 3, 0x1A, len(rows), 5, 0x78, 64)
    send(head + digest(rows).encode())
    while head := sys.stdin.buffer.read(4):
        query = sys.stdin.buffer.read(struct.unpack("<I", head)[0])
        id, sample = struct.unpack_from(">3xQ2xQ", query)  # each integer has eight bytes
        value = loss(rows[sample], floats(query[29:]))
        # {1: id, 2: loss}
        send(struct.pack(">BBBQ BBd", 0xA2, 1, 0x1B, id, 2, 0xFB, value))


def main():
    how, rows = sys.argv[1], load(sys.argv[2])
    if how == "json":
        serve_json(rows)
    elif how == "cbor":
        serve_cbor(rows)
    else:
        sys.exit(__doc__)


main()
