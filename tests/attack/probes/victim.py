"""The victim of neighbours.py: has one of each thing that a neighbour could reach, and waits."""

import os
import signal
import socket
import sys

from probe import syscall

key = int(os.environ["BAIT_VICTIM_KEY"])
for place in ("/tmp", "/var/tmp", "/dev/shm", os.path.expanduser("~")):
    try:
        with open(place + "/victim", "w", encoding="ascii") as file:
            file.write("victim")
    except OSError:
        pass  # not every sandbox has each of these
abstract = socket.socket(socket.AF_UNIX)
abstract.bind("\0" + os.environ["BAIT_VICTIM_ABSTRACT"])
abstract.listen()
service = socket.create_server(("127.0.0.1", int(os.environ["BAIT_VICTIM_PORT"])))
for make in (lambda: syscall("shmget", key, 4096, 0o1600), lambda: syscall("msgget", key, 0o1600),
             lambda: syscall("semget", key, 1, 0o1600),
             lambda: syscall("mq_open", "victim", os.O_RDWR | os.O_CREAT, 0o600, None)):
    make()
with open("ready", "w", encoding="ascii") as file:
    file.write(sys.argv[1])
signal.pause()
