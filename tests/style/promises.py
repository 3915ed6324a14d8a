#!/usr/bin/env python3
"""Checks that every test and file that README.md's table of promises names exists.

Prints one line for each finding; the exit status is 1 if there is one.
"""
import fnmatch
import pathlib
import re
import subprocess
import sys

TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P)\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)


def tests():
    """The names of all tests, as Suite.Name."""
    listed = subprocess.check_output(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", "*_test.cc"], text=True)
    names = []
    for file in listed.split():
        if pathlib.Path(file).exists():
            names += [f"{suite}.{name}" for suite, name in TEST.findall(pathlib.Path(file).read_text())]
    return names


def holders():
    """Yields each thing in backquotes in the second column of the table; ".Name" gets the suite before it."""
    readme = pathlib.Path("README.md").read_text()
    table = readme[readme.index("## Promises"):readme.index("## Figures")]
    for row in table.split("\n"):
        columns = row.split("|")
        if len(columns) < 4:
            continue
        before = ""
        for holder in re.findall(r"`([^`]+)`", columns[2]):
            if holder.startswith("."):
                holder = before.split(".")[0] + holder
            elif "/" not in holder and holder.endswith(".cc"):
                holder = before.rsplit("/", 1)[0] + "/" + holder
            before = holder
            yield holder


def main():
    names = tests()
    findings = []
    for holder in holders():
        if "/" in holder:
            exists = any(pathlib.Path().glob(holder))
        else:
            exists = any(fnmatch.fnmatchcase(name, holder) for name in names)
        if not exists:
            findings.append(f"README.md names {holder}, which does not exist")
    print("\n".join(findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
