// Attacks in the working directory, which must be writable.

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
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

// Creates files with the mode bits that would matter on the host, where the
// workspace is not mounted nosuid.
int SetuidBits(int, char**) {
  const int file = ::open("plain", O_RDWR | O_CREAT, 0644);
  Report("chmod", ::chmod("plain", kSetuid));
  Report("chmod, setgid", ::chmod("plain", kSetgid));
  Report("chmod, high bits",
         ::syscall(SYS_chmod, "plain", 0x100000000 | kSetuid));
  Report("fchmod", ::fchmod(file, kSetuid));
  Report("fchmodat", ::syscall(SYS_fchmodat, AT_FDCWD, "plain", kSetuid));
  Report("fchmodat2", ::syscall(452, AT_FDCWD, "plain", kSetuid, 0));
  Report("creat", ::syscall(SYS_creat, "c1", kSetuid));
  Report("open", ::syscall(SYS_open, "c2", O_WRONLY | O_CREAT, kSetuid));
  Report("open, setgid",
         ::syscall(SYS_open, "c3", O_WRONLY | O_CREAT, kSetgid));
  Report("openat", ::openat(AT_FDCWD, "c4", O_WRONLY | O_CREAT, kSetuid));
  Report("openat, excl",
         ::openat(AT_FDCWD, "c5", O_WRONLY | O_CREAT | O_EXCL, kSetgid));
  Report("open tmpfile",
         ::syscall(SYS_open, ".", O_WRONLY | O_TMPFILE, kSetuid));
  Report("openat tmpfile",
         ::openat(AT_FDCWD, ".", O_WRONLY | O_TMPFILE, kSetgid));
  // __O_TMPFILE alone; the kernel requires O_DIRECTORY with it.
  Report(
      "open half tmpfile",
      ::syscall(SYS_open, ".", O_WRONLY | (O_TMPFILE & ~O_DIRECTORY), kSetuid));
  Report("mknod", ::syscall(SYS_mknod, "c6", S_IFREG | kSetuid, 0));
  Report("mknodat",
         ::syscall(SYS_mknodat, AT_FDCWD, "c7", S_IFREG | kSetgid, 0));
  Report("security.capability",
         ::setxattr("plain", "security.capability", "\0\0\0\2", 4, 0));
  Report("trusted.x", ::setxattr("plain", "trusted.x", "1", 1, 0));
  // Harmless calls.
  Report("mkdir", ::mkdir("d", S_ISVTX | kSetuid));
  Report("plain chmod", ::chmod("plain", 0755));
  Report("chown", ::chown("plain", 0, 0));
  return 0;
}

// A call that the supervisor looks at while another thread changes what it
// names: a directory in one moment and a file in the next.
struct Race {
  std::atomic<bool> over = false;
  std::atomic<int> turns = 0;
  char path[8] = "a";
  int file = -1;
  int directory = -1;
};
constexpr int kRaced = 50;

void* ChangeWhatIsNamed(void* argument) {
  Race& race = *static_cast<Race*>(argument);
  while (!race.over) {
    ::syscall(SYS_renameat2, AT_FDCWD, "a", AT_FDCWD, "b", RENAME_EXCHANGE);
    race.path[0] = race.path[0] == 'a' ? 'b' : 'a';
    ::dup2(race.file, kRaced);
    ::dup2(race.directory, kRaced);
    ++race.turns;
  }
  return nullptr;
}

bool IsSetgid(int file) {
  struct stat status;
  return ::fstat(file, &status) == 0 && (status.st_mode & S_ISGID) != 0;
}

// Tries to get a setgid bit onto a file by races.
int SetgidRaces(int, char**) {
  Race race;
  ::mkdir("a", 0755);
  race.directory = ::open("a", O_RDONLY | O_DIRECTORY);
  race.file = ::open("b", O_RDWR | O_CREAT, 0755);
  pthread_t thread;
  if (race.file < 0 || race.directory < 0 ||
      ::pthread_create(&thread, nullptr, ChangeWhatIsNamed, &race) != 0) {
    return 1;
  }
  int won = 0;
  for (int i = 0; i < 300 || race.turns < 300; ++i) {
    ::syscall(SYS_chmod, race.path, kSetgid);
    ::syscall(SYS_fchmodat, AT_FDCWD, "a", kSetgid);
    ::syscall(SYS_fchmod, kRaced, kSetgid);
    ::syscall(SYS_chmod, "/proc/self/fd/50", kSetgid);
    won += IsSetgid(race.file) ? 1 : 0;
  }
  race.over = true;
  ::pthread_join(thread, nullptr);
  Report("file", won);
  Report("fchmod", ::fchmod(race.directory, kSetgid));
  Report("directory", IsSetgid(race.directory) ? 1 : 0);
  return 0;
}

int Devices(int, char**) {
  Report("mknod mem", ::mknod("mem", S_IFCHR | 0666, makedev(1, 1)));
  Report("mknod null", ::mknod("null", S_IFCHR | 0666, makedev(1, 3)));
  Report("mknod sda", ::mknod("sda", S_IFBLK | 0666, makedev(8, 0)));
  Report("mkfifo", ::mkfifo("fifo", 0666));
  for (const char* path : {"/dev/mem", "/dev/kmsg", "/dev/kvm", "/dev/vsock",
                           "/dev/fuse", "/dev/console", "/dev/loop0"}) {
    Report(path, ::open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  }
  return 0;
}

// Prints each descriptor that the program starts with.
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

// 10000 levels, made by descriptor; the path is longer than any system call
// accepts.
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

const Entry kFiles[] = {{"setuid-bits", SetuidBits},
                        {"setgid-races", SetgidRaces},
                        {"devices", Devices},
                        {"descriptors", Descriptors},
                        {"deep-directory", DeepDirectory},
                        {"inodes", Inodes},
                        {nullptr, nullptr}};

}  // namespace payloads
