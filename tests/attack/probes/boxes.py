"""The kinds of sandboxes that the probes can be pointed at."""

import os
import subprocess
import time

import peers
from host import GUARDED
from peers import TIMEOUT

# resources.py knows these.
MEMORY, PROCESSES = "128M", "64"
NAMES = ("corral", *peers.PEERS)


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

    def check(self, workspace):
        pass

    def end(self, workspace):
        self._call("rm", "--force", self.sandboxes.pop(workspace))

    def stop(self):
        for workspace in list(self.sandboxes):
            self.end(workspace)
        self.server.terminate()
        self.server.wait()
        self.log.close()


def make(name, programs, scratch, profile):
    if name == "corral":
        return Corral(programs, scratch, profile)
    return peers.make(name, scratch)
