// The content of a sandbox's file tree, as data; mounts.h shows the tree.

#ifndef SANDBOX_KERNEL_TREE_CONTENT_H_
#define SANDBOX_KERNEL_TREE_CONTENT_H_

#include <sys/types.h>

#include "sandbox/init/exchange.h"

namespace sandbox {

// Lent from the host's /etc if it exists there: files that tools read and that
// hold no secret. Names are exact.
inline constexpr const char* kLentEtc[] = {
    "/etc/alternatives",
    "/etc/bash.bashrc",
    "/etc/bazel/bazelrc",
    "/etc/ca-certificates",
    "/etc/debian_version",
    "/etc/ethertypes",
    "/etc/fonts",
    "/etc/gai.conf",
    "/etc/host.conf",
    "/etc/inputrc",
    "/etc/java-11-openjdk",
    "/etc/java-17-openjdk",
    "/etc/java-21-openjdk",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/os-release",
    "/etc/perl",
    "/etc/profile",
    "/etc/protocols",
    "/etc/python3",
    "/etc/python3.11",
    "/etc/rpc",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/terminfo",
    "/etc/timezone",
};

// clang-format off
inline constexpr const char* kDevices[] = {
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
};

inline constexpr const char* kReadOnlyProc[] = {
    "proc/sys",            // settings of the kernel
    "proc/sysrq-trigger",
};

// Files that show the host or other tenants, and that tools do without. They
// appear empty. Not masked, since tools need them: cgroups (the JVM), meminfo,
// stat, swaps, uptime.
inline constexpr const char* kMaskedProcFiles[] = {
    "proc/bootconfig",
    "proc/buddyinfo",
    "proc/cmdline",
    "proc/config.gz",
    "proc/consoles",
    "proc/crypto",
    "proc/diskstats",
    "proc/dma",
    "proc/interrupts",
    "proc/iomem",
    "proc/ioports",
    "proc/kallsyms",
    "proc/kcore",
    "proc/key-users",
    "proc/keys",
    "proc/kmsg",
    "proc/kpagecgroup",
    "proc/kpagecount",
    "proc/kpageflags",
    "proc/latency_stats",
    "proc/locks",
    "proc/mdstat",
    "proc/misc",
    "proc/modules",
    "proc/mtrr",
    "proc/pagetypeinfo",
    "proc/partitions",
    "proc/sched_debug",
    "proc/schedstat",
    "proc/slabinfo",
    "proc/softirqs",
    "proc/sys/fs/dentry-state",
    "proc/sys/fs/file-nr",
    "proc/sys/fs/inode-nr",
    "proc/sys/fs/inode-state",
    "proc/sys/kernel/pty/nr",
    "proc/timer_list",
    "proc/vmallocinfo",
    "proc/vmstat",
    "proc/zoneinfo",
};
inline constexpr const char* kMaskedProcDirectories[] = {
    "proc/acpi",
    "proc/asound",
    "proc/bus",
    "proc/driver",
    "proc/dynamic_debug",
    "proc/fs",
    "proc/irq",
    "proc/pressure",
    "proc/scsi",
};
// clang-format on

struct TextFile {
  const char* path;
  const char* text;
};
// The host's load, and how many processes it has: none of them.
inline constexpr TextFile kMadeUpLoad = {"proc/loadavg",
                                         "0.00 0.00 0.00 1/1 1\n"};
// The same for all sandboxes of a host, if it were not made up.
inline constexpr char kBootId[] = "proc/sys/kernel/random/boot_id";
inline constexpr TextFile kMadeUpEtc[] = {
    {"etc/passwd",
     "root:x:0:0:root:/:/usr/sbin/nologin\n"
     "corral:x:1000:1000:corral:/home/corral:/bin/bash\n"
     "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"},
    {"etc/group", "root:x:0:\ntty:x:5:\ncorral:x:1000:\nnogroup:x:65534:\n"},
    {"etc/hosts",
     // With the host name, which git and Java look up.
     "127.0.0.1 localhost corral\n::1 localhost ip6-localhost ip6-loopback\n"},
    {"etc/nsswitch.conf",
     "passwd: files\ngroup: files\nshadow: files\nhosts: files\n"
     "networks: files\nprotocols: files\nservices: files\n"},
    {"etc/resolv.conf", ""},
    // Debian's launcher of Chromium sources what is in this directory except
    // this file, and ends if the directory is empty.
    {"etc/chromium.d/README", "Nothing is set here.\n"},
    {"etc/shells", "/bin/sh\n/bin/bash\n"},
};

// Writable directories of the sandbox's own. The owner of a directory with the
// sticky bit may remove the files of all users.
struct Scratch {
  const char* name;
  const char* path;
  mode_t mode;
  uid_t owner;
};
// clang-format off
inline constexpr Scratch kScratch[] = {
    {"tmp", "tmp", 01777, 0},
    {"var_tmp", "var/tmp", 01777, 0},
    {"shm", "dev/shm", 01777, 0},
    {"home", "home/corral", 0755, kCommandId},
};
// clang-format on
// The most terminals of a sandbox: the host has 4096 for all (kernel.pty.max).
inline constexpr char kTerminals[] = "64";

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_TREE_CONTENT_H_
