// The rules of the default profile that look at the arguments of an allowed
// call, as data. Masks and values apply to the lower 32 bits, as in the kernel,
// which ignores the upper ones of these arguments.
//
// Comments above the rows are their reasons.

#ifndef SANDBOX_SECCOMP_ARGUMENTS_H_
#define SANDBOX_SECCOMP_ARGUMENTS_H_

#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>

namespace sandbox::seccomp {

// True if (argument & mask) == value.
struct Condition {
  unsigned argument;
  uint32_t mask;
  uint32_t value;
};

// Refuses a call with `error` if both conditions are true. The second one may
// be left out: an empty mask is always true.
struct Refusal {
  const char* call;
  int error;
  Condition first;
  Condition second = {0, 0, 0};
};

// Allows a call if all conditions are true.
struct Permission {
  const char* call;
  Condition conditions[3] = {};
};

inline constexpr uint32_t kWhole = 0xffffffff;
// The type of a socket without SOCK_CLOEXEC and SOCK_NONBLOCK: SOCK_TYPE_MASK
// of the kernel.
inline constexpr uint32_t kSocketType = 0xf;
// Kernel constants that Debian 12's headers lack or hide.
inline constexpr uint32_t kSetMemoryMerge = 67;  // PR_SET_MEMORY_MERGE
inline constexpr uint32_t kTmpfile = 020000000;  // __O_TMPFILE

inline constexpr Condition kSocketLevel = {1, kWhole, SOL_SOCKET};

// clang-format off
inline constexpr Refusal kRefusals[] = {
    // Terminals. TIOCSTI and TIOCLINUX type into a terminal that a command
    // shares with others. TIOCSETD selects a line discipline, whose number is
    // in memory, where no filter sees it; all but the one that every terminal
    // has are drivers for modems and radios.
    {"ioctl", EPERM, {1, kWhole, TIOCSTI}},
    {"ioctl", EPERM, {1, kWhole, TIOCLINUX}},
    {"ioctl", EPERM, {1, kWhole, TIOCSETD}},

    // Filters of a program's own. Thousands of them that are freed together
    // have stopped Linux 6.18 for good. EINVAL is the answer of a kernel
    // without seccomp filters, and programs then do without; EPERM is the
    // answer for a socket whose filter is locked.
    {"seccomp", EINVAL, {0, kWhole, SECCOMP_SET_MODE_FILTER}},
    {"prctl", EINVAL, {0, kWhole, PR_SET_SECCOMP}},
    {"setsockopt", EPERM, kSocketLevel, {2, kWhole, SO_ATTACH_FILTER}},
    {"setsockopt", EPERM, kSocketLevel, {2, kWhole, SO_ATTACH_BPF}},
    {"setsockopt", EPERM, kSocketLevel, {2, kWhole, SO_ATTACH_REUSEPORT_CBPF}},
    {"setsockopt", EPERM, kSocketLevel, {2, kWhole, SO_ATTACH_REUSEPORT_EBPF}},

    // Pages that are merged with those of other tenants: the time of a write
    // shows who else has the same content. EINVAL is the answer of a kernel
    // without it.
    {"prctl", EINVAL, {0, kWhole, kSetMemoryMerge}},
    {"madvise", EINVAL, {2, kWhole, MADV_MERGEABLE}},

    // Huge pages of the host's pool, which no limit of a sandbox counts. ENOMEM
    // is the answer of an empty pool, and programs then use small pages.
    {"mmap", ENOMEM, {3, MAP_HUGETLB, MAP_HUGETLB}},
    {"memfd_create", ENOMEM, {1, MFD_HUGETLB, MFD_HUGETLB}},
    {"shmget", ENOMEM, {2, SHM_HUGETLB, SHM_HUGETLB}},

    // Setuid and setgid files: on the host a workspace is not mounted nosuid,
    // and such a file would act for the workspace's owner. kAsked has the
    // calls that are also made for directories. Without O_CREAT or __O_TMPFILE,
    // open has no mode, and its register holds anything.
    {"chmod", EPERM, {1, S_ISUID, S_ISUID}},
    {"fchmod", EPERM, {1, S_ISUID, S_ISUID}},
    {"fchmodat", EPERM, {2, S_ISUID, S_ISUID}},
    {"creat", EPERM, {1, S_ISUID, S_ISUID}},
    {"creat", EPERM, {1, S_ISGID, S_ISGID}},
    {"mknod", EPERM, {1, S_ISUID, S_ISUID}},
    {"mknod", EPERM, {1, S_ISGID, S_ISGID}},
    {"mknodat", EPERM, {2, S_ISUID, S_ISUID}},
    {"mknodat", EPERM, {2, S_ISGID, S_ISGID}},
    {"open", EPERM, {1, O_CREAT, O_CREAT}, {2, S_ISUID, S_ISUID}},
    {"open", EPERM, {1, O_CREAT, O_CREAT}, {2, S_ISGID, S_ISGID}},
    {"open", EPERM, {1, kTmpfile, kTmpfile}, {2, S_ISUID, S_ISUID}},
    {"open", EPERM, {1, kTmpfile, kTmpfile}, {2, S_ISGID, S_ISGID}},
    {"openat", EPERM, {2, O_CREAT, O_CREAT}, {3, S_ISUID, S_ISUID}},
    {"openat", EPERM, {2, O_CREAT, O_CREAT}, {3, S_ISGID, S_ISGID}},
    {"openat", EPERM, {2, kTmpfile, kTmpfile}, {3, S_ISUID, S_ISUID}},
    {"openat", EPERM, {2, kTmpfile, kTmpfile}, {3, S_ISGID, S_ISGID}},
};

// Calls that Corral makes for the command, if they are for a directory:
// see ../kernel/directory_modes.h. A setgid directory is harmless, and shared
// repositories and copies need it. No bit less would make a setgid file
// harmless: one without execution for the group gets that by an ACL, whose
// content no filter sees.
struct Question {
  const char* call;
  Condition condition;
};
inline constexpr uint32_t kSetIds = S_ISUID | S_ISGID;
inline constexpr Question kAsked[] = {
    {"chmod", {1, kSetIds, S_ISGID}},
    {"fchmod", {1, kSetIds, S_ISGID}},
    {"fchmodat", {2, kSetIds, S_ISGID}},
};

// Refusals of `strict`, beside those above.
inline constexpr Refusal kStrictRefusals[] = {
    // A lock on a file of /usr is seen by other tenants, as one of flock(2).
    {"fcntl", EPERM, {1, kWhole, F_SETLK}},
    {"fcntl", EPERM, {1, kWhole, F_SETLKW}},
    {"fcntl", EPERM, {1, kWhole, F_OFD_SETLK}},
    {"fcntl", EPERM, {1, kWhole, F_OFD_SETLKW}},
    {"fcntl", EPERM, {1, kWhole, F_SETLEASE}},
    // Shows what other tenants open in /usr, as inotify.
    {"fcntl", EPERM, {1, kWhole, F_NOTIFY}},
};
// clang-format on

// Succeed without an effect: they would write to the disk what all tenants have
// in the cache, and wait for it. fsync and fdatasync write a program's own
// files.
inline constexpr const char* kWithoutEffect[] = {
    "sync",
    "syncfs",
};

// A row of the rules for socket(2): the first row that applies decides.
struct SocketRule {
  int family;    // or kAny
  int type;      // without SOCK_CLOEXEC and SOCK_NONBLOCK, or kAny
  int protocol;  // or kAny
  int error;     // 0: the call is allowed
};

inline constexpr int kAny = -1;

// clang-format off
inline constexpr SocketRule kSockets[] = {
    // Some programs pass the family as protocol, which means the same as 0.
    {AF_UNIX, SOCK_STREAM, 0, 0},
    {AF_UNIX, SOCK_DGRAM, 0, 0},
    {AF_UNIX, SOCK_SEQPACKET, 0, 0},
    {AF_UNIX, SOCK_STREAM, PF_UNIX, 0},
    {AF_UNIX, SOCK_DGRAM, PF_UNIX, 0},
    {AF_UNIX, kAny, kAny, EPROTONOSUPPORT},

    // Not MPTCP, SCTP, DCCP, UDP-Lite, L2TP and others, whose modules the
    // kernel would load: EPROTONOSUPPORT is the answer of a kernel without
    // them, and Go then uses TCP. Raw sockets need CAP_NET_RAW anyway.
    {AF_INET, SOCK_STREAM, 0, 0},
    {AF_INET, SOCK_STREAM, IPPROTO_TCP, 0},
    {AF_INET, SOCK_DGRAM, 0, 0},
    {AF_INET, SOCK_DGRAM, IPPROTO_UDP, 0},
    {AF_INET, SOCK_RAW, kAny, EPERM},
    {AF_INET, kAny, kAny, EPROTONOSUPPORT},
    {AF_INET6, SOCK_STREAM, 0, 0},
    {AF_INET6, SOCK_STREAM, IPPROTO_TCP, 0},
    {AF_INET6, SOCK_DGRAM, 0, 0},
    {AF_INET6, SOCK_DGRAM, IPPROTO_UDP, 0},
    {AF_INET6, SOCK_RAW, kAny, EPERM},
    {AF_INET6, kAny, kAny, EPROTONOSUPPORT},

    // Needed by ip and getifaddrs().
    {AF_NETLINK, SOCK_RAW, NETLINK_ROUTE, 0},
    {AF_NETLINK, SOCK_DGRAM, NETLINK_ROUTE, 0},

    // AF_ALG, AF_PACKET, AF_VSOCK and others have been ways into the kernel or
    // out of the machine.
    {kAny, kAny, kAny, EPERM},
};
// clang-format on

}  // namespace sandbox::seccomp

#endif  // SANDBOX_SECCOMP_ARGUMENTS_H_
