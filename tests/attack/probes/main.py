"""Runs one probe, or lists all: `main.py list`, `main.py NAME`. Prints "verdict\\tdetail" as its last line."""

import sys

import files
import groups
import init
import kernel
import lifecycle
import mounts
import neighbours
import network
import resources
from probe import PROBES, run

CLASSES = (files, mounts, groups, kernel, init, network, neighbours, resources, lifecycle)

if __name__ == "__main__":
    if sys.argv[1] == "list":
        for name, (kind, reason, _) in PROBES.items():
            print(kind, name, reason, sep="\t")
    else:
        print("\n" + "\t".join(run(sys.argv[1])), flush=True)
