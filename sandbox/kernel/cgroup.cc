#include "sandbox/kernel/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/small_file.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/kernel/cgroup_ceiling.h"
#include "sandbox/kernel/cpuset.h"
#include "sandbox/kernel/oom_events.h"

namespace sandbox {
namespace {

constexpr absl::string_view kTop = "corral";

std::vector<std::string> Subdirectories(const std::string& path) {
  std::vector<std::string> names;
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) {
    return names;
  }
  while (const dirent* entry = ::readdir(directory)) {
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
      names.emplace_back(entry->d_name);
    }
  }
  ::closedir(directory);
  return names;
}

absl::Status HandOnControllers(const std::string& directory) {
  return WriteSmallFile(directory + "/cgroup.subtree_control",
                        "+memory +pids +cpu");
}

// Returns the directories of blkio and cpuset that are not among the others.
std::vector<std::string> FurtherParents(const CgroupHost& host) {
  std::vector<std::string> known = host.parents;
  std::vector<std::string> further;
  for (const std::string& parent : {host.blkio, host.cpuset}) {
    if (!parent.empty() &&
        std::find(known.begin(), known.end(), parent) == known.end()) {
      known.push_back(parent);
      further.push_back(parent);
    }
  }
  return further;
}

std::vector<std::string> With(std::vector<std::string> directories,
                              const std::vector<std::string>& further) {
  directories.insert(directories.end(), further.begin(), further.end());
  return directories;
}

std::vector<std::string> PlacesOf(const std::vector<std::string>& parents,
                                  const std::string& name) {
  std::vector<std::string> places;
  places.reserve(parents.size());
  for (const std::string& parent : parents) {
    places.push_back(absl::StrCat(parent, "/", kTop, "/", name));
  }
  return places;
}

// True for a hierarchy of v1 that has cpu, and no controller that counts or
// limits anything else.
bool HasOnlyCpu(const std::string& directory) {
  const auto has = [&directory](const char* file) {
    return ::access(absl::StrCat(directory, "/", file).c_str(), F_OK) == 0;
  };
  return has("cpu.shares") && !has("cpuacct.usage") && !has("pids.max") &&
         !has("memory.limit_in_bytes");
}

// Makes the parent of the groups of all sandboxes.
absl::Status MakeTop(CgroupVersion version, const std::string& top) {
  if (::mkdir(top.c_str(), 0755) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat("mkdir ", top));
  }
  RETURN_IF_ERROR(version == CgroupVersion::kV2 ? HandOnControllers(top)
                                                : InheritCpus(top));
  return SetCeiling(top);
}

}  // namespace

Cgroup::Cgroup(CgroupVersion version, std::vector<std::string> directories,
               std::vector<std::string> further)
    : version_(version),
      directories_(std::move(directories)),
      further_(std::move(further)) {}

Cgroup& Cgroup::operator=(Cgroup&& other) noexcept {
  std::swap(version_, other.version_);
  directories_.swap(other.directories_);
  further_.swap(other.further_);
  entries_.swap(other.entries_);
  std::swap(spared_, other.spared_);
  max_processes_.swap(other.max_processes_);
  counters_.swap(other.counters_);
  std::swap(closed_, other.closed_);
  std::swap(unusable_, other.unusable_);
  return *this;
}

Cgroup::~Cgroup() { (void)Remove(); }

absl::StatusOr<Cgroup> Cgroup::Create(const CgroupHost& host,
                                      const std::string& name) {
  const std::vector<std::string> further = FurtherParents(host);
  for (const std::string& parent : With(host.parents, further)) {
    RETURN_IF_ERROR(MakeTop(host.version, absl::StrCat(parent, "/", kTop)));
  }
  RETURN_IF_ERROR(RemoveLeftOver(host, name));
  Cgroup cgroup(host.version, PlacesOf(host.parents, name),
                PlacesOf(further, name));
  RETURN_IF_ERROR(cgroup.Make());
  return cgroup;
}

absl::Status Cgroup::RemoveLeftOver(const CgroupHost& host,
                                    const std::string& name) {
  return RemoveLeftOver(
      host.version, PlacesOf(With(host.parents, FurtherParents(host)), name));
}

std::set<std::string> Cgroup::List(const CgroupHost& host) {
  std::set<std::string> names;
  for (const std::string& parent : With(host.parents, FurtherParents(host))) {
    for (std::string& name : Subdirectories(absl::StrCat(parent, "/", kTop))) {
      names.insert(std::move(name));
    }
  }
  return names;
}

absl::Status Cgroup::RemoveLeftOver(
    CgroupVersion version, const std::vector<std::string>& directories) {
  LiftDiskSpeed(version, directories);
  for (const std::string& directory : directories) {
    std::vector<std::string> below;
    for (const std::string& name : Subdirectories(directory)) {
      below.push_back(absl::StrCat(directory, "/", name));
    }
    RETURN_IF_ERROR(RemoveLeftOver(version, below));
    Cgroup group(version, {directory});
    // Waits up to a second for processes that are slow to die.
    constexpr timespec kPause = {0, 200'000};
    for (int i = 0; i < 5000 && !group.Kill(); ++i) {
      ::nanosleep(&kPause, nullptr);
    }
    RETURN_IF_ERROR(group.Remove());
  }
  return absl::OkStatus();
}

absl::StatusOr<Cgroup> Cgroup::CreateChild(const std::string& name) const {
  std::vector<std::string> directories;
  for (const std::string& directory : directories_) {
    directories.push_back(absl::StrCat(directory, "/", name));
  }
  Cgroup child(version_, std::move(directories));
  RETURN_IF_ERROR(child.Make());
  return child;
}

std::vector<std::string> Cgroup::Directories() const {
  return valid() ? With(directories_, further_) : std::vector<std::string>();
}

absl::Status Cgroup::Make() {
  for (const std::string& directory : Directories()) {
    if (::mkdir(directory.c_str(), 0755) != 0 ||
        ::chmod(directory.c_str(), 0755) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("mkdir ", directory));
    }
    if (version_ == CgroupVersion::kV1) {
      RETURN_IF_ERROR(CountSocketMemory(directory));
    }
  }
  return OpenEntries();
}

absl::Status Cgroup::OpenEntries() {
  const bool v2 = version_ == CgroupVersion::kV2;
  for (const std::string& directory : Directories()) {
    const std::string entry = v2 ? directory : directory + "/tasks";
    UniqueFd fd(::open(entry.c_str(), v2 ? O_RDONLY | O_DIRECTORY | O_CLOEXEC
                                         : O_WRONLY | O_CLOEXEC));
    if (!fd.valid()) {
      return absl::ErrnoToStatus(errno, absl::StrCat("open ", entry));
    }
    entries_.push_back(std::move(fd));
  }
  return absl::OkStatus();
}

absl::Status Cgroup::HandOn() const {
  return version_ == CgroupVersion::kV2 ? HandOnControllers(directories_[0])
                                        : absl::OkStatus();
}

absl::Status Cgroup::SetLimits(const CgroupLimits& limits) {
  const bool spares_cpu =
      version_ == CgroupVersion::kV1 && limits.cpu_millis == 0;
  spared_ = kNone;
  for (size_t i = 0; i < directories_.size(); ++i) {
    RETURN_IF_ERROR(SetCgroupLimits(version_, directories_[i], limits));
    if (spares_cpu && HasOnlyCpu(directories_[i])) {
      spared_ = i;
    }
  }
  if (limits.pids != 0) {
    max_processes_ = absl::StrCat(limits.pids);
  }
  return absl::OkStatus();
}

absl::Status Cgroup::LimitDiskSpeed(const DiskSpeed& speed) const {
  if (!valid()) {
    return absl::FailedPreconditionError("there is no group");
  }
  const bool v2 = version_ == CgroupVersion::kV2;
  // Where commands have groups below this one, v1 would not bind those.
  for (const std::string& place : v2 ? directories_ : further_) {
    if (HasDiskSpeed(version_, place)) {
      return SetDiskSpeed(version_, place, Disks(), speed);
    }
  }
  if (!v2) {
    return MakeFailure(wire::Reply::ISOLATION,
                       "this host limits no speed of disks: the cgroup "
                       "controller blkio has no hierarchy of its own");
  }
  RETURN_IF_ERROR(HandOnDiskSpeed(directories_[0]));
  return SetDiskSpeed(version_, directories_[0], Disks(), speed);
}

absl::Status Cgroup::Delegate(uid_t uid) {
  if (version_ == CgroupVersion::kV1) {
    return absl::OkStatus();
  }
  const std::string procs = directories_[0] + "/cgroup.procs";
  if (::chown(procs.c_str(), uid, static_cast<gid_t>(-1)) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("chown ", procs));
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> Cgroup::OomEvents() const {
  if (version_ == CgroupVersion::kV2) {
    return UniqueFd();
  }
  // The first hierarchy is that of memory.
  return valid() ? WatchOom(directories_[0])
                 : absl::FailedPreconditionError("there is no group");
}

CgroupCounters& Cgroup::Counters() const {
  if (counters_ == nullptr) {
    counters_ = std::make_unique<CgroupCounters>(version_, directories_);
  }
  return *counters_;
}

CgroupUsage Cgroup::Usage() const {
  return directories_.empty() ? CgroupUsage() : Counters().Usage();
}

uint64_t Cgroup::OomKills() const {
  return directories_.empty() ? 0 : Counters().OomKills();
}

absl::StatusOr<absl::Duration> Cgroup::CpuTime() const {
  if (directories_.empty()) {
    return absl::FailedPreconditionError("there is no group");
  }
  return Counters().CpuTime();
}

absl::Status Cgroup::Recycle() {
  if (directories_.empty() || unusable_) {
    return absl::FailedPreconditionError("there is no group");
  }
  RETURN_IF_ERROR(Counters().Restart());
  return closed_ ? SetMaxProcesses(max_processes_) : absl::OkStatus();
}

absl::Status Cgroup::Remove() {
  // A file that is open while its group goes stays in the kernel's caches, with
  // about a KiB, until the host is short of memory.
  entries_.clear();
  counters_.reset();
  for (const std::string& directory : Directories()) {
    if (::rmdir(directory.c_str()) != 0 && errno != ENOENT) {
      absl::Status failed = absl::FailedPreconditionError(
          absl::StrCat("rmdir ", directory, ": errno ", errno));
      unusable_ = unusable_ || !OpenEntries().ok();
      return failed;
    }
    unusable_ = true;
  }
  directories_.clear();
  further_.clear();
  return absl::OkStatus();
}

}  // namespace sandbox
