#include "sandbox/kernel/cgroup_view.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/mount_api.h"

namespace sandbox {
namespace {

constexpr char kPlace[] = "/sys/fs/cgroup";

constexpr uint64_t kShown = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
                            MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;

// A controller of v1, and a file that each group of its hierarchy has.
struct Controller {
  const char* name;
  const char* file;
};
constexpr Controller kControllers[] = {
    {"cpu", "cpu.shares"},     {"cpuacct", "cpuacct.usage"},
    {"cpuset", "cpuset.cpus"}, {"memory", "memory.limit_in_bytes"},
    {"pids", "pids.max"},
};

std::vector<std::string> ControllersOf(const std::string& directory) {
  std::vector<std::string> names;
  for (const Controller& controller : kControllers) {
    const std::string file = absl::StrCat(directory, "/", controller.file);
    if (::access(file.c_str(), F_OK) == 0) {
      names.emplace_back(controller.name);
    }
  }
  return names;
}

absl::Status Show(const std::string& directory, const std::string& place,
                  HostTrees& host) {
  ASSIGN_OR_RETURN(UniqueFd tree, CopyTree(AT_FDCWD, directory));
  RETURN_IF_ERROR(SetMountAttributes(tree.get(), kShown, -1));
  host.trees.push_back({std::move(tree), place});
  return absl::OkStatus();
}

}  // namespace

absl::Status LendCgroups(CgroupVersion version,
                         const std::vector<std::string>& directories,
                         HostTrees& host) {
  for (const std::string& directory : directories) {
    if (version == CgroupVersion::kV2) {
      RETURN_IF_ERROR(Show(directory, kPlace, host));
      continue;
    }
    // Like "cpu,cpuacct", with a link for each of both.
    const std::vector<std::string> names = ControllersOf(directory);
    if (names.empty()) {
      continue;
    }
    const std::string all = absl::StrJoin(names, ",");
    RETURN_IF_ERROR(Show(directory, absl::StrCat(kPlace, "/", all), host));
    for (const std::string& name : names) {
      if (name != all) {
        host.links.emplace_back(absl::StrCat(kPlace + 1, "/", name), all);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace sandbox
