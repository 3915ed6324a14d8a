#include "tests/chaos/host_lists.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "sandbox/kernel/cgroup.h"
#include "tests/chaos/process_list.h"

namespace tests {
namespace {

namespace fs = std::filesystem;

constexpr char kIdRanges[] = "/run/corral/ids";

// Calls `use` with each entry that `Iterator` finds, as long as it is there.
template <typename Iterator, typename Use>
void ForEachEntry(const std::string& directory, Use use) {
  std::error_code error;
  for (Iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    use(entry->path().string());
  }
}

std::string TargetOf(const std::string& link) {
  std::error_code error;
  return fs::read_symlink(link, error).string();
}

// Lines of /proc/locks: "1: FLOCK  ADVISORY  WRITE 708 00:1a:321 0 EOF".
std::set<uint64_t> ListLockedInodes() {
  std::set<uint64_t> inodes;
  std::ifstream file("/proc/locks");
  for (std::string line; std::getline(file, line);) {
    std::istringstream stream(line);
    const std::vector<std::string> words{
        std::istream_iterator<std::string>(stream), {}};
    if (words.size() > 5) {
      inodes.insert(std::strtoull(words[5].c_str() + words[5].rfind(':') + 1,
                                  nullptr, 10));
    }
  }
  return inodes;
}

constexpr const char* kNamespaces[] = {"cgroup:[", "ipc:[",  "mnt:[",  "net:[",
                                       "pid:[",    "time:[", "user:[", "uts:["};

bool IsNamespace(const std::string& target) {
  return std::any_of(
      std::begin(kNamespaces), std::end(kNamespaces),
      [&](const char* kind) { return absl::StartsWith(target, kind); });
}

}  // namespace

Names ListCorralProcesses() {
  Names names;
  for (const ProcessEntry& process : ListProcesses()) {
    if (process.IsCorrals()) {
      names.insert(absl::StrCat(process.pid, " ", process.name));
    }
  }
  return names;
}

Names ListMounts() {
  Names lines;
  std::ifstream file("/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    lines.insert(line);
  }
  return lines;
}

Names ListControlGroups() {
  Names groups;
  const absl::StatusOr<sandbox::CgroupHost> host = sandbox::CgroupHost::Find();
  if (!host.ok()) {
    return groups;
  }
  std::vector<std::string> parents = host->parents;
  for (const std::string& further : {host->blkio, host->cpuset}) {
    if (!further.empty()) {
      parents.push_back(further);
    }
  }
  for (const std::string& parent : parents) {
    ForEachEntry<fs::recursive_directory_iterator>(
        parent + "/corral", [&](const std::string& path) {
          std::error_code error;
          if (fs::is_directory(path, error)) {
            groups.insert(path);
          }
        });
  }
  return groups;
}

Names ListNamespaces() {
  Names namespaces;
  for (const ProcessEntry& process : ListProcesses()) {
    for (const char* links : {"/ns", "/fd"}) {
      ForEachEntry<fs::directory_iterator>(
          absl::StrCat("/proc/", process.pid, links),
          [&](const std::string& link) {
            std::string target = TargetOf(link);
            if (IsNamespace(target)) {
              namespaces.insert(std::move(target));
            }
          });
    }
  }
  return namespaces;
}

Names ListIdRanges() {
  Names ranges;
  const std::set<uint64_t> locked = ListLockedInodes();
  ForEachEntry<fs::directory_iterator>(kIdRanges, [&](const std::string& path) {
    struct stat file = {};
    if (::stat(path.c_str(), &file) == 0 && locked.count(file.st_ino) > 0) {
      ranges.insert(path);
    }
  });
  return ranges;
}

Names ListFiles(const std::vector<std::string>& directories) {
  Names files;
  for (const std::string& directory : directories) {
    ForEachEntry<fs::recursive_directory_iterator>(
        directory, [&](const std::string& path) { files.insert(path); });
  }
  return files;
}

Names ListDescriptors(pid_t pid) {
  Names descriptors;
  const std::string directory = absl::StrCat("/proc/", pid, "/fd");
  ForEachEntry<fs::directory_iterator>(directory, [&](const std::string& link) {
    descriptors.insert(absl::StrCat(link, " ", TargetOf(link)));
  });
  return descriptors;
}

}  // namespace tests
