#include "sandbox/kernel/cgroup_ceiling.h"

#include <sys/sysinfo.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/small_file.h"
#include "sandbox/base/status_macros.h"

namespace sandbox {
namespace {

// v1 has no word for "no limit": it shows the largest number of pages, in
// bytes.
constexpr uint64_t kUnlimited = uint64_t{1} << 62;

uint64_t Memory() {
  struct sysinfo host = {};
  ::sysinfo(&host);
  return uint64_t{host.totalram} * host.mem_unit;
}

absl::StatusOr<uint64_t> ProcessIds() {
  constexpr char kPath[] = "/proc/sys/kernel/pid_max";
  const absl::StatusOr<std::string> text = ReadSmallFile(kPath);
  uint64_t count = 0;
  if (!text.ok() || !absl::SimpleAtoi(*text, &count)) {
    return absl::InternalError(absl::StrCat("cannot read ", kPath));
  }
  return count;
}

// Returns false also for a file that the hierarchy does not have.
bool IsUnlimited(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadSmallFile(path);
  uint64_t limit = 0;
  return text.ok() && (absl::StripAsciiWhitespace(*text) == "max" ||
                       (absl::SimpleAtoi(*text, &limit) && limit > kUnlimited));
}

absl::Status LimitOnce(const std::string& path, uint64_t limit) {
  return IsUnlimited(path) ? WriteSmallFile(path, absl::StrCat(limit))
                           : absl::OkStatus();
}

}  // namespace

absl::Status SetCeiling(const std::string& directory) {
  ASSIGN_OR_RETURN(const uint64_t pids, ProcessIds());
  RETURN_IF_ERROR(LimitOnce(directory + "/pids.max", pids / 2));
  const uint64_t memory = Memory() / 10 * 9;
  RETURN_IF_ERROR(LimitOnce(directory + "/memory.max", memory));
  return LimitOnce(directory + "/memory.limit_in_bytes", memory);
}

}  // namespace sandbox
