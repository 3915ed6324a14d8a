#include "bridge/acp/agent/children.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

namespace bridge {
namespace {

// Writes "PREFIXpidSUFFIX" to `path` without allocating.
void ProcPath(char* path, const char* prefix, pid_t pid, const char* suffix) {
  char* end = ::stpcpy(path, prefix);
  int divisor = 1;
  while (pid / divisor >= 10) {
    divisor *= 10;
  }
  for (; divisor > 0; divisor /= 10) {
    *end++ = static_cast<char>('0' + pid / divisor % 10);
  }
  ::stpcpy(end, suffix);
}

// The list of the children of the main thread, read without allocating.
class ChildrenFile {
 public:
  ChildrenFile() {
    char path[64];
    ProcPath(path, "/proc/self/task/", ::getpid(), "/children");
    fd_ = ::open(path, O_RDONLY | O_CLOEXEC);
  }
  ~ChildrenFile() { ::close(fd_); }
  ChildrenFile(const ChildrenFile&) = delete;
  ChildrenFile& operator=(const ChildrenFile&) = delete;

  bool is_open() const { return fd_ >= 0; }

  // Returns the next child; 0 after the last one.
  pid_t Next() {
    pid_t pid = 0;
    for (;;) {
      if (at_ == size_) {
        at_ = 0;
        size_ = ::read(fd_, buffer_, sizeof buffer_);
        if (size_ <= 0) {
          size_ = 0;
          return pid;
        }
      }
      const char c = buffer_[at_++];
      if (c >= '0' && c <= '9') {
        pid = pid * 10 + (c - '0');
      } else if (pid != 0) {
        return pid;
      }
    }
  }

 private:
  int fd_;
  char buffer_[4096];
  ssize_t at_ = 0;
  ssize_t size_ = 0;
};

// Returns true if the process is a corrald, or a supervisor or spawner of one,
// which run from memory files named corral-*.
bool BelongsToServer(pid_t pid) {
  char link[64];
  ProcPath(link, "/proc/", pid, "/exe");
  char path[4096];
  const ssize_t size = ::readlink(link, path, sizeof path - 1);
  if (size <= 0) {
    return false;
  }
  path[size] = '\0';
  const char* name = ::strrchr(path, '/');
  name = name == nullptr ? path : name + 1;
  return ::strcmp(name, "corrald") == 0 ||
         ::strcmp(name, "corrald (deleted)") == 0 ||
         ::strncmp(name, "memfd:corral-", ::strlen("memfd:corral-")) == 0;
}

}  // namespace

bool CanListChildren() { return ChildrenFile().is_open(); }

bool KillChildren() {
  ChildrenFile children;
  bool killed = false;
  while (const pid_t child = children.Next()) {
    if (!BelongsToServer(child)) {
      ::kill(child, SIGKILL);
      killed = true;
    }
  }
  return killed;
}

}  // namespace bridge
