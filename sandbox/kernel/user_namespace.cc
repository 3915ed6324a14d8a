#include "sandbox/kernel/user_namespace.h"

#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/small_file.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/kernel/subordinate_ids.h"

namespace sandbox {
namespace {

constexpr char kUserMap[] = "/proc/self/uid_map";
constexpr char kGroupMap[] = "/proc/self/gid_map";
// All ids but the last, which means "none".
constexpr uint32_t kAllIds = 4294967295;

// A line of uid_map: ids of this namespace, and those of the one above.
struct Extent {
  uint32_t inside = 0;
  uint32_t outside = 0;
  uint32_t count = 0;
};

absl::StatusOr<std::vector<Extent>> ReadMap(const char* path) {
  ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path));
  std::vector<Extent> map;
  for (absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    const std::vector<absl::string_view> numbers =
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    Extent extent;
    if (numbers.size() != 3 || !absl::SimpleAtoi(numbers[0], &extent.inside) ||
        !absl::SimpleAtoi(numbers[1], &extent.outside) ||
        !absl::SimpleAtoi(numbers[2], &extent.count)) {
      return absl::InternalError(absl::StrCat(path, ": ", line));
    }
    map.push_back(extent);
  }
  return map;
}

// True if the file cannot be read: what needs foreign ids then fails.
bool IsFirstUserNamespace() {
  const absl::StatusOr<std::vector<Extent>> map = ReadMap(kUserMap);
  return !map.ok() ||
         (map->size() == 1 && map->front().inside == 0 &&
          map->front().outside == 0 && map->front().count == kAllIds);
}

bool Has(const char* path, uint32_t id) {
  const absl::StatusOr<std::vector<Extent>> map = ReadMap(path);
  if (map.ok()) {
    for (const Extent& extent : *map) {
      if (id >= extent.inside && id - extent.inside < extent.count) {
        return true;
      }
    }
  }
  return false;
}

// Returns the content of a setting of the kernel, or "" if there is none.
std::string Setting(const char* path) {
  const absl::StatusOr<std::string> text = ReadSmallFile(path);
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

// The usual reasons for which hosts refuse user namespaces.
std::string Remedy(const absl::Status& status) {
  constexpr char kUnprivileged[] = "/proc/sys/kernel/unprivileged_userns_clone";
  constexpr char kAppArmor[] =
      "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
  constexpr char kMost[] = "/proc/sys/user/max_user_namespaces";
  if (Setting(kUnprivileged) == "0") {
    return absl::StrCat(kUnprivileged, " is 0; let root set it to 1");
  }
  if (absl::IsResourceExhausted(status)) {  // ENOSPC
    return absl::StrCat(kMost, " of them exist, or may exist (", Setting(kMost),
                        "); let root raise it");
  }
  if (Setting(kAppArmor) == "1") {
    return absl::StrCat(kAppArmor,
                        " is 1; let root set it to 0, or load an AppArmor "
                        "profile that grants corrald \"userns\"");
  }
  return "if this is a container, its filter of system calls refuses it "
         "(docker "
         "and podman: --security-opt seccomp=unconfined)";
}

absl::Status Refusal(const absl::Status& status) {
  return MakeFailure(wire::Reply::ISOLATION,
                     absl::StrCat("a user namespace of its own: ",
                                  status.message(), "; ", Remedy(status)));
}

// Maps the user's own ids to 0, where nothing is mapped yet. The kernel demands
// that groups cannot be changed any more.
absl::Status MapAlone(uid_t user, gid_t group) {
  ASSIGN_OR_RETURN(const std::vector<Extent> groups, ReadMap(kGroupMap));
  if (groups.empty()) {
    RETURN_IF_ERROR(WriteSmallFile("/proc/self/setgroups", "deny"));
    RETURN_IF_ERROR(WriteSmallFile(kGroupMap, absl::StrCat("0 ", group, " 1")));
  }
  ASSIGN_OR_RETURN(const std::vector<Extent> users, ReadMap(kUserMap));
  return users.empty()
             ? WriteSmallFile(kUserMap, absl::StrCat("0 ", user, " 1"))
             : absl::OkStatus();
}

}  // namespace

bool CommandsAreThisUser() {
  return ::geteuid() != 0 || !IsFirstUserNamespace();
}

absl::Status CheckIsNotHostRoot() {
  // The settings belong to the host's root, whoever that is in this namespace.
  struct stat settings;
  if (::stat("/proc/sys/kernel", &settings) != 0) {
    return MakeFailure(
        wire::Reply::ISOLATION,
        absl::StrCat(absl::ErrnoToStatus(errno, "/proc/sys/kernel").message(),
                     "; it shows whether this process is the host's root"));
  }
  if (settings.st_uid == ::geteuid()) {
    return MakeFailure(
        wire::Reply::ISOLATION,
        "commands would be the host's root, since corrald is it, and cannot "
        "give them ids of their own; run corrald as another user, or as root "
        "with CAP_SYS_ADMIN and outside of user namespaces");
  }
  return absl::OkStatus();
}

bool MayMount() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  return ::syscall(SYS_capget, &header, data) == 0 &&
         (data[CAP_SYS_ADMIN / 32].effective & (1U << (CAP_SYS_ADMIN % 32))) !=
             0;
}

bool HasId(uint32_t id) { return Has(kUserMap, id) && Has(kGroupMap, id); }

absl::Status EnterOwnUserNamespace() {
  RETURN_IF_ERROR(CheckIsNotHostRoot());
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  std::optional<SubordinateIds> more = SubordinateIds::Prepare();
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
    return Refusal(absl::ErrnoToStatus(errno, "unshare"));
  }
  const bool mapped = more.has_value() && more->Map();
  const absl::Status alone = mapped ? absl::OkStatus() : MapAlone(user, group);
  if (!alone.ok()) {
    return Refusal(alone);
  }
  DropGroups();
  return absl::OkStatus();
}

void DropGroups() { (void)::setgroups(0, nullptr); }

}  // namespace sandbox
