#include "sandbox/kernel/directory_modes.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "sandbox/kernel/namespaces.h"

namespace sandbox {
namespace {

constexpr mode_t kAllBits = 07777;

// Something opened, or the errno of the failure.
struct Opened {
  UniqueFd fd;
  int error = 0;
};

Opened Take(int fd) {
  const int error = fd < 0 ? errno : 0;
  return {UniqueFd(fd), error};
}

Opened OpenBelow(const UniqueFd& directory, const std::string& path,
                 int flags) {
  return Take(::openat(directory.get(), path.c_str(), flags | O_CLOEXEC));
}

// The file behind a descriptor of the caller, whose directory in /proc `caller`
// is.
Opened OpenDescriptor(const UniqueFd& caller, int number) {
  Opened opened = OpenBelow(caller, absl::StrCat("fd/", number), O_PATH);
  if (opened.error == ENOENT) {
    opened.error = EBADF;
  }
  return opened;
}

// The ids that the kernel checks when the caller uses files, as numbers of the
// host.
struct FileIds {
  uid_t user = 0;
  gid_t group = 0;
};

bool ReadIds(const UniqueFd& caller, FileIds& ids) {
  const Opened status = OpenBelow(caller, "status", O_RDONLY);
  char text[4096];
  const ssize_t size = ::read(status.fd.get(), text, sizeof(text));
  if (size <= 0) {
    return false;
  }
  int found = 0;
  for (const absl::string_view line : absl::StrSplit(
           absl::string_view(text, static_cast<size_t>(size)), '\n')) {
    // "Uid:", then the real, the effective, the saved id, and that for files.
    const std::vector<absl::string_view> words = absl::StrSplit(line, '\t');
    if (words.size() == 5 && words[0] == "Uid:") {
      found += absl::SimpleAtoi(words[4], &ids.user) ? 1 : 0;
    } else if (words.size() == 5 && words[0] == "Gid:") {
      found += absl::SimpleAtoi(words[4], &ids.group) ? 1 : 0;
    }
  }
  return found == 2;
}

bool BelongToCommand(const FileIds& ids, uint32_t first_id) {
  if (first_id == kNoRange) {
    return ids.user == ::geteuid() && ids.group == ::getegid();
  }
  // User and group 0 of the sandbox belong to init and the spawner.
  return ids.user - first_id - 1 < kIdRange - 1 &&
         ids.group - first_id - 1 < kIdRange - 1;
}

// Reads a path from the memory of the caller. Returns 0 or an errno.
int ReadPath(const UniqueFd& caller, uint64_t address, std::string& path) {
  const Opened memory = OpenBelow(caller, "mem", O_RDONLY);
  if (memory.error != 0) {
    return memory.error;
  }
  char text[PATH_MAX];
  // Shorter if memory ends behind it.
  const ssize_t size =
      ::pread(memory.fd.get(), text, sizeof(text), static_cast<off_t>(address));
  if (size <= 0) {
    return EFAULT;
  }
  const size_t length = ::strnlen(text, static_cast<size_t>(size));
  if (length == static_cast<size_t>(size)) {
    return length == sizeof(text) ? ENAMETOOLONG : EFAULT;
  }
  path.assign(text, length);
  return 0;
}

// Gives the calling thread the rights of a command for files, until it ends.
// The kernel takes root's capabilities over files away meanwhile. With kNoRange
// the thread has the command's ids already, and must have none.
class FileRights {
 public:
  explicit FileRights(const FileIds& ids) : ids_(ids) {
    // The C library would change the groups of all threads.
    ::syscall(SYS_setgroups, 0, nullptr);
    group_ = static_cast<gid_t>(::setfsgid(ids.group));
    user_ = static_cast<uid_t>(::setfsuid(ids.user));
  }
  ~FileRights() {
    ::setfsuid(user_);
    ::setfsgid(group_);
  }
  FileRights(const FileRights&) = delete;
  FileRights& operator=(const FileRights&) = delete;

  // The calls above report no errors.
  bool taken() const {
    constexpr auto kQuery = static_cast<uid_t>(-1);
    return static_cast<uid_t>(::setfsuid(kQuery)) == ids_.user &&
           static_cast<gid_t>(::setfsgid(kQuery)) == ids_.group;
  }

 private:
  const FileIds ids_;
  uid_t user_;
  gid_t group_;
};

// The path of a call, and the directory at which it begins if it is relative.
struct Place {
  UniqueFd directory;
  std::string path;
  // The path names a descriptor of the caller: `directory` is the file itself.
  bool itself = false;
};

// Opens what only a process outside can open of a command. Returns 0 or an
// errno.
int FindPlace(const UniqueFd& caller, const ModeCall& call, Place& place) {
  Opened opened;
  if (call.number == SYS_fchmod) {
    place.itself = true;
    opened = OpenDescriptor(caller, static_cast<int>(call.arguments[0]));
    place.directory = std::move(opened.fd);
    return opened.error;
  }
  const bool at = call.number == SYS_fchmodat;
  const int error = ReadPath(caller, call.arguments[at ? 1 : 0], place.path);
  if (error != 0) {
    return error;
  }
  // "self" is another process here. The C library changes modes by this path.
  absl::string_view number = place.path;
  int descriptor = 0;
  const int base = at ? static_cast<int>(call.arguments[0]) : AT_FDCWD;
  if (absl::ConsumePrefix(&number, "/proc/self/fd/") &&
      absl::SimpleAtoi(number, &descriptor)) {
    place.itself = true;
    opened = OpenDescriptor(caller, descriptor);
  } else if (base == AT_FDCWD || place.path[0] == '/') {
    opened = OpenBelow(caller, "cwd", O_PATH);
  } else {
    opened = OpenDescriptor(caller, base);
  }
  place.directory = std::move(opened.fd);
  return opened.error;
}

// Opens what the call names, with the rights of the calling thread.
Opened OpenTarget(Place place) {
  if (place.itself) {
    return {std::move(place.directory), 0};
  }
  open_how how = {};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_NO_MAGICLINKS;
  return Take(
      static_cast<int>(::syscall(SYS_openat2, place.directory.get(),
                                 place.path.c_str(), &how, sizeof(how))));
}

}  // namespace

absl::StatusOr<DirectoryModes> DirectoryModes::Enter(const UniqueFd& init,
                                                     uint32_t first_id) {
  UniqueFd processes(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
  UniqueFd descriptors(
      ::open("/proc/thread-self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!processes.valid() || !descriptors.valid()) {
    return absl::ErrnoToStatus(errno, "open /proc");
  }
  // Only a thread with a root and a working directory of its own can enter.
  if (::unshare(CLONE_FS) != 0 || ::setns(init.get(), CLONE_NEWNS) != 0) {
    return absl::ErrnoToStatus(errno, "enter the mount namespace");
  }
  return DirectoryModes(std::move(processes), std::move(descriptors), first_id);
}

int DirectoryModes::Make(const ModeCall& call,
                         absl::FunctionRef<bool()> waits) const {
  const Opened caller =
      OpenBelow(processes_, absl::StrCat(call.thread), O_PATH | O_DIRECTORY);
  FileIds ids;
  if (caller.error != 0 || !waits() || !ReadIds(caller.fd, ids)) {
    return ESRCH;
  }
  const mode_t mode = static_cast<mode_t>(
      call.arguments[call.number == SYS_fchmodat ? 2 : 1] & kAllBits);
  if ((mode & S_ISUID) != 0 || !BelongToCommand(ids, first_id_)) {
    return EPERM;
  }
  Place place;
  const int error = FindPlace(caller.fd, call, place);
  if (error != 0) {
    return error;
  }
  const FileRights rights(ids);
  if (!rights.taken()) {
    return EPERM;
  }
  const Opened target = OpenTarget(std::move(place));
  if (target.error != 0) {
    return target.error;
  }
  struct stat status;
  if (::fstat(target.fd.get(), &status) != 0) {
    return errno;
  }
  if (!S_ISDIR(status.st_mode) || status.st_uid != ids.user) {
    return EPERM;
  }
  // A descriptor with O_PATH has no fchmod(2) of its own.
  const std::string own = absl::StrCat(target.fd.get());
  return ::fchmodat(descriptors_.get(), own.c_str(), mode, 0) == 0 ? 0 : errno;
}

}  // namespace sandbox
