"""Other programs that make sandboxes, with the settings that their manuals show or that they have by themselves."""

import json
import os
import shutil
import subprocess

TIMEOUT = 60
# The owner of the workspaces, see host.py.
USER = 65534
UNPRIVILEGED = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--"]


class Unavailable(Exception):
    """Why this host cannot try a program."""


def seeing(file, place):
    """Words before a command that then sees a file at another place, where nobody else does."""
    return ["unshare", "--mount", "--propagation", "private", "--", "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"',
            file, place]


class Wrapper:
    """A program that makes a sandbox for each command, in front of the command."""

    # Whether its sandboxes have read-only paths in workspaces.
    guards = False

    def __init__(self):
        # The processes that were started, by workspace.
        self.running = {}

    def create(self, workspace):
        pass

    def run(self, workspace, command, environment):
        words, variables = self.words(workspace, command, environment)
        return subprocess.run(words, env=variables, cwd=workspace, capture_output=True, timeout=TIMEOUT, check=False)

    def start(self, workspace, command, environment):
        """Starts a command that stays until the end of the workspace's sandboxes."""
        words, variables = self.words(workspace, command, environment)
        process = subprocess.Popen(words, env=variables, cwd=workspace, stdout=subprocess.DEVNULL)
        self.running.setdefault(workspace, []).append(process)

    def end(self, workspace):
        for process in self.running.pop(workspace, []):
            process.kill()
            process.wait()

    def stop(self):
        for workspace in list(self.running):
            self.end(workspace)

    def words(self, workspace, command, environment):
        """What to execute, and with which environment."""
        return self.front(workspace) + command, dict(os.environ, **environment)

    def front(self, workspace):
        raise NotImplementedError

    def check(self, workspace):
        """Raises Unavailable if not even `true` runs."""
        result = self.run(workspace, ["true"], {})
        if result.returncode != 0:
            raise Unavailable(result.stderr.decode(errors="replace").strip().replace("\n", " ") or
                              f"true ended with {result.returncode}")


class Bubblewrap(Wrapper):
    """bubblewrap with every namespace, as its manual shows it for untrusted programs."""

    program = "bwrap"

    def front(self, workspace):
        return UNPRIVILEGED + ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/usr", "/usr", "--symlink",
                "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc",
                "--dev", "/dev", "--tmpfs", "/tmp", "--bind", workspace, workspace, "--chdir", workspace, "--uid", "1000",
                "--gid", "1000", "--setenv", "HOME", "/tmp", "--"]


class Crun(Wrapper):
    """crun with the configuration that `crun spec` writes: its namespaces, capabilities, masked paths and devices.

    Only what a command needs is added: /usr, a /tmp and the workspace, whose owner the command is. Control groups are
    off, and so is the mount that shows them, because crun refuses hosts that have both versions. It must not even see that
    v2 has a controller there.
    """

    program = "crun"
    controllers = "/sys/fs/cgroup/unified/cgroup.controllers"

    def __init__(self, scratch):
        super().__init__()
        self.scratch = scratch
        self.count = 0
        # The containers of each workspace.
        self.containers = {}
        self.crun = ["crun", "--cgroup-manager=disabled"]
        if os.path.exists(self.controllers):
            with open(scratch + "/none", "w", encoding="ascii"):
                pass
            self.crun = seeing(scratch + "/none", self.controllers) + self.crun

    def words(self, workspace, command, environment):
        self.count += 1
        name = f"corral-attack-{os.getpid()}-{self.count}"
        self.containers.setdefault(workspace, []).append(name)
        bundle = f"{self.scratch}/{name}"
        os.makedirs(f"{bundle}/rootfs/usr")
        for directory in ("bin", "lib", "lib64"):
            os.symlink("usr/" + directory, f"{bundle}/rootfs/{directory}")
        subprocess.run(["crun", "spec"], cwd=bundle, check=True, capture_output=True)
        with open(f"{bundle}/config.json", encoding="ascii") as file:
            config = json.load(file)
        process = config["process"]
        process.update(terminal=False, user={"uid": USER, "gid": USER}, args=command, cwd=workspace)
        process["env"] += ["HOME=/tmp"] + [f"{key}={value}" for key, value in environment.items()]
        config["mounts"] = [mount for mount in config["mounts"] if mount["type"] != "cgroup"] + [
            {"destination": "/usr", "type": "bind", "source": "/usr", "options": ["rbind", "ro"]},
            {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev"]},
            {"destination": workspace, "type": "bind", "source": workspace, "options": ["bind", "rw"]}]
        with open(f"{bundle}/config.json", "w", encoding="ascii") as file:
            json.dump(config, file)
        return self.crun + ["run", "--bundle", bundle, name], dict(os.environ)

    def run(self, workspace, command, environment):
        try:
            return super().run(workspace, command, environment)
        finally:
            self.delete(self.containers[workspace].pop())

    def end(self, workspace):
        for name in self.containers.pop(workspace, []):
            self.delete(name)
        super().end(workspace)

    def delete(self, name):
        """Ends a container, which outlives a crun that is killed."""
        subprocess.run(self.crun + ["delete", "--force", name], capture_output=True, check=False)
        shutil.rmtree(f"{self.scratch}/{name}", ignore_errors=True)


class Firejail(Wrapper):
    """firejail with the profile that it has for programs without one of their own.

    It knows no user `nobody`, and takes no user without an entry in /etc/passwd. So it sees a passwd of its own, in which
    the owner of the workspace has the workspace as home.
    """

    program = "firejail"

    def __init__(self, scratch):
        super().__init__()
        self.passwd = scratch + "/passwd"

    def words(self, workspace, command, environment):
        with open("/etc/passwd", encoding="utf-8") as file:
            others = [line for line in file if f":{USER}:" not in line]
        with open(self.passwd, "w", encoding="utf-8") as file:
            file.write("".join(others) + f"prober:x:{USER}:{USER}::{workspace}:/bin/sh\n")
        os.chmod(self.passwd, 0o644)
        return (seeing(self.passwd, "/etc/passwd") + UNPRIVILEGED + ["firejail", "--quiet", "--"] + command,
                dict(os.environ, HOME=workspace, USER="prober", **environment))


PEERS = {"bwrap": lambda scratch: Bubblewrap(), "crun": Crun, "firejail": Firejail}


def make(name, scratch):
    peer = PEERS[name](scratch)
    if shutil.which(peer.program) is None:
        raise Unavailable(f"{peer.program} is not installed")
    return peer
