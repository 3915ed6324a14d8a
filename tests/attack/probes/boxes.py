"""The kinds of sandboxes that the probes can be pointed at."""

import os
import shutil
import subprocess
import time

from host import GUARDED

TIMEOUT = 60
# resources.py knows these.
MEMORY, PROCESSES = "128M", "64"
# The owner of the workspaces, see host.py.
UNPRIVILEGED = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]


class Corral:
    """Sandboxes of a corrald of their own, one for the attacker and one for the victim."""

    def __init__(self, programs, scratch, profile):
        self.profile = profile
        # A workspace has no read-only paths with profile nested.
        self.guards = profile != "nested"
        self.corral = os.path.join(programs, "corral")
        self.environment = dict(os.environ, CORRAL_SERVER=f"unix:{scratch}/corrald.sock")
        with open(f"{scratch}/config", "w", encoding="ascii") as file:
            file.write(f'listen: "unix:{scratch}/corrald.sock" state_dir: "{scratch}/state" '
                       f'ceilings {{ profiles: "DEFAULT" profiles: "{profile.upper()}" }}')
        self.log = open(f"{scratch}/corrald.log", "wb")
        self.server = subprocess.Popen(
            [os.path.join(programs, "corrald"), "--config", f"{scratch}/config"], stdout=self.log, stderr=self.log)
        while not os.path.exists(f"{scratch}/corrald.sock"):
            if self.server.poll() is not None:
                raise RuntimeError(f"corrald ended; see {scratch}/corrald.log")
            time.sleep(0.02)
        self.sandboxes = {}

    def _call(self, *arguments, **options):
        return subprocess.run([self.corral, *arguments], env=self.environment, capture_output=True, timeout=TIMEOUT,
                              check=False, **options)

    def create(self, workspace):
        created = self._call("create", "--workspace", workspace, "--memory", MEMORY, "--pids", PROCESSES, "--cpus", "1",
                             "--profile", "default" if workspace.endswith("victim") else self.profile,
                             *(["--read-only-path", GUARDED] if self.guards else []), cwd=workspace)
        if created.returncode != 0:
            raise RuntimeError(created.stderr.decode(errors="replace"))
        self.sandboxes[workspace] = created.stdout.decode().strip()

    def run(self, workspace, command, environment):
        options = [option for name in environment for option in ("--env", f"{name}={environment[name]}")]
        return self._call("exec", *options, self.sandboxes[workspace], "--", *command, cwd=workspace)

    def start(self, workspace, command, environment):
        """Starts a command that stays until the sandbox ends."""
        options = [option for name in environment for option in ("--env", f"{name}={environment[name]}")]
        self._call("exec", "--detach", *options, self.sandboxes[workspace], "--", *command, cwd=workspace)

    def end(self, workspace):
        self._call("rm", "--force", self.sandboxes.pop(workspace))

    def stop(self):
        for workspace in list(self.sandboxes):
            self.end(workspace)
        self.server.terminate()
        self.server.wait()
        self.log.close()


class Wrapper:
    """A program that makes a sandbox for each command, in front of the command."""

    guards = False

    def __init__(self):
        self.running = []

    def create(self, workspace):
        pass

    def run(self, workspace, command, environment):
        return subprocess.run(self.front(workspace) + command, env=dict(os.environ, **environment), cwd=workspace,
                              capture_output=True, timeout=TIMEOUT, check=False)

    def start(self, workspace, command, environment):
        self.running.append(subprocess.Popen(self.front(workspace) + command, env=dict(os.environ, **environment),
                                             cwd=workspace, stdout=subprocess.DEVNULL))

    def end(self, workspace):
        while self.running:
            process = self.running.pop()
            process.kill()
            process.wait()

    def stop(self):
        self.end(None)

    def front(self, workspace):
        raise NotImplementedError


class Bubblewrap(Wrapper):
    """bubblewrap with every namespace, as its manual shows it for untrusted programs."""

    def front(self, workspace):
        return UNPRIVILEGED + ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/usr", "/usr", "--symlink",
                "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc",
                "--dev", "/dev", "--tmpfs", "/tmp", "--bind", workspace, workspace, "--chdir", workspace, "--uid", "1000",
                "--gid", "1000", "--setenv", "HOME", "/tmp", "--"]


def make(name, programs, scratch, profile):
    if name == "corral":
        return Corral(programs, scratch, profile)
    if name == "bwrap":
        if shutil.which("bwrap") is None:
            raise RuntimeError("bwrap is not installed")
        return Bubblewrap()
    raise RuntimeError(f"--with {name}: allowed are corral and bwrap")
