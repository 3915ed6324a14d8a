"""What the host puts out for the probes, and what must be unchanged after them."""

import fcntl
import os
import secrets
import shutil
import socket
import struct
import subprocess
import tempfile
import time

# A directory of the attacker's workspace with one file, which the sandbox must not change.
GUARDED = "repository/hooks"
NAMESPACES = ("mnt", "net", "pid", "user", "ipc", "uts", "cgroup")


def process_with(mark):
    """The host's number of the process that has the mark as an argument, or None."""
    for number in os.listdir("/proc"):
        if number.isdigit():
            try:
                with open(f"/proc/{number}/cmdline", "rb") as file:
                    arguments = file.read().split(b"\0")
            except OSError:
                continue
            if mark.encode() in arguments and not any(b"exec" == argument for argument in arguments):
                return int(number)
    return None


def contents(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def can_rank():
    """Whether root may protect processes of the host from the OOM killer: CAP_SYS_RESOURCE."""
    with open("/proc/self/status", encoding="ascii") as file:
        effective = [line for line in file if line.startswith("CapEff")][0]
    return int(effective.split()[1], 16) >> 24 & 1


def state():
    """What no probe may change."""
    found = {"name": os.uname().nodename, "env": tuple(os.stat("/usr/bin/env")[:9])}
    for name in ("kernel/core_pattern", "vm/overcommit_memory", "net/ipv4/ip_forward", "kernel/modprobe"):
        if os.path.exists("/proc/sys/" + name):
            with open("/proc/sys/" + name, encoding="ascii") as file:
                found[name] = file.read()
    return found


class Bait:
    """Files, sockets and a process of the host. Everything goes with `close`."""

    def __init__(self, programs, parent):
        self.directory = tempfile.mkdtemp(prefix="corral-attack.", dir=parent)
        os.chmod(self.directory, 0o755)
        self.secret = secrets.token_hex(16)
        self.mark = "corral-bait-" + secrets.token_hex(8)
        self.victim_mark = "corral-victim-" + secrets.token_hex(8)
        self.listener = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
        self.abstract = socket.socket(socket.AF_UNIX)
        self.abstract.bind("\0" + self.mark)
        self.abstract.listen()
        self.process = subprocess.Popen(["sleep", "3600"], executable="/bin/sleep")
        with open(self.directory + "/secret", "w", encoding="ascii") as file:
            file.write(self.secret)
        self.locked = open(self.directory + "/secret", "r+", encoding="ascii")  # pylint: disable=consider-using-with
        # A lock of an open file belongs to no process, so /proc/locks shows it in every PID namespace.
        fcntl.fcntl(self.locked, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        addresses = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=False).stdout
        self.environment = {
            "BAIT_FILE": self.directory + "/secret", "BAIT_SECRET": self.secret, "BAIT_MARK": self.mark,
            "BAIT_PORT": str(self.listener.getsockname()[1]), "BAIT_ABSTRACT": self.mark,
            "BAIT_PID": str(self.process.pid), "BAIT_ADDRESSES": addresses.strip(),
            "BAIT_CAN_RANK": str(can_rank()), "BAIT_NETWORK": str(os.stat("/proc/self/ns/net").st_ino),
            "BAIT_NAMESPACES": " ".join(f"{name}={os.stat('/proc/self/ns/' + name).st_ino}" for name in NAMESPACES),
            "BAIT_BOOT_ID": contents("/proc/sys/kernel/random/boot_id").strip(),
            "BAIT_PROCESSES": contents("/proc/loadavg").split()[3].split("/")[1],
            "BAIT_VICTIM": self.directory + "/victim", "BAIT_VICTIM_MARK": self.victim_mark,
            "BAIT_VICTIM_KEY": str(0x0C0FFEE), "BAIT_VICTIM_ABSTRACT": self.mark + "-victim",
            "BAIT_VICTIM_PORT": str(free_port()), "BAIT_VICTIM_PID": "0", "BAIT_VICTIM_ID": "none",
            "BAIT_VICTIM_GROUPS": "",
        }
        # Its own arguments carry the mark. It has no child that could outlive it and keep the output of the suite open.
        self.marked = subprocess.Popen(["sh", "-c", "read line", self.mark], stdin=subprocess.PIPE)
        for name in ("attacker", "victim"):
            workspace = f"{self.directory}/{name}"
            os.mkdir(workspace)
            shutil.copytree(programs, workspace + "/probes")
            os.makedirs(f"{workspace}/{GUARDED}")
            with open(f"{workspace}/{GUARDED}/hook", "w", encoding="ascii") as file:
                file.write(self.mark)
            # Probes run as the owner of the workspace, which is not root.
            for place, folders, files in os.walk(workspace):
                for path in [place] + [os.path.join(place, each) for each in folders + files]:
                    os.chown(path, 65534, 65534)
        with open(self.directory + "/victim/secret", "w", encoding="ascii") as file:
            file.write(self.secret)
        self.before = state()

    def workspace(self, name):
        return f"{self.directory}/{name}"

    def await_victim(self):
        for _ in range(1000):
            if os.path.exists(self.workspace("victim") + "/ready"):
                break
            time.sleep(0.02)
        number = process_with(self.victim_mark)
        if number is None:
            raise RuntimeError("the victim did not start")
        self.environment["BAIT_VICTIM_PID"] = str(number)
        with open(f"/proc/{number}/uid_map", encoding="ascii") as file:
            self.environment["BAIT_VICTIM_ID"] = file.read().split()[1]
        groups = {line.split(":", 2)[2] for line in contents(f"/proc/{number}/cgroup").split()}
        self.environment["BAIT_VICTIM_GROUPS"] = " ".join(sorted(groups))

    def damage(self):
        """What the probes changed outside of their sandbox, in words."""
        found = [name for name, value in state().items() if value != self.before[name]]
        victim = int(self.environment["BAIT_VICTIM_PID"])
        if not os.path.exists(f"/proc/{victim}"):
            found.append("the victim's process ended")
        elif os.getpriority(os.PRIO_PROCESS, victim) != 0:
            found.append("the victim's priority changed")
        if self.process.poll() is not None:
            found.append("a process of the host ended")
        guarded = f"{self.workspace('attacker')}/{GUARDED}"
        if not os.path.isdir(guarded) or os.listdir(guarded) != ["hook"] or contents(guarded + "/hook") != self.mark:
            found.append("a read-only path of the workspace changed")
        return found

    def close(self):
        for process in (self.process, self.marked):
            process.kill()
            process.communicate()
        self.listener.close()
        self.abstract.close()
        self.locked.close()
        shutil.rmtree(self.directory, ignore_errors=True)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]
