// Finds the controllers of this host.

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/small_file.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/kernel/cgroup.h"

namespace sandbox {
namespace {

struct Mount {
  std::string point;
  // The group that this mount shows; "" for the hierarchy's root.
  std::string root;

  // Returns the directory of `group`, a path of /proc/self/cgroup.
  std::string Directory(absl::string_view group) const {
    return absl::StrCat(point, absl::StripPrefix(group, root));
  }
};

struct Mounts {
  Mount unified;
  // The hierarchies of v1, by controller.
  std::map<std::string, Mount> v1;
};

std::string WithoutSlash(absl::string_view path) {
  return path == "/" ? "" : std::string(path);
}

// Lines of /proc/self/mountinfo: "id parent device root mountpoint options ...
// - type source superoptions"; see proc(5).
absl::StatusOr<Mounts> FindMounts() {
  ASSIGN_OR_RETURN(const std::string text,
                   ReadSmallFile("/proc/self/mountinfo"));
  Mounts mounts;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> halves =
        absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    const std::vector<absl::string_view> left =
        absl::StrSplit(halves.first, ' ');
    const std::vector<absl::string_view> right =
        absl::StrSplit(halves.second, ' ');
    if (left.size() < 5 || right.size() < 3) {
      continue;
    }
    const Mount mount = {std::string(left[4]), WithoutSlash(left[3])};
    if (right[0] == "cgroup2" && mounts.unified.point.empty()) {
      mounts.unified = mount;
    } else if (right[0] == "cgroup") {
      for (absl::string_view option : absl::StrSplit(right[2], ',')) {
        mounts.v1.emplace(option, mount);
      }
    }
  }
  return mounts;
}

// Returns this process's groups by controller ("" for v2). The file has lines
// "id:controllers:path".
absl::StatusOr<std::map<std::string, std::string>> OwnGroups() {
  ASSIGN_OR_RETURN(const std::string text, ReadSmallFile("/proc/self/cgroup"));
  std::map<std::string, std::string> groups;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> fields =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() == 3) {
      for (absl::string_view controller : absl::StrSplit(fields[1], ',')) {
        groups.emplace(controller, WithoutSlash(fields[2]));
      }
    }
  }
  return groups;
}

bool HasWord(const std::string& path, absl::string_view word) {
  const absl::StatusOr<std::string> text = ReadSmallFile(path);
  if (!text.ok()) {
    return false;
  }
  const std::vector<absl::string_view> words =
      absl::StrSplit(absl::StripAsciiWhitespace(*text), ' ');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// False on hosts where v1 has the controllers, and v2 stands beside it.
bool HasMemory(const Mount& unified) {
  return !unified.point.empty() &&
         HasWord(unified.point + "/cgroup.controllers", "memory");
}

absl::Status TryToHandOn(const std::string& directory) {
  for (const char* controller : {"memory", "pids", "cpu"}) {
    if (!HasWord(directory + "/cgroup.controllers", controller)) {
      return MakeFailure(
          wire::Reply::ISOLATION,
          absl::StrCat(directory, "/cgroup.controllers lacks ", controller));
    }
    const std::string handed_on = directory + "/cgroup.subtree_control";
    if (!HasWord(handed_on, controller)) {
      RETURN_IF_ERROR(WriteSmallFile(handed_on, absl::StrCat("+", controller)));
    }
  }
  return absl::OkStatus();
}

// Fails if the user of this process may not make groups there, or put processes
// into them. A hierarchy that a container shows is often read-only.
absl::Status CheckIsWritable(const std::string& path) {
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0 &&
      errno != ENOENT) {
    return MakeFailure(
        wire::Reply::ISOLATION,
        absl::ErrnoToStatus(errno, absl::StrCat("cannot write to ", path))
            .message());
  }
  return absl::OkStatus();
}

absl::Status TryV2(const std::string& directory) {
  RETURN_IF_ERROR(TryToHandOn(directory));
  RETURN_IF_ERROR(CheckIsWritable(directory));
  return CheckIsWritable(directory + "/cgroup.procs");
}

// The groups below which sandboxes may have theirs, the best first.
std::vector<std::string> CandidatesV2(const Mount& mount,
                                      const std::string& own) {
  std::vector<std::string> candidates = {mount.Directory(own), mount.point};
  // Those between them: a group that systemd gives to a user is some levels
  // above the one with the user's process.
  const std::string root = mount.root;
  for (std::string group = own; group.size() > root.size();) {
    group.resize(group.rfind('/'));
    if (group.size() > root.size()) {
      candidates.push_back(mount.Directory(group));
    }
  }
  return candidates;
}

absl::StatusOr<CgroupHost> FindV2(const Mount& mount, const std::string& own) {
  // A group that holds processes, like that of a login session, cannot enable
  // controllers for groups below, unless it is the root (cgroup-v2.rst, "No
  // Internal Process Constraint").
  for (const std::string& candidate : CandidatesV2(mount, own)) {
    if (TryV2(candidate).ok()) {
      CgroupHost host;
      host.parents = {candidate};
      host.own = mount.Directory(own);
      return host;
    }
  }
  return MakeFailure(
      wire::Reply::ISOLATION,
      absl::StrCat(
          "no cgroup v2 group hands on the controllers memory, pids and cpu: ",
          TryV2(mount.point).message(),
          ::geteuid() == 0
              ? "; in a container, its processes must be in a group below that "
                "one"
              : "; start corrald in a group that belongs to its user "
                "(systemd-run --user --scope -p Delegate=yes corrald)"));
}

// Returns the group of a controller that no sandbox needs, if it is mounted and
// groups can be made there: in a container it may be read-only.
std::string FindWritable(const Mounts& mounts, const char* controller,
                         const std::string& own) {
  const auto mount = mounts.v1.find(controller);
  if (mount == mounts.v1.end()) {
    return "";
  }
  std::string parent = mount->second.Directory(own);
  return ::access(parent.c_str(), W_OK) == 0 ? parent : "";
}

}  // namespace

void CgroupHost::MakeRoom() {
  const absl::StatusOr<Mounts> mounts = FindMounts();
  absl::StatusOr<std::map<std::string, std::string>> own = OwnGroups();
  if (!mounts.ok() || !own.ok() || !HasMemory(mounts->unified) || Find().ok()) {
    return;
  }
  const std::string group = mounts->unified.Directory((*own)[""]);
  const absl::StatusOr<std::string> members =
      ReadSmallFile(group + "/cgroup.procs");
  const std::string pid = absl::StrCat(::getpid());
  if (!members.ok() || *members != pid + "\n") {
    return;  // other processes, which would have to move, too
  }
  const std::string leaf = group + "/corrald";
  if (::mkdir(leaf.c_str(), 0755) == 0 || errno == EEXIST) {
    (void)WriteSmallFile(leaf + "/cgroup.procs", pid);
  }
}

absl::StatusOr<CgroupHost> CgroupHost::Find() {
  ASSIGN_OR_RETURN(const Mounts mounts, FindMounts());
  ASSIGN_OR_RETURN(auto own, OwnGroups());
  if (HasMemory(mounts.unified)) {
    return FindV2(mounts.unified, own[""]);
  }
  CgroupHost host;
  host.version = CgroupVersion::kV1;
  for (const char* controller : {"memory", "pids", "cpu", "cpuacct"}) {
    const auto mount = mounts.v1.find(controller);
    if (mount == mounts.v1.end()) {
      if (absl::string_view(controller) == "cpuacct") {
        continue;
      }
      return MakeFailure(wire::Reply::ISOLATION,
                         absl::StrCat("the cgroup controller ", controller,
                                      " is not mounted"));
    }
    const std::string parent = mount->second.Directory(own[controller]);
    RETURN_IF_ERROR(CheckIsWritable(parent));
    if (std::find(host.parents.begin(), host.parents.end(), parent) ==
        host.parents.end()) {
      host.parents.push_back(parent);
    }
  }
  host.cpuset = FindWritable(mounts, "cpuset", own["cpuset"]);
  host.blkio = FindWritable(mounts, "blkio", own["blkio"]);
  if (std::find(host.parents.begin(), host.parents.end(), host.blkio) !=
      host.parents.end()) {
    host.blkio.clear();
  }
  return host;
}

}  // namespace sandbox
