#!/usr/bin/env python3
"""Checks that includes go only the ways that the README names, and that no two folders include each other.

Prints one line for each finding; the exit status is 1 if there is one.
"""
import pathlib
import re
import subprocess
import sys

# What the code of each folder may include beside its own folder and proto/: folders or single files. The longest
# matching folder counts. Code for tests may also include tests/.
ALLOWED = {
    "sandbox/base": [],
    "sandbox/seccomp": ["sandbox/base"],
    "sandbox/kernel": ["sandbox/base", "sandbox/seccomp", "sandbox/init/exchange.h"],
    "sandbox/storage": ["sandbox/base"],
    "sandbox/egress": ["sandbox/base", "sandbox/kernel"],
    "sandbox/init": ["sandbox/base", "sandbox/kernel", "sandbox/seccomp"],
    "sandbox/supervisor": ["sandbox/base", "sandbox/egress", "sandbox/init", "sandbox/kernel", "sandbox/seccomp", "sandbox/storage"],
    "sandbox/client": ["sandbox/base", "sandbox/kernel", "sandbox/storage", "sandbox/supervisor/supervisor_image.h", "sandbox/supervisor/sandbox_shape.h"],
    "server/api": ["sandbox"],
    "server/runtime": ["sandbox", "server/api"],
    "server/core": ["sandbox", "server/api", "server/runtime"],
    "server/rpc": ["sandbox", "server/api", "server/core", "server/runtime"],
    "server/screen": ["sandbox", "server/api", "server/core", "server/rpc", "server/runtime"],
    "server/ports": ["sandbox", "server/api", "server/core", "server/rpc", "server/runtime"],
    "server/screen/emulator": ["sandbox/base"],
    "server/net": ["sandbox", "server/api", "server/runtime"],
    "server": ["sandbox", "server"],
    "bridge/client": ["sandbox/base"],
    "bridge/jsonrpc": ["sandbox/base"],
    "bridge/options": ["sandbox/base", "bridge/client"],
    "bridge/cli/report": ["sandbox/base", "bridge/jsonrpc", "bridge/options"],
    "bridge/cli/attach": ["sandbox/base", "bridge/client", "bridge/options", "bridge/cli/report"],
    "bridge/asciicast": ["bridge/jsonrpc", "sandbox/base"],
    "bridge/cli/commands": ["sandbox/base", "bridge/asciicast", "bridge/client", "bridge/options", "bridge/cli/attach", "bridge/cli/report"],
    "bridge/cli": ["sandbox/base", "bridge/client", "bridge/options", "bridge/cli"],
    "bridge/gate": ["sandbox/base", "bridge/jsonrpc", "bridge/options"],
    "bridge/acp": ["sandbox/base", "bridge/client", "bridge/gate", "bridge/jsonrpc", "bridge/options"],
    "bridge/mcp": ["sandbox/base", "bridge/asciicast", "bridge/client", "bridge/gate", "bridge/jsonrpc", "bridge/options"],
    "tests": ["bridge", "sandbox", "server", "tests"],
}
TEST = re.compile(r"(_test|_fixture|/corral_process)\.(cc|h)$")
ROOTS = ("bridge", "sandbox", "server", "tests")


def is_within(path, folder):
    return path == folder or path.startswith(folder + "/")


def rule_of(folder):
    matching = [rule for rule in ALLOWED if is_within(folder, rule)]
    return max(matching, key=len, default=None)


def includes():
    """Yields (file, included file) for every include of a file of this repository."""
    files = subprocess.check_output(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", "*.cc", "*.h"], text=True)
    for file in files.split():
        if not pathlib.Path(file).exists():
            continue
        for included in re.findall(r'^#include "([^"]+)"', pathlib.Path(file).read_text(), re.MULTILINE):
            if included.startswith(ROOTS):
                yield file, included


def folder_of(file):
    return str(pathlib.PurePath(file).parent)


def wrong_arrows(pairs):
    for file, included in pairs:
        folder, target = folder_of(file), folder_of(included)
        if folder == target:
            continue
        rule = rule_of(folder)
        if rule is None:
            yield f"{file}: {folder} has no rule in tests/style/includes.py"
            continue
        allowed = ALLOWED[rule] + [rule] + (["tests"] if TEST.search(file) else [])
        if not any(is_within(included, other) for other in allowed):
            yield f"{file} may not include {included}"


def cycles(pairs):
    """Yields each pair of folders that reach each other. Tests do not count, nor does main.cc, which puts programs together."""
    edges = {}
    for file, included in pairs:
        folder, target = folder_of(file), folder_of(included)
        counts = not TEST.search(file) and not file.endswith("/main.cc") and not folder.startswith("tests")
        if folder != target and counts:
            edges.setdefault(folder, set()).add(target)

    def reach(folder):
        seen, todo = set(), [folder]
        while todo:
            for target in edges.get(todo.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        return seen

    reached = {folder: reach(folder) for folder in edges}
    for folder, targets in sorted(reached.items()):
        for target in sorted(targets):
            if folder < target and folder in reached.get(target, ()):
                yield f"{folder} and {target} include each other"


def main():
    pairs = list(includes())
    findings = sorted(set(wrong_arrows(pairs)) | set(cycles(pairs)))
    print("\n".join(findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
