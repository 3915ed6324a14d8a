"""Mounts, roots and file systems."""

import ctypes
import fcntl
import os
import struct

from probe import absent, bait, call, held, probe, syscall, through, verdict, write

KIND = "files"
MS_REMOUNT, MS_BIND = 32, 4096
AT_FDCWD = -100


@probe(KIND, "a mount hides or shows what the sandbox was given")
def mounts_a_tmpfs():
    return call("mount", "none", "/tmp", "tmpfs", 0, None)


@probe(KIND, "a remount makes the read-only root writable")
def remounts_the_root_writable():
    return call("mount", None, "/", None, MS_REMOUNT | MS_BIND, None)


@probe(KIND, "a bind mount covers a file of the root")
def binds_over_a_file():
    write("cover", b"root::0:0::/:/bin/sh\n")
    return call("mount", os.path.abspath("cover"), "/etc/passwd", None, MS_BIND, None)


@probe(KIND, "a detached copy of a tree has no locked mounts")
def opens_a_detached_tree():
    return call("open_tree", AT_FDCWD, "/", 1)


@probe(KIND, "the new mount calls reach file systems that mount(2) is not asked for")
def opens_a_new_file_system():
    return call("fsopen", "tmpfs", 0)


@probe(KIND, "mount_setattr clears read-only, nosuid and noexec")
def changes_the_attributes_of_a_mount():
    attributes = struct.pack("QQQQ", 0, 1, 0, 0)
    return call("mount_setattr", AT_FDCWD, "/", 0x8000, attributes, len(attributes))


@probe(KIND, "what a mask covers appears again")
def unmounts_what_covers_proc():
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        places = [line.split()[4] for line in mounts]
    for place in places:
        for flags in (0, 2, 8):
            try:
                syscall("umount2", place, flags)
                return through(place)
            except OSError:
                pass
    return held(f"{len(places)} mounts")


def attack_guarded(attack):
    """The verdict of an attack on the read-only path of the workspace. It has its effect if it raises nothing."""
    if bait("GUARDED") == "none":
        return absent("no path is read-only")
    attack(bait("GUARDED"))
    return through()


@probe(KIND, "git on the host runs a hook that the sandbox has written")
def writes_to_a_read_only_path():
    return attack_guarded(lambda path: write(path + "/hook", b"evil"))


@probe(KIND, "git on the host runs the hooks of a directory that took the place of another one")
def moves_a_read_only_path():
    return attack_guarded(lambda path: os.rename(path, os.path.dirname(path) + "/moved"))


@probe(KIND, "whoever moves a directory moves the mounts below it")
def moves_the_directory_above_a_read_only_path():
    return attack_guarded(lambda path: os.rename(os.path.dirname(path), "moved"))


@probe(KIND, "two directories change their places at once")
def exchanges_the_directory_above_a_read_only_path():
    os.makedirs("exchanged/hooks", exist_ok=True)
    # RENAME_EXCHANGE
    return attack_guarded(
        lambda path: syscall("renameat2", AT_FDCWD, "exchanged", AT_FDCWD, os.path.dirname(path), 2))


@probe(KIND, "another root leaves the one with the masks")
def exchanges_the_root():
    os.makedirs("root/old")
    return call("pivot_root", "root", "root/old")


@probe(KIND, "a process that keeps a directory outside of its root walks up to the host")
def escapes_from_a_changed_root():
    os.makedirs("jail", exist_ok=True)
    above = os.open(".", os.O_RDONLY)
    os.chroot("jail")
    os.fchdir(above)
    for _ in range(64):
        os.chdir("..")
    os.chroot(".")
    return sees_secret(bait("FILE"))


@probe(KIND, "release_agent runs a program as root of the host, as in CVE-2022-0492")
def finds_a_control_group_to_write_to():
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        found = [line.split()[4] for line in mounts if " - cgroup" in line]
    return verdict([place for place in found if os.access(place, os.W_OK)], found)


@probe(KIND, "a hierarchy that the sandbox mounts itself has a release_agent")
def mounts_control_groups():
    os.makedirs("groups", exist_ok=True)
    return call("mount", "none", os.path.abspath("groups"), "cgroup", 0, "rdma")


@probe(KIND, "every writer of the file system waits until it is thawed")
def freezes_a_file_system():
    file = os.open(".", os.O_RDONLY)
    fcntl.ioctl(file, 0xC0045877, 0)
    fcntl.ioctl(file, 0xC0045878, 0)
    return through()


@probe(KIND, "the disk is busy for minutes")
def trims_a_file_system():
    file = os.open(".", os.O_RDONLY)
    fcntl.ioctl(file, 0xC0185879, struct.pack("QQQ", 0, 1, 1 << 40))
    return through()


@probe(KIND, "memory of all is written to a file of the sandbox")
def swaps_to_a_file():
    write("swap", bytes(65536))
    return call("swapon", "swap", 0)


@probe(KIND, "limits of others are changed")
def changes_a_quota():
    return call("quotactl", 0x80000100, "/dev/vda", 0, None)


@probe(KIND, "every ending process of the host is written to a file of the sandbox")
def accounts_for_all_processes():
    write("accounting", b"")
    syscall("acct", "accounting")
    syscall("acct", None)
    return through()


@probe(KIND, "all accesses to a file system are seen and can be held up")
def watches_a_whole_file_system():
    return call("fanotify_init", 4, os.O_RDONLY)


@probe(KIND, "mounts of the host are listed")
def lists_mounts_of_the_host():
    request = struct.pack("IIQQQ", 32, 0, 0xFFFFFFFFFFFFFFFF, 0, 0)
    found = ctypes.create_string_buffer(8 * 4096)
    return verdict(syscall("listmount", request, found, 4096, 0) > 64)
