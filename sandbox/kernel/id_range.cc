#include "sandbox/kernel/id_range.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/failure.h"
#include "sandbox/kernel/namespaces.h"

namespace sandbox {
namespace {

// Above the ids that distributions assign in /etc/subuid and systemd assigns to
// containers (systemd's UIDS-GIDS document), and below 2^31.
constexpr uint32_t kLowest = 0x70000000;
constexpr uint32_t kCount = 4095;
constexpr const char* kDirectory = "/run/corral/ids";

std::string PathOf(uint32_t number) {
  return absl::StrCat(kDirectory, "/", number);
}

// Returns true if this process holds the range now. A file may be removed after
// it was opened; then another process may hold the range by a new one.
bool Lock(const UniqueFd& file) {
  struct stat status = {};
  return ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 &&
         ::fstat(file.get(), &status) == 0 && status.st_nlink > 0;
}

}  // namespace

absl::StatusOr<IdRange> IdRange::Acquire() {
  ::mkdir("/run/corral", 0700);
  ::mkdir(kDirectory, 0700);
  // Processes begin at different numbers, so that a new one does not have to
  // try a thousand taken ranges first.
  const auto start = static_cast<uint32_t>(::getpid());
  for (uint32_t i = 0; i < kCount; ++i) {
    const uint32_t number = (start + i) % kCount;
    const std::string path = PathOf(number);
    UniqueFd lock(
        ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock.valid()) {
      return absl::ErrnoToStatus(errno, absl::StrCat("open ", path));
    }
    if (Lock(lock)) {
      return IdRange(kLowest + number * kIdRange, std::move(lock));
    }
  }
  return MakeFailure(wire::Reply::SHORTAGE,
                     "all ranges of subordinate ids are taken");
}

absl::StatusOr<IdRange> IdRange::TryAcquire(uint32_t first_id) {
  const std::string path = PathOf((first_id - kLowest) / kIdRange);
  UniqueFd lock(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!lock.valid()) {
    return absl::NotFoundError(absl::StrCat("no ids begin at ", first_id));
  }
  if (!Lock(lock)) {
    return absl::UnavailableError(
        absl::StrCat("the ids from ", first_id, " are taken"));
  }
  return IdRange(first_id, std::move(lock));
}

std::set<uint32_t> IdRange::List() {
  std::set<uint32_t> ranges;
  DIR* directory = ::opendir(kDirectory);
  if (directory == nullptr) {
    return ranges;
  }
  while (const dirent* entry = ::readdir(directory)) {
    uint32_t number = 0;
    if (absl::SimpleAtoi(entry->d_name, &number) && number < kCount) {
      ranges.insert(kLowest + number * kIdRange);
    }
  }
  ::closedir(directory);
  return ranges;
}

void IdRange::Release() {
  if (lock_.valid()) {
    ::unlink(PathOf((first_id_ - kLowest) / kIdRange).c_str());
    lock_.Reset();
  }
}

}  // namespace sandbox
