// In the working directory, which must be writable.

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "tests/payloads/payload.h"

namespace payloads {
namespace {

constexpr mode_t kSetuid = 04755;
constexpr mode_t kSetgid = 02755;

// Makes files with the bits that count on the host, where the workspace is not
// mounted nosuid.
int SetuidBits(int, char**) {
  const int file = ::open("plain", O_RDWR | O_CREAT, 0644);
  Tell("chmod", ::chmod("plain", kSetuid));
  Tell("chmod, setgid", ::chmod("plain", kSetgid));
  Tell("chmod, high bits",
       ::syscall(SYS_chmod, "plain", 0x100000000 | kSetuid));
  Tell("fchmod", ::fchmod(file, kSetuid));
  Tell("fchmodat", ::syscall(SYS_fchmodat, AT_FDCWD, "plain", kSetuid));
  Tell("fchmodat2", ::syscall(452, AT_FDCWD, "plain", kSetuid, 0));
  Tell("creat", ::syscall(SYS_creat, "c1", kSetuid));
  Tell("open", ::syscall(SYS_open, "c2", O_WRONLY | O_CREAT, kSetuid));
  Tell("open, setgid", ::syscall(SYS_open, "c3", O_WRONLY | O_CREAT, kSetgid));
  Tell("openat", ::openat(AT_FDCWD, "c4", O_WRONLY | O_CREAT, kSetuid));
  Tell("openat, excl",
       ::openat(AT_FDCWD, "c5", O_WRONLY | O_CREAT | O_EXCL, kSetgid));
  Tell("open tmpfile", ::syscall(SYS_open, ".", O_WRONLY | O_TMPFILE, kSetuid));
  Tell("openat tmpfile",
       ::openat(AT_FDCWD, ".", O_WRONLY | O_TMPFILE, kSetgid));
  // __O_TMPFILE alone: the kernel wants O_DIRECTORY with it.
  Tell(
      "open half tmpfile",
      ::syscall(SYS_open, ".", O_WRONLY | (O_TMPFILE & ~O_DIRECTORY), kSetuid));
  Tell("mknod", ::syscall(SYS_mknod, "c6", S_IFREG | kSetuid, 0));
  Tell("mknodat", ::syscall(SYS_mknodat, AT_FDCWD, "c7", S_IFREG | kSetgid, 0));
  Tell("security.capability",
       ::setxattr("plain", "security.capability", "\0\0\0\2", 4, 0));
  Tell("trusted.x", ::setxattr("plain", "trusted.x", "1", 1, 0));
  // Only harmless.
  Tell("mkdir", ::mkdir("d", S_ISVTX | kSetuid));
  Tell("plain chmod", ::chmod("plain", 0755));
  Tell("chown", ::chown("plain", 0, 0));
  return 0;
}

int Devices(int, char**) {
  Tell("mknod mem", ::mknod("mem", S_IFCHR | 0666, makedev(1, 1)));
  Tell("mknod null", ::mknod("null", S_IFCHR | 0666, makedev(1, 3)));
  Tell("mknod sda", ::mknod("sda", S_IFBLK | 0666, makedev(8, 0)));
  Tell("mkfifo", ::mkfifo("fifo", 0666));
  for (const char* path : {"/dev/mem", "/dev/kmsg", "/dev/kvm", "/dev/vsock",
                           "/dev/fuse", "/dev/console", "/dev/loop0"}) {
    Tell(path, ::open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  }
  return 0;
}

// Each descriptor that it starts with.
int Descriptors(int, char**) {
  for (int fd = 0; fd < 1024; ++fd) {
    char link[64];
    char target[PATH_MAX] = {};
    std::snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    if (::readlink(link, target, sizeof(target) - 1) > 0) {
      // Pipes have numbers.
      target[std::strcspn(target, ":")] = '\0';
      std::printf("%d %s\n", fd, target);
    }
  }
  return 0;
}

// 10000 levels, by descriptor; the path is longer than any call takes.
int DeepDirectory(int, char**) {
  int levels = 0;
  while (levels < 10000 && ::mkdir("d", 0755) == 0 && ::chdir("d") == 0) {
    ++levels;
  }
  std::printf("levels: %d\n", levels);
  return 0;
}

int Inodes(int argc, char** argv) {
  const int wanted = argc > 1 ? std::atoi(argv[1]) : 0;
  int made = 0;
  for (; made < wanted; ++made) {
    char name[32];
    std::snprintf(name, sizeof(name), "i%d", made);
    const int file = ::open(name, O_WRONLY | O_CREAT, 0644);
    if (file < 0) {
      break;
    }
    ::close(file);
  }
  std::printf("made: %d\n", made);
  return 0;
}

}  // namespace

const Entry kFiles[] = {
    {"setuid-bits", SetuidBits},  {"devices", Devices},
    {"descriptors", Descriptors}, {"deep-directory", DeepDirectory},
    {"inodes", Inodes},           {nullptr, nullptr}};

}  // namespace payloads
