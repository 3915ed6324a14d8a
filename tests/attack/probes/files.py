"""Files, mounts and /proc."""

import ctypes
import fcntl
import mmap
import os
import signal
import stat
import struct

from probe import absent, bait, call, held, probe, read, syscall, through, verdict, write

KIND = "files"
AT_FDCWD = -100


def sees_secret(path):
    return verdict(bait("SECRET").encode() in read(path))


@probe(KIND, "shows the hashed passwords of the host")
def reads_the_hosts_passwords():
    return verdict(b"root:" in read("/etc/shadow"))


@probe(KIND, "shows a file of the host to a tenant")
def reads_a_file_of_the_host():
    return sees_secret(bait("FILE"))


@probe(KIND, "a link resolves on the side that follows it")
def reads_a_file_of_the_host_through_a_link():
    os.symlink(bait("FILE"), "link-out")
    return sees_secret("link-out")


@probe(KIND, "/proc/PID/root leads into the root of another mount namespace")
def reads_a_file_of_the_host_through_the_root_of_init():
    return sees_secret("/proc/1/root" + bait("FILE"))


@probe(KIND, "the working directory of a process that entered from outside may lie outside")
def reads_a_file_of_the_host_through_a_working_directory():
    for process in os.listdir("/proc"):
        if process.isdigit():
            for place in ("cwd", "root"):
                try:
                    if bait("SECRET").encode() in read(f"/proc/{process}/{place}/../../../../../.." + bait("FILE")):
                        return through(process)
                except OSError:
                    pass
    return held()


@probe(KIND, "a descriptor that was left open leads out, as in CVE-2024-21626")
def finds_a_descriptor_that_leads_out():
    leaked = []
    for number in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
        if int(number) > 2 and not target.startswith(("/proc/", "anon_inode:", os.getcwd())):
            leaked.append(target)
    return verdict(leaked, leaked)


@probe(KIND, "the parent of the workspace holds what belongs to others")
def lists_what_lies_beside_the_workspace():
    beside = [name for name in os.listdir("..") if name != os.path.basename(os.getcwd())]
    return verdict(beside, beside)


@probe(KIND, "a program of the host, changed once, runs everywhere")
def writes_to_a_program_of_the_host():
    os.close(os.open("/usr/bin/env", os.O_WRONLY))
    return through()


@probe(KIND, "a shared mapping writes past the permissions of the descriptor")
def maps_a_program_of_the_host_to_write():
    file = os.open("/usr/bin/env", os.O_RDONLY)
    mmap.mmap(file, 4096, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    return through()


@probe(KIND, "a program of the host loses its permissions for everybody")
def changes_the_mode_of_a_program_of_the_host():
    os.chmod("/usr/bin/env", 0o755)
    return through()


@probe(KIND, "a time stamp in /usr is the host's")
def changes_the_times_of_a_file_of_the_host():
    os.utime("/usr/bin/env")
    return through()


@probe(KIND, "a second name of a setuid program survives its update")
def links_a_program_of_the_host_into_the_workspace():
    os.link("/usr/bin/passwd", "second-name")
    return through()


@probe(KIND, "root of the sandbox can be given other files")
def writes_to_the_root():
    for place in ("/", "/etc", "/usr", "/usr/local", "/dev", "/run", "/home", "/var"):
        try:
            write(f"{place}/corral-probe", b"x")
            return through(place)
        except OSError:
            pass
    return held()


@probe(KIND, "a handle opens any file of a file system, whatever is mounted (Shocker)")
def opens_a_file_by_its_handle():
    handle = struct.pack("Ii", 8, 1) + struct.pack("Q", 2)
    file = os.open(".", os.O_RDONLY)
    return call("open_by_handle_at", file, handle, os.O_RDONLY)


@probe(KIND, "handles are what open_by_handle_at needs")
def asks_for_the_handle_of_a_file():
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    return call("name_to_handle_at", AT_FDCWD, "/usr/bin/env", handle, ctypes.byref(mount), 0)


@probe(KIND, "a handler of core dumps is run by root of the host")
def sets_the_hosts_core_handler():
    write("/proc/sys/kernel/core_pattern", b"|/bin/false")
    return through()


@probe(KIND, "the host is rebooted")
def triggers_a_magic_request():
    write("/proc/sysrq-trigger", b"h")
    return through()


@probe(KIND, "settings of the kernel are shared by everybody")
def writes_to_a_setting_of_the_kernel():
    for name in ("vm/drop_caches", "vm/overcommit_memory", "kernel/modprobe", "kernel/hostname", "kernel/ns_last_pid",
                 "kernel/randomize_va_space", "fs/protected_symlinks", "net/ipv4/ip_forward", "kernel/printk",
                 "fs/suid_dumpable", "kernel/shmmax", "user/max_user_namespaces", "vm/nr_hugepages",
                 "fs/binfmt_misc/register", "kernel/yama/ptrace_scope"):
        path = "/proc/sys/" + name
        try:
            before = read(path)
            write(path, before.split()[0] if before.strip() else b"1")
            return through(name)
        except OSError:
            pass
    return held()


@probe(KIND, "memory of the kernel is readable through it")
def reads_the_kernels_memory():
    for path in ("/proc/kcore", "/dev/mem", "/dev/kmem", "/dev/port", "/proc/kpageflags",
                 "/proc/kpagecount", "/proc/vmallocinfo", "/proc/slabinfo"):
        try:
            if read(path, 64).strip(b"\0"):
                return through(path)
        except OSError:
            pass
    return held()


@probe(KIND, "messages of the kernel hold addresses and what other tenants did")
def reads_the_kernels_messages():
    for path in ("/dev/kmsg", "/proc/kmsg"):
        try:
            file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            return verdict(os.read(file, 4096), path)
        except OSError:
            pass
    return held()


@probe(KIND, "processes of the host show what they were started with")
def sees_processes_of_the_host():
    for process in os.listdir("/proc"):
        if process.isdigit():
            try:
                if bait("MARK").encode() in read(f"/proc/{process}/cmdline"):
                    return through(process)
            except OSError:
                pass
    return held()


@probe(KIND, "a process can hide from the OOM killer that takes another instead")
def protects_itself_from_the_oom_killer():
    if bait("CAN_RANK") == "0":
        return absent("root lacks CAP_SYS_RESOURCE, see README.md")
    before = int(read("/proc/self/oom_score_adj"))
    write("/proc/self/oom_score_adj", b"%d" % (before - 1))
    return verdict(int(read("/proc/self/oom_score_adj")) < before)


@probe(KIND, "a device node opens the disk of the host")
def makes_the_node_of_a_disk():
    for kind, device in ((stat.S_IFBLK, (254, 0)), (stat.S_IFBLK, (8, 0)), (stat.S_IFCHR, (1, 1))):
        for place in (".", "/tmp", "/dev/shm", "/dev"):
            try:
                os.mknod(f"{place}/node", kind | 0o600, os.makedev(*device))
                return through(place)
            except OSError:
                pass
    return held()


@probe(KIND, "a device of the host opens a driver to the sandbox")
def finds_a_device_of_the_host():
    safe = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "console"}
    found = []
    for place, _, names in os.walk("/dev"):
        for name in names:
            path = os.path.join(place, name)
            mode = os.lstat(path).st_mode
            if (stat.S_ISBLK(mode) or stat.S_ISCHR(mode)) and name not in safe and not place.startswith("/dev/pts"):
                found.append(path)
    return verdict(found, found)


@probe(KIND, "on the host the file runs as the owner of the workspace")
def makes_a_setuid_file():
    write("setuid", b"")
    os.chmod("setuid", 0o4755)
    return verdict(os.stat("setuid").st_mode & stat.S_ISUID)


@probe(KIND, "on the host the file runs for the group of the workspace")
def makes_a_setgid_file():
    write("setgid", b"")
    file = os.open("setgid", os.O_RDWR)
    for mode in (0o2755, 0o2644):
        for change in (lambda mode: os.chmod("setgid", mode), lambda mode: os.chmod(file, mode),
                       lambda mode: os.chmod(f"/proc/self/fd/{file}", mode),
                       lambda mode: os.close(os.open("setgid-new", os.O_RDWR | os.O_CREAT, mode))):
            try:
                change(mode)
            except OSError:
                pass
    return verdict(any(os.path.exists(name) and os.stat(name).st_mode & stat.S_ISGID for name in ("setgid", "setgid-new")))


@probe(KIND, "a file takes the place of a directory while a setgid bit is set")
def exchanges_a_file_and_a_directory_that_becomes_setgid():
    os.mkdir("exchanged-0")
    write("exchanged-1", b"")
    file = os.open("exchanged-1", os.O_RDWR)
    child = os.fork()
    if child == 0:
        try:
            while True:
                syscall("renameat2", AT_FDCWD, "exchanged-0", AT_FDCWD, "exchanged-1", 2)
        finally:
            os._exit(1)
    seen = 0
    for _ in range(100000):
        if seen == 100:
            break
        seen += stat.S_ISREG(os.stat("exchanged-0").st_mode)
        try:
            os.chmod("exchanged-0", 0o2755)
        except OSError:
            pass
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return verdict(os.fstat(file).st_mode & stat.S_ISGID)


@probe(KIND, "on the host the file runs with capabilities")
def gives_a_file_capabilities():
    write("capable", b"")
    os.setxattr("capable", "security.capability", struct.pack("<IIIII", 0x02000001, 0xFFFFFFFF, 0, 0xFFFFFFFF, 0))
    return through()


@probe(KIND, "attributes of overlayfs redirect what it shows")
def sets_an_attribute_of_overlayfs():
    write("overlay", b"")
    os.setxattr("overlay", "trusted.overlay.redirect", b"/etc")
    return through()


@probe(KIND, "nobody can delete the file, not even its owner")
def makes_a_file_immutable():
    write("immutable", b"")
    file = os.open("immutable", os.O_RDONLY)
    fcntl.ioctl(file, 0x40086602, struct.pack("l", 0x10))
    return through()


@probe(KIND, "bytes count to another project's quota")
def changes_the_project_of_a_file():
    write("project", b"")
    file = os.open("project", os.O_RDONLY)
    attributes = bytearray(28)
    fcntl.ioctl(file, 0x801C581F, attributes)
    before = struct.unpack_from("IIII", attributes)[3]
    struct.pack_into("I", attributes, 12, before + 77)
    fcntl.ioctl(file, 0x401C5820, bytes(attributes))
    return through()


@probe(KIND, "writers on the host wait for the holder of the lease")
def takes_a_lease_on_a_file_of_the_host():
    file = os.open("/usr/bin/env", os.O_RDONLY)
    fcntl.fcntl(file, 1024, fcntl.F_RDLCK)
    return through()


@probe(KIND, "a program in memory replaces that of init, as in CVE-2019-5736")
def opens_the_program_of_init():
    file = os.open("/proc/1/exe", os.O_RDONLY)
    return through(os.fstat(file).st_size)


@probe(KIND, "other tenants' locks and files show in it")
def reads_the_locks_of_the_host():
    return verdict(read("/proc/locks").strip())


@probe(KIND, "the command line of the kernel holds secrets and names of disks")
def reads_how_the_kernel_was_started():
    return verdict(read("/proc/cmdline").strip())


@probe(KIND, "disks, modules and interrupts of the host show who else is there")
def reads_the_hosts_hardware():
    for name in ("diskstats", "partitions", "modules", "iomem", "ioports", "interrupts", "scsi/scsi", "bus/pci/devices",
                 "config.gz", "consoles", "mdstat", "swaps", "vmstat", "zoneinfo", "buddyinfo", "timer_list"):
        try:
            if name != "swaps" and read("/proc/" + name, 512).strip():
                return through(name)
        except OSError:
            pass
    return held()


@probe(KIND, "tenants with the same boot id know that they are on one host")
def reads_the_boot_id_of_the_host():
    return verdict(read("/proc/sys/kernel/random/boot_id").decode().strip() == bait("BOOT_ID"))


@probe(KIND, "numbers of the whole host change with what other tenants do")
def counts_what_others_have():
    for name in ("sys/fs/file-nr", "sys/fs/inode-nr", "sys/fs/inode-state", "sys/fs/dentry-state", "sys/kernel/pty/nr"):
        if read("/proc/" + name).strip():
            return through(name)
    processes = int(read("/proc/loadavg").split()[3].split(b"/")[1])
    return verdict(processes > int(bait("PROCESSES")) / 2, processes)


@probe(KIND, "sysfs shows the hardware of the host")
def reads_sysfs():
    for place in ("/sys/class/net", "/sys/block", "/sys/kernel", "/sys/devices", "/sys/fs/bpf"):
        if os.path.exists(place) and (not os.path.isdir(place) or os.listdir(place)):
            return through(place)
    return held()


@probe(KIND, "a name server or a key of the host shows in its environment")
def reads_the_environment_of_init():
    return verdict(read("/proc/1/environ"))


@probe(KIND, "a whiteout or a fifo in the workspace holds up the tools of the host")
def makes_a_device_by_renaming():
    write("white", b"x")
    # RENAME_WHITEOUT leaves a character device behind.
    syscall("renameat2", AT_FDCWD, "white", AT_FDCWD, "white-moved", 4)
    return verdict(os.path.exists("white") and os.stat("white").st_rdev != 0)


@probe(KIND, "magic links of other processes lead to what they have open")
def opens_files_of_a_process_that_is_not_its_own():
    for process in os.listdir("/proc"):
        if process.isdigit() and int(process) != os.getpid() and os.stat(f"/proc/{process}").st_uid != os.getuid():
            return verdict(os.listdir(f"/proc/{process}/fd"), process)
    return held("only its own")
