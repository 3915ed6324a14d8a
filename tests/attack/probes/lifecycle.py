"""The protocol between the sandbox and its supervisor, and the life of commands."""

import os
import signal
import socket
import sys
import time

from probe import held, probe, read, through, verdict

KIND = "lifecycle"


@probe(KIND, "a connection to the supervisor or the spawner starts commands")
def finds_a_socket_of_the_supervisor():
    for number in range(3, 1024):
        try:
            if os.readlink(f"/proc/self/fd/{number}").startswith("socket:"):
                return through(number)
        except OSError:
            pass
    return held()


@probe(KIND, "standard streams that are sockets of the server can be written to out of turn")
def has_other_streams_than_pipes():
    for number in range(3):
        target = os.readlink(f"/proc/self/fd/{number}")
        if not target.startswith(("pipe:", "/dev/null")):
            return through(target)
    return held()


@probe(KIND, "the log of its output is a file of the server")
def finds_its_own_records():
    for place in ("/var/lib/corral", "/run/corral", "/var/run/corral"):
        if os.path.exists(place):
            return through(place)
    return held()


@probe(KIND, "a daemon that left its session outlives its command")
def leaves_a_daemon_behind():
    # The next probes and the host look for it.
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            for number in range(3):
                os.close(number)
            time.sleep(600)
        os._exit(0)
    os.wait()
    return held("judged by the host")


@probe(KIND, "another name hides a process from tools of the host")
def renames_itself():
    import ctypes

    ctypes.CDLL(None).prctl(15, b"corral-init", 0, 0, 0)
    return verdict(os.getpid() == 1)


@probe(KIND, "the end of another command is forged")
def writes_an_end_for_another_command():
    for process in os.listdir("/proc"):
        if process.isdigit() and int(process) not in (os.getpid(), os.getppid()):
            for number in range(8):
                try:
                    with open(f"/proc/{process}/fd/{number}", "wb", buffering=0) as file:
                        if "socket" in os.readlink(f"/proc/{process}/fd/{number}"):
                            file.write(b"\0" * 64)
                            return through(process)
                except OSError:
                    pass
    return held()


@probe(KIND, "a reader that waits for ever holds up the end of the command")
def keeps_its_output_open():
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
    return held("judged by the host: the command ends")


@probe(KIND, "reports of the host about the sandbox are read")
def reads_the_supervisors_environment():
    parent = int(read("/proc/self/stat").split()[3])
    return verdict(parent != 0 and b"CORRAL" in read(f"/proc/{parent}/environ"), parent)


@probe(KIND, "a terminal that the server holds gets input from a command")
def takes_a_controlling_terminal():
    file = os.open("/dev/tty", os.O_RDWR)
    return through(file)


@probe(KIND, "the supervisor is the parent of commands: a signal to it ends the sandbox")
def signals_its_parent():
    parent = os.getppid()
    if parent == 0:
        return held("the parent has no number here")
    os.kill(parent, 0)
    return verdict("sh" not in read(f"/proc/{parent}/comm").decode() and "python" not in sys.executable, parent)


@probe(KIND, "a passed descriptor keeps files of the host open")
def receives_a_descriptor_of_the_host():
    for number in range(3):
        try:
            channel = socket.socket(fileno=os.dup(number))
            channel.setblocking(False)
            return verdict(socket.recv_fds(channel, 16, 4)[1], number)
        except OSError:
            pass
    return held()
