#include "sandbox/kernel/disk_speed.h"

#include <dirent.h>
#include <unistd.h>

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/small_file.h"
#include "sandbox/base/status_macros.h"

namespace sandbox {
namespace {

constexpr char kBlockDevices[] = "/sys/block";

// A file of v1, and the limit that it takes.
struct Throttle {
  const char* file;
  uint64_t DiskSpeed::*limit;
};
constexpr Throttle kThrottles[] = {
    {"/blkio.throttle.read_bps_device", &DiskSpeed::bytes_per_second},
    {"/blkio.throttle.write_bps_device", &DiskSpeed::bytes_per_second},
    {"/blkio.throttle.read_iops_device", &DiskSpeed::operations_per_second},
    {"/blkio.throttle.write_iops_device", &DiskSpeed::operations_per_second},
};

std::string Trimmed(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadSmallFile(path);
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

std::string OrMax(uint64_t limit) {
  return limit == 0 ? "max" : absl::StrCat(limit);
}

absl::Status SetOnDisk(CgroupVersion version, const std::string& directory,
                       const std::string& disk, const DiskSpeed& speed) {
  if (version == CgroupVersion::kV2) {
    const std::string bytes = OrMax(speed.bytes_per_second);
    const std::string operations = OrMax(speed.operations_per_second);
    return WriteSmallFile(
        directory + "/io.max",
        absl::StrCat(disk, " rbps=", bytes, " wbps=", bytes,
                     " riops=", operations, " wiops=", operations));
  }
  for (const Throttle& throttle : kThrottles) {
    // 0 removes the limit.
    RETURN_IF_ERROR(
        WriteSmallFile(directory + throttle.file,
                       absl::StrCat(disk, " ", speed.*throttle.limit)));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> Disks() {
  std::vector<std::string> disks;
  DIR* devices = ::opendir(kBlockDevices);
  if (devices == nullptr) {
    return disks;
  }
  while (const dirent* entry = ::readdir(devices)) {
    const std::string device =
        absl::StrCat(kBlockDevices, "/", entry->d_name, "/");
    const std::string size = Trimmed(device + "size");
    std::string number = Trimmed(device + "dev");
    if (!size.empty() && size != "0" && !number.empty()) {
      disks.push_back(std::move(number));
    }
  }
  ::closedir(devices);
  return disks;
}

absl::Status HandOnDiskSpeed(const std::string& directory) {
  for (const char* above : {"/../../..", "/../..", "/.."}) {
    const absl::Status handed_on = WriteSmallFile(
        absl::StrCat(directory, above, "/cgroup.subtree_control"), "+io");
    if (!handed_on.ok()) {
      return MakeFailure(
          wire::Reply::ISOLATION,
          absl::StrCat("this host limits no speed of disks: the cgroup "
                       "controller io is not handed on: ",
                       handed_on.message()));
    }
  }
  return absl::OkStatus();
}

bool HasDiskSpeed(CgroupVersion version, const std::string& directory) {
  const std::string file =
      directory +
      (version == CgroupVersion::kV2 ? "/io.max" : kThrottles[0].file);
  return ::access(file.c_str(), W_OK) == 0;
}

absl::Status SetDiskSpeed(CgroupVersion version, const std::string& directory,
                          const std::vector<std::string>& disks,
                          const DiskSpeed& speed) {
  if (!HasDiskSpeed(version, directory)) {
    return MakeFailure(wire::Reply::ISOLATION,
                       absl::StrCat("this host limits no speed of disks: ",
                                    directory, " has no file for it"));
  }
  bool done = false;
  for (const std::string& disk : disks) {
    const absl::Status set = SetOnDisk(version, directory, disk, speed);
    if (!set.ok() && !absl::IsNotFound(set)) {
      return set;
    }
    done = done || set.ok();
  }
  return done ? absl::OkStatus()
              : MakeFailure(wire::Reply::ISOLATION,
                            "this host has no disk whose speed it limits");
}

void LiftDiskSpeed(CgroupVersion version,
                   const std::vector<std::string>& directories) {
  for (const std::string& directory : directories) {
    if (HasDiskSpeed(version, directory)) {
      (void)SetDiskSpeed(version, directory, Disks(), {});
    }
  }
}

}  // namespace sandbox
