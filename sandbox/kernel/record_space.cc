#include "sandbox/kernel/record_space.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/small_file.h"
#include "sandbox/kernel/user_namespace.h"

namespace sandbox {
namespace {

// Room for thousands of commands that print little.
constexpr uint64_t kEnough = uint64_t{64} << 20;

// Returns the directory, or the lowest one above it that exists.
std::string Existing(std::string path, struct stat* status) {
  while (::stat(path.c_str(), status) != 0) {
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos || slash == 0) {
      path = "/";
      ::stat(path.c_str(), status);
      break;
    }
    path.resize(slash);
  }
  return path;
}

// True if ext4 keeps its reserved blocks for another user than root: it shows
// the option then, whoever set it.
bool KeepsBlocksForAnother(dev_t device) {
  const absl::StatusOr<std::string> mounts =
      ReadSmallFile("/proc/self/mountinfo");
  if (!mounts.ok()) {
    return true;
  }
  const std::string number = absl::StrCat(major(device), ":", minor(device));
  for (absl::string_view line : absl::StrSplit(*mounts, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ');
    if (fields.size() > 2 && fields[2] == number &&
        absl::StrContains(fields.back(), "resuid=")) {
      return true;
    }
  }
  return false;
}

}  // namespace

RecordSpace FindRecordSpace(const std::string& directory) {
  struct stat status = {};
  struct stat above = {};
  struct statfs system = {};
  const std::string path = Existing(directory, &status);
  if (::statfs(path.c_str(), &system) != 0) {
    return RecordSpace::kShared;
  }
  // Each subvolume of Btrfs has a device number of its own, and all share one
  // disk.
  if (path == directory && ::stat((path + "/..").c_str(), &above) == 0 &&
      above.st_dev != status.st_dev && system.f_type != BTRFS_SUPER_MAGIC) {
    return RecordSpace::kOwnFileSystem;
  }
  const uint64_t reserved = (system.f_bfree - system.f_bavail) *
                            static_cast<uint64_t>(system.f_bsize);
  return system.f_type == EXT4_SUPER_MAGIC && reserved >= kEnough &&
                 !CommandsAreThisUser() && !KeepsBlocksForAnother(status.st_dev)
             ? RecordSpace::kReservedBlocks
             : RecordSpace::kShared;
}

}  // namespace sandbox
