#include "sandbox/kernel/disk_protection.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/small_file.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/disk_speed.h"
#include "sandbox/kernel/project_quota.h"

namespace sandbox {
namespace {

absl::Status TryInGroupBelow(const std::string& parent, CgroupVersion version) {
  const std::string group = absl::StrCat(parent, "/corral-probe-", ::getpid());
  if (::mkdir(group.c_str(), 0755) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("mkdir ", group));
  }
  const bool limited = HasDiskSpeed(version, group);
  ::rmdir(group.c_str());
  return limited ? absl::OkStatus()
                 : absl::UnimplementedError(
                       "this kernel limits the speed of no control group");
}

bool HandsOnIo(const std::string& group) {
  const absl::StatusOr<std::string> text =
      ReadSmallFile(group + "/cgroup.subtree_control");
  const std::vector<absl::string_view> words = absl::StrSplit(
      text.ok() ? absl::StripAsciiWhitespace(*text) : absl::string_view(), ' ');
  return std::find(words.begin(), words.end(), "io") != words.end();
}

absl::Status TryV2(const std::string& parent) {
  if (HandsOnIo(parent)) {
    return TryInGroupBelow(parent, CgroupVersion::kV2);
  }
  const std::string handed_on = parent + "/cgroup.subtree_control";
  RETURN_IF_ERROR(WriteSmallFile(handed_on, "+io"));
  const absl::Status status = TryInGroupBelow(parent, CgroupVersion::kV2);
  // All groups beside Corral's would have the controller, too. Fails if a
  // sandbox of another server needs it by now.
  (void)WriteSmallFile(handed_on, "-io");
  return status;
}

bool IsOnDisk(absl::string_view type) {
  constexpr absl::string_view kTypes[] = {"ext2", "ext3",  "ext4",
                                          "xfs",  "btrfs", "f2fs"};
  return std::find(std::begin(kTypes), std::end(kTypes), type) !=
         std::end(kTypes);
}

}  // namespace

absl::Status TryDiskSpeed(const CgroupHost& host) {
  if (Disks().empty()) {
    return absl::NotFoundError("this host has no disk whose speed it limits");
  }
  if (host.version == CgroupVersion::kV2) {
    return TryV2(host.parents[0]);
  }
  if (host.blkio.empty()) {
    return absl::NotFoundError(
        "the cgroup controller blkio is not mounted in a hierarchy of its own "
        "that is writable");
  }
  return TryInGroupBelow(host.blkio, CgroupVersion::kV1);
}

// Lines of /proc/self/mountinfo: "id parent device root mountpoint options ...
// - type source superoptions"; see proc(5).
DiskFileSystems FindDiskFileSystems() {
  DiskFileSystems found;
  std::set<std::string> devices;
  const absl::StatusOr<std::string> text =
      ReadSmallFile("/proc/self/mountinfo");
  for (absl::string_view line : absl::StrSplit(text.ok() ? *text : "", '\n')) {
    const std::pair<absl::string_view, absl::string_view> halves =
        absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    const std::vector<absl::string_view> mount =
        absl::StrSplit(halves.first, ' ');
    const absl::string_view type =
        halves.second.substr(0, halves.second.find(' '));
    if (mount.size() < 5 || !IsOnDisk(type) ||
        !devices.insert(std::string(mount[2])).second) {
      continue;
    }
    std::string place(mount[4]);
    const UniqueFd directory(
        ::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const bool projects =
        directory.valid() && EnforcesProjects(directory.get());
    (projects ? found.with_projects : found.others).push_back(std::move(place));
  }
  return found;
}

}  // namespace sandbox
