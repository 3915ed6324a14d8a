#include "sandbox/kernel/cgroup_ceiling.h"

#include <sys/sysinfo.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/small_file.h"
#include "sandbox/base/status_macros.h"

namespace sandbox {
namespace {

// v1 has no word for "no limit": it shows the largest number of pages, in
// bytes.
constexpr uint64_t kUnlimited = uint64_t{1} << 62;

absl::StatusOr<uint64_t> NineTenthsOfMemory() {
  struct sysinfo host = {};
  ::sysinfo(&host);
  return uint64_t{host.totalram} * host.mem_unit / 10 * 9;
}

absl::StatusOr<uint64_t> HalfOfProcessIds() {
  constexpr char kPath[] = "/proc/sys/kernel/pid_max";
  const absl::StatusOr<std::string> text = ReadSmallFile(kPath);
  uint64_t count = 0;
  if (!text.ok() || !absl::SimpleAtoi(*text, &count)) {
    return absl::InternalError(absl::StrCat("cannot read ", kPath));
  }
  return count / 2;
}

bool IsUnlimited(absl::string_view text) {
  uint64_t limit = 0;
  return absl::StripAsciiWhitespace(text) == "max" ||
         (absl::SimpleAtoi(text, &limit) && limit > kUnlimited);
}

absl::Status LimitOnce(const std::string& path,
                       absl::StatusOr<uint64_t> (*limit)()) {
  const absl::StatusOr<std::string> present = ReadSmallFile(path);
  if (absl::IsNotFound(present.status())) {
    return absl::OkStatus();  // the hierarchy does not have it
  }
  RETURN_IF_ERROR(present.status());
  if (!IsUnlimited(*present)) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const uint64_t value, limit());
  return WriteSmallFile(path, absl::StrCat(value));
}

}  // namespace

absl::Status SetCeiling(const std::string& directory) {
  RETURN_IF_ERROR(LimitOnce(directory + "/pids.max", HalfOfProcessIds));
  RETURN_IF_ERROR(LimitOnce(directory + "/memory.max", NineTenthsOfMemory));
  return LimitOnce(directory + "/memory.limit_in_bytes", NineTenthsOfMemory);
}

}  // namespace sandbox
