#!/usr/bin/env python3
"""Measures TCP between two processes: bytes per second in each direction while both are in use, and half a round trip.

    link.py listen ADDRESS                 prints the port, then waits for the other process
    link.py connect ADDRESS PORT MEGABYTES prints one JSON object
"""

import json
import socket
import statistics
import sys
import threading
import time

PIECE = 1 << 20
ROUND_TRIPS = 200


def receive(connection, count):
    buffer = memoryview(bytearray(PIECE))
    while count:
        got = connection.recv_into(buffer[:min(count, PIECE)])
        if got == 0:
            raise ConnectionError("the other side has ended")
        count -= got


def send_and_receive(connection, count):
    piece = bytes(PIECE)
    sender = threading.Thread(target=lambda: [connection.sendall(piece) for _ in range(count // PIECE)])
    sender.start()
    receive(connection, count)
    sender.join()


def answer(connection):
    for _ in range(ROUND_TRIPS):
        receive(connection, 1)
        connection.sendall(b"x")
    count = int.from_bytes(connection.recv(8, socket.MSG_WAITALL), "big")
    send_and_receive(connection, count)


def ask(connection, count):
    round_trips = []
    for _ in range(ROUND_TRIPS):
        begin = time.perf_counter()
        connection.sendall(b"x")
        receive(connection, 1)
        round_trips.append(time.perf_counter() - begin)
    connection.sendall(count.to_bytes(8, "big"))
    begin = time.perf_counter()
    send_and_receive(connection, count)
    return {"bytes_per_s": count / (time.perf_counter() - begin),
            "half_round_trip_us": statistics.median(round_trips) / 2 * 1e6}


def main(role, address, port=0, megabytes=0):
    if role == "listen":
        with socket.create_server((address, 0)) as server:
            print(server.getsockname()[1], flush=True)
            connection = server.accept()[0]
    else:
        connection = socket.create_connection((address, int(port)), timeout=60)
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if role == "listen":
            answer(connection)
        else:
            print(json.dumps(ask(connection, int(megabytes) * PIECE)))


if __name__ == "__main__":
    main(*sys.argv[1:])
