#include "sandbox/kernel/directory_quota.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"

namespace sandbox {
namespace {

constexpr char kLocks[] = "/run/corral/projects";

absl::Status Refusal(const std::string& name, absl::string_view why) {
  return MakeFailure(wire::Reply::ISOLATION, absl::StrCat(name, ": ", why));
}

absl::StatusOr<UniqueFd> OpenLocks() {
  ::mkdir("/run/corral", 0700);
  UniqueFd locks(
      ::open(kLocks, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!locks.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open ", kLocks));
  }
  return locks;
}

struct flock ByteOf(uint32_t number, int type) {
  struct flock lock = {};
  lock.l_type = static_cast<decltype(lock.l_type)>(type);
  lock.l_whence = SEEK_SET;
  lock.l_start = number;
  lock.l_len = 1;
  return lock;
}

// Locks or unlocks a byte: `type` is F_WRLCK, F_RDLCK or F_UNLCK. The lock
// belongs to the open file and ends with its last descriptor. Waits for others,
// who hold it for a few system calls.
absl::Status Lock(const UniqueFd& locks, uint32_t number, int type) {
  struct flock lock = ByteOf(number, type);
  while (::fcntl(locks.get(), F_OFD_SETLKW, &lock) != 0) {
    if (errno != EINTR) {
      return absl::ErrnoToStatus(errno, absl::StrCat("lock ", kLocks));
    }
  }
  return absl::OkStatus();
}

// Returns false if somebody else uses the project.
bool TryToOwn(const UniqueFd& locks, uint32_t number) {
  struct flock lock = ByteOf(number, F_WRLCK);
  return ::fcntl(locks.get(), F_OFD_SETLK, &lock) == 0;
}

bool IsEmpty(int directory) {
  // A description of its own, since reading moves its position.
  UniqueFd opened(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* entries = ::fdopendir(opened.get());
  if (entries == nullptr) {
    return false;
  }
  (void)opened.Release();
  int count = 0;
  while (::readdir(entries) != nullptr) {
    ++count;
  }
  ::closedir(entries);
  return count == 2;  // "." and ".."
}

// True if the file system itself is small enough.
bool IsSmall(int directory, const SpaceLimits& limits) {
  struct statfs system = {};
  if (::fstatfs(directory, &system) != 0) {
    return false;
  }
  return limits.AreKeptBy(
      {system.f_blocks * static_cast<uint64_t>(system.f_bsize),
       system.f_files});
}

absl::StatusOr<uint32_t> FindUnusedProject(int directory) {
  for (int i = 0; i < 100; ++i) {
    uint32_t number = 0;
    if (::getrandom(&number, sizeof(number), 0) != sizeof(number)) {
      return absl::ErrnoToStatus(errno, "getrandom");
    }
    number = DirectoryQuota::kFirstProject + number % DirectoryQuota::kProjects;
    ASSIGN_OR_RETURN(const bool unused, IsUnused(directory, number));
    if (unused) {
      return number;
    }
  }
  return absl::ResourceExhaustedError("found no unused project");
}

}  // namespace

absl::StatusOr<DirectoryQuota> DirectoryQuota::Impose(
    int directory, const std::string& name, const SpaceLimits& limits) {
  DirectoryQuota quota;
  UniqueFd opened(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open ", name));
  }
  const absl::StatusOr<Project> project = ReadProject(opened.get());
  const bool in_project =
      project.ok() && (project->number != 0 || project->handed_on);
  // In a project, the kernel shows the project's limit as the size.
  if (!in_project && IsSmall(opened.get(), limits)) {
    return quota;
  }
  if (!project.ok() || !EnforcesProjects(opened.get())) {
    return Refusal(
        name,
        "nothing enforces a limit of its space: its file system is larger and "
        "has no project quotas; choose a directory on an ext4 or xfs that is "
        "mounted with the option prjquota, or on a file system of that size");
  }
  quota.directory_ = std::move(opened);
  RETURN_IF_ERROR(quota.ImposeOnProject(name, limits));
  return quota;
}

absl::Status DirectoryQuota::ImposeOnProject(const std::string& name,
                                             const SpaceLimits& limits) {
  struct stat status = {};
  if (::fstat(directory_.get(), &status) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("stat ", name));
  }
  absl::StatusOr<UniqueFd> locks = OpenLocks();
  if (absl::IsPermissionDenied(locks.status())) {
    return Refusal(name, absl::StrCat("only root of the host sets limits of "
                                      "projects: ",
                                      locks.status().message()));
  }
  RETURN_IF_ERROR(locks.status());
  locks_ = *std::move(locks);
  change_ = static_cast<uint32_t>(status.st_dev % kFirstProject);
  RETURN_IF_ERROR(Lock(locks_, change_, F_WRLCK));
  ASSIGN_OR_RETURN(const Project project, ReadProject(directory_.get()));
  uint32_t number = project.number;
  if (number == 0 || !project.handed_on) {
    ASSIGN_OR_RETURN(number, MakeProject(name, project));
  } else if (number - kFirstProject >= kProjects) {
    return TrustHost(name, number, limits);
  }
  // Does not wait: all users of a project share its lock.
  RETURN_IF_ERROR(Lock(locks_, number, F_RDLCK));
  project_ = number;
  RETURN_IF_ERROR(
      WithFailure(wire::Reply::ISOLATION,
                  SetProjectLimits(directory_.get(), number, limits)));
  return Lock(locks_, change_, F_UNLCK);
}

absl::Status DirectoryQuota::TrustHost(const std::string& name, uint32_t number,
                                       const SpaceLimits& limits) {
  ASSIGN_OR_RETURN(const SpaceLimits kept,
                   ReadProjectLimits(directory_.get(), number));
  directory_.Reset();
  locks_.Reset();
  return limits.AreKeptBy(kept)
             ? absl::OkStatus()
             : Refusal(name,
                       absl::StrCat("it belongs to project ", number,
                                    " of the host, whose limits are not as "
                                    "low; set them with setquota -P"));
}

absl::StatusOr<uint32_t> DirectoryQuota::MakeProject(const std::string& name,
                                                     const Project& before) {
  ASSIGN_OR_RETURN(const uint32_t number, FindUnusedProject(directory_.get()));
  const absl::Status refusal = Refusal(
      name,
      absl::StrCat("it is not empty, and what is in it belongs to no project, "
                   "so that a limit would not count it; begin with an empty "
                   "directory, or put it and all that is in it into a project, "
                   "for example ",
                   number, ": see corral.v1.Limits.disk_bytes"));
  if (!IsEmpty(directory_.get())) {
    return refusal;
  }
  RETURN_IF_ERROR(WithFailure(wire::Reply::ISOLATION,
                              WriteProject(directory_.get(), {number, true})));
  // From here on, files that are made belong to the project.
  if (!IsEmpty(directory_.get())) {
    RETURN_IF_ERROR(WriteProject(directory_.get(), before));
    return refusal;
  }
  return number;
}

DirectoryQuota::~DirectoryQuota() {
  if (!directory_.valid() || project_ == 0) {
    return;
  }
  const absl::Status locked = Lock(locks_, change_, F_WRLCK);
  if (!locked.ok() || !TryToOwn(locks_, project_)) {
    return;  // another sandbox has the project
  }
  const absl::Status removed = SetProjectLimits(directory_.get(), project_, {});
  if (!removed.ok()) {
    LOG(WARNING) << "cannot remove the limits of a directory: "
                 << removed.ToString();
  }
}

}  // namespace sandbox
