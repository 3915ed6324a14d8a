#include "sandbox/kernel/placeholder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"

namespace sandbox {
namespace {

constexpr mode_t kDirectoryMode = S_ISVTX | 0755;
constexpr mode_t kFileMode = S_ISVTX | 0644;
constexpr off_t kMaxContent = 2;

// Gives the thread the ids of a user for files, and takes the rights of root
// over files from it.
class ActingUser {
 public:
  explicit ActingUser(uint32_t id)
      : group_(::setfsgid(id)), user_(::setfsuid(id)) {}
  ~ActingUser() {
    ::setfsuid(static_cast<uid_t>(user_));
    ::setfsgid(static_cast<gid_t>(group_));
  }
  ActingUser(const ActingUser&) = delete;
  ActingUser& operator=(const ActingUser&) = delete;

 private:
  const int group_;
  const int user_;
};

absl::StatusOr<UniqueFd> MakeFile(int directory, const std::string& name,
                                  const char* content) {
  UniqueFd file(::openat(directory, name.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode));
  const size_t size = std::strlen(content);
  if (file.valid() &&
      ::write(file.get(), content, size) == static_cast<ssize_t>(size)) {
    return file;
  }
  absl::Status failed =
      absl::ErrnoToStatus(errno, absl::StrCat("make the file ", name));
  if (file.valid()) {
    ::unlinkat(directory, name.c_str(), 0);
  }
  return failed;
}

bool HasEntries(int directory) {
  UniqueFd copy(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* const stream = ::fdopendir(copy.get());
  if (stream == nullptr) {
    return true;  // not known to be empty
  }
  copy.Release();  // the stream owns it
  int entries = 0;
  while (entries <= 2 && ::readdir(stream) != nullptr) {
    ++entries;  // "." and ".." are two
  }
  ::closedir(stream);
  return entries > 2;
}

absl::StatusOr<UniqueFd> MakeDirectory(int directory, const std::string& name) {
  if (::mkdirat(directory, name.c_str(), kDirectoryMode) != 0) {
    return absl::ErrnoToStatus(errno,
                               absl::StrCat("make the directory ", name));
  }
  UniqueFd made(::openat(directory, name.c_str(),
                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!made.valid()) {
    return absl::ErrnoToStatus(errno,
                               absl::StrCat("open the directory ", name));
  }
  // Another directory that was moved to this name has removed the new one.
  if (HasEntries(made.get())) {
    return absl::AbortedError(absl::StrCat(name, " was replaced"));
  }
  return made;
}

}  // namespace

Placeholder::Placeholder(UniqueFd directory, std::string name, UniqueFd file)
    : directory_(std::move(directory)),
      name_(std::move(name)),
      file_(std::move(file)) {}

absl::StatusOr<Placeholder> Placeholder::Open(int directory,
                                              const std::string& name) {
  UniqueFd parent(::fcntl(directory, F_DUPFD_CLOEXEC, 0));
  // Without O_NONBLOCK, a FIFO would wait for a writer.
  UniqueFd file(::openat(directory, name.c_str(),
                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!parent.valid() || !file.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open ", name));
  }
  return Placeholder(std::move(parent), name, std::move(file));
}

absl::StatusOr<Placeholder> Placeholder::Make(int directory,
                                              const std::string& name,
                                              const char* content,
                                              uint32_t owner) {
  const ActingUser acting(owner);
  // Before anything is made that would be left behind.
  UniqueFd parent(::fcntl(directory, F_DUPFD_CLOEXEC, 0));
  if (!parent.valid()) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("keep the directory of ", name, " open"));
  }
  ASSIGN_OR_RETURN(UniqueFd file, content == nullptr
                                      ? MakeDirectory(directory, name)
                                      : MakeFile(directory, name, content));
  Placeholder made(std::move(parent), name, std::move(file));
  // The directory's default access control list may have changed the mode.
  if (::fchmod(made.file_.get(),
               content == nullptr ? kDirectoryMode : kFileMode) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("chmod ", name));
  }
  (void)::flock(made.file_.get(), LOCK_SH | LOCK_NB);
  return made;
}

std::optional<Placeholder> Placeholder::Find(int directory,
                                             const std::string& name) {
  absl::StatusOr<Placeholder> found = Open(directory, name);
  if (!found.ok()) {
    return std::nullopt;
  }
  if (!found->IsEmpty()) {
    found->file_.Reset();  // it is something else, and stays
    return std::nullopt;
  }
  // Without the lock, another sandbox may remove it. That is noticed.
  (void)::flock(found->file_.get(), LOCK_SH | LOCK_NB);
  return *std::move(found);
}

Placeholder::~Placeholder() {
  struct stat own;
  if (!file_.valid() || ::flock(file_.get(), LOCK_EX | LOCK_NB) != 0 ||
      !IsInPlace() || !IsEmpty() || ::fstat(file_.get(), &own) != 0) {
    return;
  }
  // A directory that was filled meanwhile stays.
  ::unlinkat(directory_.get(), name_.c_str(),
             S_ISDIR(own.st_mode) ? AT_REMOVEDIR : 0);
}

void Placeholder::Uncover() const {
  if (file_.valid() && ::fchdir(directory_.get()) == 0) {
    ::umount2(name_.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
  }
}

bool Placeholder::IsAt(int directory, const std::string& name) const {
  struct stat own;
  struct stat named;
  return ::fstat(file_.get(), &own) == 0 &&
         ::fstatat(directory, name.c_str(), &named,
                   AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) == 0 &&
         own.st_ino == named.st_ino && own.st_dev == named.st_dev;
}

bool Placeholder::IsEmpty() const {
  struct stat own;
  if (::fstat(file_.get(), &own) != 0) {
    return false;
  }
  // A directory may inherit the setgid bit from its parent.
  const mode_t mode = own.st_mode & (S_IFMT | (07777 & ~S_ISGID));
  return (mode == (S_IFREG | kFileMode) && own.st_size <= kMaxContent) ||
         (mode == (S_IFDIR | kDirectoryMode) && !HasEntries(file_.get()));
}

}  // namespace sandbox
