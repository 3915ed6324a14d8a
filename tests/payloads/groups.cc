// Attacks on control groups through their view in /sys/fs/cgroup.

#include <fcntl.h>
#include <ftw.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "tests/payloads/payload.h"

namespace payloads {
namespace {

constexpr char kView[] = "/sys/fs/cgroup";

struct Effects {
  int files = 0;
  int directories = 0;
  // Files that could be opened to be written.
  int opened = 0;
  // Groups that were made.
  int made = 0;
  // Processes that were born in a group.
  int born = 0;
};
Effects effects;

// Returns true if a child was born in the group.
bool IsBornIn(const char* path) {
  const int group = ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  clone_args arguments = {};
  arguments.flags = CLONE_INTO_CGROUP;
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = static_cast<uint64_t>(group);
  const long child = ::syscall(SYS_clone3, &arguments, sizeof(arguments));
  if (child == 0) {
    ::_exit(0);
  }
  ::close(group);
  return child > 0 && ::waitpid(static_cast<pid_t>(child), nullptr, 0) > 0;
}

int Attempt(const char* path, const struct stat*, int type, struct FTW*) {
  if (type == FTW_D) {
    const std::string group = std::string(path) + "/made";
    ++effects.directories;
    effects.made += ::mkdir(group.c_str(), 0755) == 0 ? 1 : 0;
    // Otherwise the walk would find it, and never end.
    ::rmdir(group.c_str());
    effects.born += IsBornIn(path) ? 1 : 0;
  } else {
    ++effects.files;
    const int file = ::open(path, O_WRONLY | O_CLOEXEC);
    effects.opened += file >= 0 ? 1 : 0;
    ::close(file);
  }
  return 0;
}

int Groups(int, char**) {
  constexpr int kDescriptors = 16;
  ::nftw(kView, Attempt, kDescriptors, FTW_PHYS);
  std::printf("files: %s\ndirectories: %s\nopened: %d\nmade: %d\nborn: %d\n",
              effects.files > 0 ? "some" : "none",
              effects.directories > 0 ? "some" : "none", effects.opened,
              effects.made, effects.born);
  return 0;
}

// The places at which v2 or v1 is mounted.
int RemountGroups(int, char**) {
  for (const char* place : {kView, "/sys/fs/cgroup/memory"}) {
    mount_attr writable = {};
    writable.attr_clr = MOUNT_ATTR_RDONLY;
    Report("remount", ::syscall(SYS_mount, nullptr, place, nullptr,
                                32 | 4096 /* MS_REMOUNT | MS_BIND */, nullptr));
    Report("mount_setattr", ::syscall(SYS_mount_setattr, AT_FDCWD, place, 0,
                                      &writable, sizeof(writable)));
    Report("open_tree", ::syscall(SYS_open_tree, AT_FDCWD, place, 1));
    Report("unmount", ::syscall(SYS_umount2, place, 2 /* MNT_DETACH */));
    for (const char* type : {"cgroup", "cgroup2"}) {
      Report("mount", ::syscall(SYS_mount, "none", "/tmp", type, 0, nullptr));
    }
  }
  return 0;
}

}  // namespace

const Entry kGroups[] = {
    {"groups", Groups},
    {"remount-groups", RemountGroups},
    {nullptr, nullptr},
};

}  // namespace payloads
