#include "sandbox/kernel/disk_protection.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/small_file.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/kernel/disk_speed.h"

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

}  // namespace sandbox
