#include "bridge/options/limit_fields.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "bridge/options/quantity.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

constexpr uint64_t kMinMemory = uint64_t{4} << 20;
constexpr uint64_t kMaxMemory = uint64_t{1} << 50;
constexpr uint64_t kMinPids = 8;
constexpr uint64_t kMaxPids = 4194304;
constexpr uint64_t kMinCpuMillis = 10;
constexpr uint64_t kMaxCpuMillis = 1000000;
constexpr uint64_t kMaxEnded = 100000;
constexpr uint64_t kMinOutput = uint64_t{1} << 20;
constexpr uint64_t kMaxOutput = uint64_t{1} << 50;
constexpr uint64_t kMinFile = uint64_t{4} << 10;
constexpr uint64_t kMaxFile = uint64_t{1} << 50;
constexpr uint64_t kMinDiskSpeed = uint64_t{1} << 20;
constexpr uint64_t kMaxDiskSpeed = uint64_t{1} << 50;
constexpr uint64_t kMinDiskOperations = 10;
constexpr uint64_t kMaxDiskOperations = 1000000000;
constexpr uint64_t kMinDiskSize = uint64_t{1} << 20;
constexpr uint64_t kMaxDiskSize = uint64_t{1} << 50;
constexpr uint64_t kMinDiskFiles = 16;
constexpr uint64_t kMaxDiskFiles = 4294967295;

absl::Status CheckRange(uint64_t value, uint64_t min, uint64_t max,
                        absl::string_view allowed) {
  return value < min || value > max
             ? absl::InvalidArgumentError(absl::StrCat("allowed is ", allowed))
             : absl::OkStatus();
}

}  // namespace

absl::Status SetMemory(absl::string_view text, corral::v1::Limits& limits) {
  ASSIGN_OR_RETURN(const uint64_t bytes, ParseBytes(text));
  limits.set_memory_bytes(bytes);
  return CheckRange(bytes, kMinMemory, kMaxMemory, "4M to 1P");
}

absl::Status SetPids(absl::string_view text, corral::v1::Limits& limits) {
  ASSIGN_OR_RETURN(const uint64_t count, ParseCount(text));
  limits.set_pids(count);
  return CheckRange(count, kMinPids, kMaxPids, "8 to 4194304");
}

absl::Status SetCpus(absl::string_view text, corral::v1::Limits& limits) {
  ASSIGN_OR_RETURN(const uint64_t millis, ParseCpuMillis(text));
  limits.set_cpu_millis(millis);
  return CheckRange(millis, kMinCpuMillis, kMaxCpuMillis, "0.01 to 1000");
}

absl::Status SetOutputBytes(absl::string_view text,
                            corral::v1::Limits& limits) {
  ASSIGN_OR_RETURN(const uint64_t bytes, ParseBytes(text));
  limits.set_output_bytes(bytes);
  return CheckRange(bytes, kMinOutput, kMaxOutput, "1M to 1P");
}

absl::Status SetFileBytes(absl::string_view text, corral::v1::Limits& limits) {
  ASSIGN_OR_RETURN(const uint64_t bytes, ParseBytes(text));
  limits.set_file_bytes(bytes);
  return CheckRange(bytes, kMinFile, kMaxFile, "4K to 1P");
}

absl::Status SetDiskSpeed(absl::string_view text, corral::v1::Limits& limits) {
  ASSIGN_OR_RETURN(const uint64_t bytes, ParseBytes(text));
  limits.set_disk_bytes_per_second(bytes);
  return CheckRange(bytes, kMinDiskSpeed, kMaxDiskSpeed, "1M to 1P");
}

absl::Status SetDiskOperations(absl::string_view text,
                               corral::v1::Limits& limits) {
  ASSIGN_OR_RETURN(const uint64_t count, ParseCount(text));
  limits.set_disk_operations_per_second(count);
  return CheckRange(count, kMinDiskOperations, kMaxDiskOperations,
                    "10 to 1000000000");
}

absl::Status SetDiskSize(absl::string_view text, corral::v1::Limits& limits) {
  ASSIGN_OR_RETURN(const uint64_t bytes, ParseBytes(text));
  limits.set_disk_bytes(bytes);
  return CheckRange(bytes, kMinDiskSize, kMaxDiskSize, "1M to 1P");
}

absl::Status SetDiskFiles(absl::string_view text, corral::v1::Limits& limits) {
  ASSIGN_OR_RETURN(const uint64_t count, ParseCount(text));
  limits.set_disk_inodes(count);
  return CheckRange(count, kMinDiskFiles, kMaxDiskFiles, "16 to 4294967295");
}

absl::Status SetEndedCount(absl::string_view text,
                           corral::v1::Retention& retention) {
  ASSIGN_OR_RETURN(const uint64_t count, ParseCount(text));
  RETURN_IF_ERROR(CheckRange(count, 0, kMaxEnded, "0 to 100000"));
  retention.set_max_ended_executions(static_cast<uint32_t>(count));
  return absl::OkStatus();
}

void AddLimitOptions(OptionTable& table, corral::v1::Limits& limits) {
  table.Value('m', "memory", "SIZE", "Memory of all commands together: 512M.",
              [&](auto value) { return SetMemory(value, limits); });
  table.Value(0, "pids", "COUNT", "Processes and threads at one time: 100.",
              [&](auto value) { return SetPids(value, limits); });
  table.Value(0, "cpus", "COUNT",
              "CPUs that all commands together may keep busy: 1.5.",
              [&](auto value) { return SetCpus(value, limits); });
  table.Value(0, "file-size", "SIZE",
              "The largest file that a command can write: 2G.",
              [&](auto value) { return SetFileBytes(value, limits); });
  table.Value(0, "disk-speed", "SIZE",
              "Bytes that all commands may read from each disk in a second, "
              "and as many that they may write: 50M.",
              [&](auto value) { return SetDiskSpeed(value, limits); });
  table.Value(0, "disk-operations", "COUNT",
              "The same as a number of operations: 1000.",
              [&](auto value) { return SetDiskOperations(value, limits); });
  table.Value(0, "disk-size", "SIZE",
              "What the workspace may hold, and each writable mount, where the "
              "host can enforce it: 10G.",
              [&](auto value) { return SetDiskSize(value, limits); });
  table.Value(0, "disk-files", "COUNT",
              "How many files and directories it may hold: 100000.",
              [&](auto value) { return SetDiskFiles(value, limits); });
}

}  // namespace bridge
