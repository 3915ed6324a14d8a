#!/usr/bin/env python3
"""A name server for sandboxes under test.

    names.py

answers every question for an IPv4 address with 127.0.0.1 and all others with no address. Prints its port.
"""
import ipaddress
import socket
import struct
import threading

A, AAAA = 1, 28


class NameServer:
    """Serves UDP on 127.0.0.1. `find(name)` returns the addresses of a name; `asked` are the names of all questions."""

    def __init__(self, find):
        self.find = find
        self.asked = []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]

    def start(self):
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            query, sender = self.socket.recvfrom(1 << 16)
            self.socket.sendto(self.answer(query), sender)

    def answer(self, query):
        labels, end = [], 12
        while query[end]:
            labels.append(query[end + 1:end + 1 + query[end]].decode())
            end += query[end] + 1
        name = ".".join(labels).lower()
        self.asked.append(name)
        kind = struct.unpack_from("!H", query, end + 1)[0]
        found = [ipaddress.ip_address(address) for address in self.find(name)]
        wanted = [each.packed for each in found if kind == (A if each.version == 4 else AAAA)]
        head = query[:2] + struct.pack("!HHHHH", 0x8180, 1, len(wanted), 0, 0)
        # A pointer to the name of the question, IN, 60 s.
        records = [struct.pack("!HHHIH", 0xc00c, kind, 1, 60, len(each)) + each for each in wanted]
        return head + query[12:end + 5] + b"".join(records)


if __name__ == "__main__":
    server = NameServer(lambda name: ["127.0.0.1"])
    print(server.port, flush=True)
    server.serve()
