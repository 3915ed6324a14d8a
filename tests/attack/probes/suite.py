"""Runs all probes against one kind of sandbox and judges them: see tests/attack/run."""

import argparse
import collections
import os
import subprocess
import sys
import tempfile

import boxes
import host
import main  # noqa: F401, registers the probes
import peers
from probe import PROBES

INTERPRETER = ["python3", "-B", "-I", "-c", "import sys, runpy; sys.path.insert(0, 'probes'); "
               "sys.argv[0] = 'probes/main.py'; runpy.run_path('probes/main.py', run_name='__main__')"]
VERDICTS = ("held", "granted", "through", "absent", "broken")
RESULTS = {"held": "PASS", "granted": "PASS", "through": "FAIL", "absent": "SKIP", "broken": "FAIL"}
# What a profile is for.
GRANTED = {
    "debug": {"turns-random-addresses-off"},
    "nested": {"reads-how-the-kernel-was-started", "reads-the-hosts-hardware", "leaves-its-namespaces",
               "starts-a-child-in-new-namespaces", "starts-a-child-in-new-namespaces-by-clone3",
               "reads-the-boot-id-of-the-host", "reads-the-locks-of-the-host", "counts-what-others-have"},
}


def judge(result):
    """(verdict, detail) of a probe's process."""
    lines = result.stdout.decode(errors="replace").strip().split("\n")
    verdict, _, detail = lines[-1].partition("\t")
    if verdict in ("held", "through", "absent"):
        return verdict, detail
    if b"out of memory" in result.stderr:
        return "held", "out of memory"
    return "broken", f"exit {result.returncode}: " + result.stderr.decode(errors="replace").strip()[-300:].replace("\n", " ")


def run_probe(box, bait, name):
    try:
        return judge(box.run(bait.workspace("attacker"), INTERPRETER + [name], bait.environment))
    except subprocess.TimeoutExpired:
        return "broken", f"no end after {boxes.TIMEOUT} s"


def usable(box, bait):
    """Whether a command can still be started in the attacked sandbox."""
    try:
        return box.run(bait.workspace("attacker"), ["echo", "usable"], {}).stdout == b"usable\n"
    except subprocess.TimeoutExpired:
        return False


def run_all(box, bait, wanted, granted):
    for workspace in ("attacker", "victim"):
        box.create(bait.workspace(workspace))
    box.start(bait.workspace("victim"),
              ["python3", "-B", "probes/victim.py", bait.victim_mark], bait.environment)
    bait.await_victim()
    for name, (kind, reason, _) in PROBES.items():
        if wanted and kind not in wanted and name not in wanted:
            continue
        verdict, detail = run_probe(box, bait, name)
        if verdict == "through" and name in granted:
            verdict = "granted"
        damage = bait.damage()
        if damage:
            verdict, detail = "through", ", ".join(damage)
            bait.before = host.state()
        elif not usable(box, bait):
            verdict, detail = "through", "no command can be started any more"
            box.end(bait.workspace("attacker"))
            box.create(bait.workspace("attacker"))
        yield kind, name, reason, verdict, detail


def print_table(rows, box):
    counts = collections.defaultdict(collections.Counter)
    for kind, _, _, verdict, _ in rows:
        counts[kind][verdict] += 1
    print(f"\n{box:12} {'probes':>7} {'held':>7} {'granted':>7} {'through':>7} {'absent':>7} {'broken':>7}", file=sys.stderr)
    for kind in list(counts):
        counts["all"].update(counts[kind])
    for kind, count in counts.items():
        numbers = [sum(count.values())] + [count[verdict] for verdict in VERDICTS]
        print(f"{kind:12} " + " ".join(f"{number:7}" for number in numbers), file=sys.stderr)


def run_suite():
    parser = argparse.ArgumentParser(prog="tests/attack/run")
    parser.add_argument("--with", dest="box", default="corral", choices=boxes.NAMES, help="what makes the sandboxes")
    parser.add_argument("--profile", default="default", help="default, strict, debug or nested")
    parser.add_argument("--verbose", action="store_true", help="show why an attack was held")
    parser.add_argument("--bin", required=True, help="the directory of corral and corrald")
    parser.add_argument("wanted", nargs="*", help="classes or names; all if none is given")
    arguments = parser.parse_args()
    scratch = tempfile.mkdtemp(prefix="corral-attack-server.")
    # firejail shows commands an empty /var/tmp.
    bait = host.Bait(os.path.dirname(os.path.abspath(__file__)), "/srv" if arguments.box == "firejail" else "/var/tmp")
    rows, box = [], None
    try:
        box = boxes.make(arguments.box, arguments.bin, scratch, arguments.profile)
        box.check(bait.workspace("attacker"))
        bait.environment["BAIT_GUARDED"] = host.GUARDED if box.guards else "none"
        for row in run_all(box, bait, arguments.wanted, GRANTED.get(arguments.profile, ())):
            rows.append(row)
            kind, name, reason, verdict, detail = row
            why = f": {verdict}: {detail}" if verdict != "held" or arguments.verbose else ""
            where = "" if arguments.profile == "default" else f" in {arguments.profile}"
            print(f"{RESULTS[verdict]} attack{where}: {kind}/{name}{why}" +
                  (f" ({reason})" if verdict == "through" else ""), flush=True)
    except peers.Unavailable as why:
        print(f"SKIP attack: {arguments.box}: {why}")
        return 0
    finally:
        if box is not None:
            box.stop()
        bait.close()
        subprocess.run(["rm", "-rf", scratch], check=False)
    print_table(rows, arguments.box)
    return 1 if any(RESULTS[row[3]] == "FAIL" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(run_suite())
