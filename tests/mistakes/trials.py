"""Runs the tests near a mistake with the mistake chosen."""
import collections
import os
import pathlib
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree

import builds

Result = collections.namedtuple("Result", "verdict tests")

_STEPS = 4          # of dependency between a source and its tests
_SLOWEST = 40.0     # seconds; what takes longer is left out
_LEAST_TIME = 15.0  # seconds


def _program(root, label):
    return pathlib.Path(root, "bazel-bin", label[2:].replace(":", "/"))


class Graph:
    """Which tests depend on which source."""

    def __init__(self, root):
        described = subprocess.run(["bazel", "query", "--output=xml", "--noimplicit_deps", "kind(rule, //...)"], cwd=root,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        self._users = collections.defaultdict(set)
        self._tests = set()
        self._root = root
        for rule in ElementTree.fromstring(described.stdout).iter("rule"):
            # A fuzzer's test needs arguments, and not all tests are built.
            name = rule.get("name")
            if rule.get("class") == "cc_test" and not name.endswith("_fuzz") and _program(root, name).exists():
                self._tests.add(name)
            for used in rule.iter("rule-input"):
                self._users[used.get("name")].add(rule.get("name"))

    def tests_of(self, file):
        """Returns the labels of the tests near a source, the nearest first."""
        package = pathlib.PurePath(file).parent
        while not pathlib.Path(self._root, package, "BUILD.bazel").exists():
            package = package.parent
        reached = [f"//{package}:{pathlib.PurePath(file).relative_to(package)}"]
        frontier = reached
        for _ in range(_STEPS + 1):
            frontier = sorted({user for label in frontier for user in self._users[label]} - set(reached))
            reached = reached + frontier
        return [label for label in reached if label in self._tests]


class Trials:
    def __init__(self, root, scratch):
        self._graph = Graph(root)
        self._root = root
        self._scratch = scratch
        self._times = {}  # of the tests that pass without a mistake, in seconds
        self._lock = threading.Lock()

    def run(self, drawn, workers):
        """Returns the Result of each number."""
        near = {number: self._graph.tests_of(file) for number, file, _, _ in drawn}
        self._each(sorted({label for labels in near.values() for label in labels}), workers, self._time)
        results = {}
        self._each(drawn, workers, lambda each, worker: results.update({each[0]: self._try(each[0], near[each[0]], worker)}))
        return results

    def _each(self, items, workers, call):
        waiting = queue.Queue()
        for item in items:
            waiting.put(item)

        def work(worker):
            while True:
                try:
                    item = waiting.get_nowait()
                except queue.Empty:
                    return
                call(item, worker)

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _time(self, label, worker):
        began = time.monotonic()
        passed = self._passes(label, 0, worker, _SLOWEST)
        with self._lock:
            if passed:
                self._times[label] = time.monotonic() - began
            else:
                print(label, "takes too long" if passed is None else "fails without a mistake", file=sys.stderr)

    def _try(self, number, labels, worker):
        for label in [each for each in labels if each in self._times]:
            limit = max(_LEAST_TIME, 6 * self._times[label])
            passed = self._passes(label, number, worker, limit)
            # What fails without the mistake too says nothing.
            if not passed and self._passes(label, 0, worker, limit):
                return Result("late" if passed is None else "noticed", [label])
        return Result("unnoticed", [])

    def _passes(self, label, number, worker, limit):
        """Returns True, False, or None if the test did not end in `limit` seconds."""
        program = str(_program(self._root, label))
        chosen = pathlib.Path(self._scratch, f"chosen-{worker}")
        chosen.write_text(str(number))
        pathlib.Path(builds.CHOSEN).touch()
        with tempfile.TemporaryDirectory(dir=self._scratch) as directory:
            environment = {"PATH": os.environ["PATH"], "HOME": "/root", "TEST_TMPDIR": directory, "TEST_WORKSPACE": "corral",
                           "TEST_SRCDIR": f"{program}.runfiles", "GTEST_FAIL_FAST": "1"}
            # In a namespace of process ids, what a test leaves ends with it.
            command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private",
                       "sh", "-c", f"mount --bind {chosen} {builds.CHOSEN} || exit 1; {program}; exit $?"]
            # A program started in the background ignores these, and tests send them.
            test = subprocess.Popen(command, cwd=f"{program}.runfiles/corral", env=environment, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                    preexec_fn=lambda: [signal.signal(each, signal.SIG_DFL)
                                                        for each in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)])
            try:
                return test.wait(limit) == 0
            except subprocess.TimeoutExpired:
                os.killpg(test.pid, signal.SIGKILL)
                test.wait()
                return None
