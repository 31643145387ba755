"""The node's side of device.c: a scorer whose losses a device behind a serial line or a TCP socket works out.

  python3 gateway.py /dev/ttyUSB0 500                   500 samples on the device
  python3 gateway.py 10.0.0.7:5000 500 task.json        with the task that the device is made for, which the fleet must have

In the node file: "oracle": {"stream": ["python3", "gateway.py", "/dev/ttyUSB0", "500"], "format": "cbor", "timeout_seconds": 60}

A query that stays without a whole answer is sent again. What is cut off, garbled, late or not asked for is passed over: the
check sum and the id say so. A line that breaks is opened again. The device needs no memory of what it has answered.
"""
import json
import os
import select
import socket
import struct
import sys
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
from spade_edge import Scorer  # noqa: E402

DIM, ANSWER = 64, 10


def crc(data):
    """CRC-16/XMODEM."""
    c = 0
    for byte in data:
        c ^= byte << 8
        for _ in range(8):
            c = (c << 1 ^ (0x1021 if c & 0x8000 else 0)) & 0xFFFF
    return c


class Line:
    """A device at the other end of a path (a serial line whose speed is set, a pty) or of host:port."""

    def __init__(self, where, patience=2.0, tries=10):
        self.where, self.patience, self.tries = where, patience, tries
        self.id, self.fd, self.socket = int.from_bytes(os.urandom(2), "little"), None, None

    def loss(self, x, sample):
        """Asks until there is an answer; an error after so many tries, of which the node is told."""
        self.id = (self.id + 1) & 0xFFFF
        query = b"\x7e\x5a" + struct.pack("<HH", self.id, sample) + np.asarray(x, "<f4").tobytes()
        query += struct.pack("<H", crc(query))
        why = "no complete answer"
        for attempt in range(self.tries):
            try:
                self._open()
                self._send(query)
                found = self._hear(time.monotonic() + self.patience)
                if found is not None:
                    return found
            except OSError as error:
                why = str(error)
                self._close()
                time.sleep(min(self.patience, 0.05 * 2 ** attempt))
        raise RuntimeError(f"the device at {self.where} did not answer in {self.tries} attempts: {why}")

    def _hear(self, until):
        heard = b""
        while (left := until - time.monotonic()) > 0:
            if not select.select([self.fd], [], [], left)[0]:
                break
            got = os.read(self.fd, 4096)
            if not got:
                raise ConnectionResetError("the connection ended")
            heard += got
            at = heard.find(b"\x7e\xa5")
            while 0 <= at <= len(heard) - ANSWER:
                frame = heard[at:at + ANSWER]
                id, loss, sum = struct.unpack("<HfH", frame[2:])
                if sum == crc(frame[:-2]) and id == self.id:
                    return loss
                at = heard.find(b"\x7e\xa5", at + 1)
        return None

    def _send(self, data):
        until = time.monotonic() + self.patience
        while data:
            if not select.select([], [self.fd], [], max(0, until - time.monotonic()))[1]:
                raise TimeoutError("the connection accepts no more bytes")
            data = data[os.write(self.fd, data):]

    def _open(self):
        if self.fd is not None:
            return
        host, colon, port = self.where.rpartition(":")
        if colon and port.isdigit() and not os.path.exists(self.where):
            self.socket = socket.create_connection((host.strip("[]"), int(port)), self.patience)
            self.socket.setblocking(False)
            self.fd = self.socket.fileno()
        else:
            self.fd = os.open(self.where, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
            if os.isatty(self.fd):
                import tty
                tty.setraw(self.fd)

    def _close(self):
        if self.socket is not None:
            self.socket.close()
        elif self.fd is not None:
            os.close(self.fd)
        self.fd = self.socket = None


def main():
    if len(sys.argv) not in (3, 4) or not sys.argv[2].isdigit() or not 1 <= int(sys.argv[2]) <= 65536:
        sys.exit("usage: gateway.py PATH|HOST:PORT SAMPLES [TASK-FILE], with 1..65536 samples")
    task = None
    if len(sys.argv) == 4:
        with open(sys.argv[3], encoding="utf-8") as file:
            task = json.load(file)
    Scorer(Line(sys.argv[1]).loss, dim=DIM, samples=int(sys.argv[2]), task=task).serve()


if __name__ == "__main__":
    main()
