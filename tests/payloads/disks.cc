// Attacks on the limits of what the working directory may hold.

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "tests/payloads/payload.h"

namespace payloads {
namespace {

// The most that an attack writes.
constexpr int64_t kMost = int64_t{64} << 20;

// Takes a file or directory out of its project.
void LeaveProject(const char* path) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  fsxattr attributes = {};
  std::printf("%s\n", path);
  Report("read", ::ioctl(file, FS_IOC_FSGETXATTR, &attributes));
  fsxattr other = attributes;
  other.fsx_projid = 0;
  Report("no project", ::ioctl(file, FS_IOC_FSSETXATTR, &other));
  other.fsx_projid = attributes.fsx_projid + 1;
  Report("another project", ::ioctl(file, FS_IOC_FSSETXATTR, &other));
  int flags = 0;
  ::ioctl(file, FS_IOC_GETFLAGS, &flags);
  flags ^= FS_PROJINHERIT_FL;
  Report("other heirs", ::ioctl(file, FS_IOC_SETFLAGS, &flags));
  ::close(file);
}

// argv[1]: a directory of another mount.
int LeaveQuota(int argc, char** argv) {
  const char* other = argc > 1 ? argv[1] : "/tmp";
  ::close(::open("own", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  LeaveProject(".");
  LeaveProject("own");
  if_dqblk none = {};
  none.dqb_valid = QIF_LIMITS;
  const int here = ::open(".", O_RDONLY | O_CLOEXEC);
  Report("limits", ::syscall(SYS_quotactl_fd, here, QCMD(Q_SETQUOTA, PRJQUOTA),
                             1 << 30, &none));
  const int there = ::open(other, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  Report("link", ::linkat(AT_FDCWD, "own", there, "linked", 0));
  Report("rename", ::renameat(AT_FDCWD, "own", there, "renamed"));
  return 0;
}

// Writes until the kernel refuses it, or kMost.
void Fill(const char* what, int file) {
  static char piece[65536];
  int64_t done = 0;
  ssize_t got = file < 0 ? -1 : 1;
  while (got > 0 && done < kMost) {
    got = ::write(file, piece, sizeof(piece));
    done += got > 0 ? got : 0;
  }
  if (got > 0) {
    std::printf("%s: all\n", what);
  } else {
    Report(what, -1);
  }
}

// Fills the directory with files without names, and with space that was never
// written.
int FillUnseen(int, char**) {
  Fill("without a name", ::open(".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
  const int removed = ::open("removed", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (removed >= 0) {
    ::unlink("removed");
  }
  Fill("removed", removed);
  const int file = ::open("reserved", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const int error = errno;
  const struct {
    const char* what;
    int mode;
  } ways[] = {{"reserved", 0},
              {"reserved, beyond the end", FALLOC_FL_KEEP_SIZE}};
  for (const auto& way : ways) {
    errno = error;
    Report(way.what, file < 0 ? -1 : ::fallocate(file, way.mode, 0, kMost));
  }
  return 0;
}

}  // namespace

const Entry kDisks[] = {{"leave-quota", LeaveQuota},
                        {"fill-unseen", FillUnseen},
                        {nullptr, nullptr}};

}  // namespace payloads
