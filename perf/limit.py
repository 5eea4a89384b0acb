"""Substitutes for the shared tools: a server that accepts any request, and a client that sends prebuilt bytes from
threads. `judge.py` starts them."""

from __future__ import annotations

import asyncio
import json
import re
import resource
import socket
import sys
import threading
import time
from itertools import count
from pathlib import Path


class Endpoint(asyncio.Protocol):
    """Server that reads requests and answers after the latency. `GET /ctl?lat=MS` sets the latency."""

    answer = b""
    latency = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.head, self.left = transport, b"", 0

    def data_received(self, data: bytes) -> None:
        if not self.left:
            self.head += data
            head, end, rest = self.head.partition(b"\r\n\r\n")
            if not end:
                return
            self.head = b""
            if head.startswith(b"GET"):
                wanted = re.search(rb"lat=(\d+)", head)
                type(self).latency = int(wanted[1]) / 1000 if wanted else self.latency
                self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
                return
            length = re.search(rb"(?i)content-length: *(\d+)", head)
            self.left, data = int(length[1]) if length else 0, rest
        self.left -= len(data)
        if self.left <= 0:
            self.left = 0
            asyncio.get_running_loop().call_later(self.latency, self.transport.write, self.answer)


async def serve(port: int, answer: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    Endpoint.answer = head % len(answer) + answer
    server = await asyncio.get_running_loop().create_server(Endpoint, "127.0.0.1", port)
    await server.serve_forever()


def ask(port: int, samples: int, questions: int, at_once: int, bodies: Path) -> None:
    before = [(bodies / f"{number}.pre").read_bytes() for number in range(samples)]
    numbers = count()
    lock = threading.Lock()

    def work() -> None:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            while True:
                with lock:
                    number = next(numbers)
                if number >= samples * questions:
                    return
                body = before[number // questions]
                tail = b'Question %d: is it so?"}]}]}' % number
                head = b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n"
                connection.sendall(head % (len(body) + len(tail)))
                connection.sendall(body)
                connection.sendall(tail)
                if not connection.recv(65536):
                    raise SystemExit("the server closed the connection")

    start = time.perf_counter()
    threads = [threading.Thread(target=work) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wall, used = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"wall": wall, "cpu": used.ru_utime + used.ru_stime}))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        asyncio.run(serve(int(sys.argv[2]), Path(sys.argv[3]).read_bytes()))
    else:
        port, samples, questions, at_once = map(int, sys.argv[2:6])
        ask(port, samples, questions, at_once, Path(sys.argv[6]))
