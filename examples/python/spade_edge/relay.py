"""The program that a node of a trial starts: it passes the node's queries to the program of the trial, and the losses back.

relay.py FILE NAME: FILE has the port of the trial on this machine and a secret. It uses no other module of the package, so it starts fast.
"""
import os
import socket
import sys
import threading


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        port, secret = file.read().split()
    link = socket.create_connection(("127.0.0.1", int(port)))
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.sendall(f"{secret} {sys.argv[2]}\n".encode())

    def queries():
        while data := os.read(0, 1 << 18):
            link.sendall(data)
        link.shutdown(socket.SHUT_WR)

    threading.Thread(target=queries, daemon=True).start()
    with open(1, "wb", buffering=0) as out:
        while data := link.recv(1 << 18):
            view = memoryview(data)
            while view:
                view = view[out.write(view):]


if __name__ == "__main__":
    main()
