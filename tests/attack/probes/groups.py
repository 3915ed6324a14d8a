"""Control groups, which a sandbox sees in /sys/fs/cgroup."""

import ctypes
import os
import signal
import struct

from probe import absent, bait, held, probe, read, syscall, through, verdict, write

KIND = "groups"
VIEW = "/sys/fs/cgroup"
AT_FDCWD = -100
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUSER = 0x20000, 0x2000000, 0x10000000
CLONE_INTO_CGROUP = 0x200000000
MIB = 1 << 20
MEMORY = 128 * MIB
# Values that lift a limit, end a group or call a program of the host.
WRITES = {
    "memory.max": b"max", "memory.limit_in_bytes": b"-1", "memory.high": b"4096", "memory.oom.group": b"1",
    "pids.max": b"max", "cpu.max": b"max", "cpu.cfs_quota_us": b"-1", "cpu.shares": b"262144", "cpuset.cpus": b"0",
    "cgroup.freeze": b"1", "cgroup.type": b"threaded", "cgroup.subtree_control": b"-memory", "notify_on_release": b"1",
    "release_agent": b"/bin/false", "memory.oom_control": b"1", "cgroup.clone_children": b"0",
}


def places():
    """The mounts that show groups: (the group that is shown, the place)."""
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        return [tuple(line.split()[3:5]) for line in mounts if " - cgroup" in line]


def groups(top=VIEW):
    """The directories of all groups that are seen."""
    return [place for place, _, files in os.walk(top) if "cgroup.procs" in files]


def own_groups():
    return read("/proc/self/cgroup")


def rewritten(top):
    """The first file below `top` that took another value, or None."""
    for group in groups(top):
        for name, value in WRITES.items():
            path = f"{group}/{name}"
            try:
                before = read(path)
                write(path, value)
                if read(path) != before:
                    return path
            except OSError:
                pass
    return None


@probe(KIND, "a limit that a tenant can lift is none")
def changes_a_limit_through_the_view():
    if not groups():
        return absent("no group is seen")
    changed = rewritten(VIEW)
    return verdict(changed, changed or f"{len(groups())} groups")


@probe(KIND, "a process in another group has none of the limits")
def moves_to_another_group():
    before = own_groups()
    for group in groups():
        for name in ("cgroup.procs", "cgroup.threads", "tasks"):
            try:
                write(f"{group}/{name}", b"0")
            except OSError:
                pass
    return verdict(own_groups() != before) if groups() else absent("no group is seen")


@probe(KIND, "a process that is born in another group has none of the limits")
def is_born_in_another_group():
    before = own_groups()
    for group in groups():
        directory = os.open(group, os.O_RDONLY | os.O_DIRECTORY)
        try:
            child = syscall("clone3", struct.pack("11Q", CLONE_INTO_CGROUP, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, directory),
                            88)
        except OSError:
            continue
        if child == 0:
            os._exit(0 if own_groups() == before else 7)
        if os.waitpid(child, 0)[1] != 0:
            return through(group)
    return held() if groups() else absent("no group is seen")


@probe(KIND, "in a group of its own a process has none of the limits")
def makes_a_group():
    for group in groups():
        try:
            os.mkdir(group + "/attack")
            os.rmdir(group + "/attack")
            return through(group)
        except OSError:
            pass
    return held() if groups() else absent("no group is seen")


@probe(KIND, "a remount makes all groups writable")
def makes_the_view_writable():
    if not places():
        return absent("no group is seen")
    for _, place in places():
        for attempt in (lambda at=place: syscall("mount", None, at, None, MS_REMOUNT | MS_BIND, None),
                        lambda at=place: syscall("mount_setattr", AT_FDCWD, at, 0, struct.pack("QQQQ", 0, 1, 0, 0), 32)):
            try:
                attempt()
            except OSError:
                pass
    return verdict([place for _, place in places() if not os.statvfs(place).f_flag & os.ST_RDONLY])


@probe(KIND, "a hierarchy that is mounted in namespaces of its own has other owners")
def mounts_groups_in_namespaces_of_its_own():
    syscall("unshare", CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWCGROUP)
    syscall("mount", None, "/", None, MS_REC | MS_PRIVATE, None)
    os.makedirs("mounted", exist_ok=True)
    for kind, option in (("cgroup2", None), ("cgroup", "memory"), ("cgroup", "pids"), ("cgroup", "cpu")):
        try:
            syscall("mount", "none", os.path.abspath("mounted"), kind, 0, option)
        except OSError:
            continue
        changed = rewritten(os.path.abspath("mounted"))
        if changed:
            return through(changed)
    return held()


@probe(KIND, "groups of others show who else is on the host")
def finds_the_group_of_the_victim():
    if not groups():
        return absent("no group is seen")
    # From the path as the host sees it, also the part that names the sandbox.
    for path in bait("VICTIM_GROUPS").split():
        names = [path.strip("/")] + [part for part in path.split("/") if part.startswith("sandbox-")]
        for name in filter(None, names):
            for _, place in places():
                if os.path.exists(f"{place}/{name}") or os.path.exists(f"{place}/../{name}"):
                    return through(f"{place}/{name}")
    return held()


@probe(KIND, "lists of processes show what others run")
def lists_processes_of_others():
    if not groups():
        return absent("no group is seen")
    for group in groups():
        try:
            # A process outside of the PID namespace has the number 0.
            if b"0" in read(group + "/cgroup.procs").split():
                return through(group)
        except OSError:
            pass
    return held()


@probe(KIND, "paths of groups show how the host is organised")
def reads_paths_of_groups_of_the_host():
    shown = [root for root, _ in places() if root != "/"]
    own = [line.split(":", 2)[2] for line in own_groups().decode().split()]
    return verdict(shown or [path for path in own if ".." in path or "corral" in path or "sandbox-" in path], own)


@probe(KIND, "above the view are the groups of all")
def walks_up_from_the_view():
    if not groups():
        return absent("no group is seen")
    for _, place in places():
        os.chdir(place)
        for _ in range(16):
            os.chdir("..")
            if os.path.exists("cgroup.procs") or os.path.exists("release_agent"):
                return through(place)
    return held()


@probe(KIND, "events of memory and pressure come from groups that are written to")
def registers_for_events_of_memory():
    if not groups():
        return absent("no group is seen")
    for group in groups():
        try:
            control = os.open(group + "/memory.oom_control", os.O_RDONLY)
            write(group + "/cgroup.event_control", f"{os.eventfd(0)} {control}".encode())
            return through(group)
        except OSError:
            pass
        try:
            write(group + "/memory.pressure", b"some 150000 1000000")
            return through(group)
        except OSError:
            pass
    return held()


@probe(KIND, "a handle leads to any group of the hierarchy")
def opens_a_group_by_its_handle():
    if not places():
        return absent("no group is seen")
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 136)
    mount = ctypes.c_int()
    place = places()[0][1]
    syscall("name_to_handle_at", AT_FDCWD, place, handle, ctypes.byref(mount), 0)
    # The root of a hierarchy has the number 1.
    struct.pack_into("Q", handle, 8, 1)
    return through(syscall("open_by_handle_at", os.open(place, os.O_RDONLY), handle, os.O_RDONLY))


@probe(KIND, "the memory that others use shows what they do")
def reads_how_much_memory_others_use():
    for path in (VIEW + "/memory.current", VIEW + "/memory/memory.usage_in_bytes"):
        try:
            used = int(read(path))
            return verdict(used > 2 * MEMORY, used)
        except OSError:
            pass
    return absent("no group is seen")
