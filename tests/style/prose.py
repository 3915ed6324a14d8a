#!/usr/bin/env python3
"""Finds comments and test names that are hard to read, and rows of tables that stand twice.

    tests/style/prose.py comments|names|rows

Prints one line for each finding; the exit status is 1 if there is one.
"""
import pathlib
import re
import subprocess
import sys

# A comment starts with its subject or with a verb.
OPENER = re.compile(r"^\s*// (Of|What|Who|As|That|Whoever) ")
# Words for "reports" and "mistakes for" that say nothing about the behaviour.
WORDS = re.compile(r"Tells|IsTold|AreTold|TakesFor|TakenFor|Whoever|ThoseWho")
TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P)\(\s*\w+,\s*(\w+)\)", re.MULTILINE)


def files(*patterns):
    listed = subprocess.check_output(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns], text=True)
    return [file for file in listed.split() if pathlib.Path(file).exists()]


def comments():
    for file in files("*.cc", "*.h", "*.proto"):
        for number, line in enumerate(pathlib.Path(file).read_text().split("\n"), 1):
            if OPENER.match(line):
                yield f"{file}:{number}: start with the subject or a verb: {line.strip()}"


def names():
    for file in files("*_test.cc"):
        for name in TEST.findall(pathlib.Path(file).read_text()):
            if WORDS.search(name):
                yield f"{file}: {name} does not state the behaviour in plain English"


def rows():
    """Two rows of a README with the same first column are the old and the new version of one row."""
    for file in files("*README.md"):
        seen = set()
        for number, line in enumerate(pathlib.Path(file).read_text().split("\n"), 1):
            first = line.split("|")[1].strip() if line.startswith("| ") else ""
            if first and first in seen:
                yield f"{file}:{number}: a row for {first} stands above already"
            seen.add(first)


def main():
    findings = list({"comments": comments, "names": names, "rows": rows}[sys.argv[1]]())
    print("\n".join(findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
