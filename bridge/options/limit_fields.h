// The limits of a sandbox, set from the values of options.

#ifndef BRIDGE_OPTIONS_LIMIT_FIELDS_H_
#define BRIDGE_OPTIONS_LIMIT_FIELDS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "bridge/options/option_table.h"
#include "corral/v1/sandbox.pb.h"

namespace bridge {

// The ranges are those of corral.v1.Limits and Retention. The errors
// (InvalidArgument) say what is allowed; the caller adds option and value.

// A size: 512M. [4M, 1P]
absl::Status SetMemory(absl::string_view text, corral::v1::Limits& limits);

// A count: 100. [8, 4194304]
absl::Status SetPids(absl::string_view text, corral::v1::Limits& limits);

// Sets a number of CPUs, such as 1.5. [0.01, 1000]
absl::Status SetCpus(absl::string_view text, corral::v1::Limits& limits);

// Sets a size, such as 1G. [1M, 1P]
absl::Status SetOutputBytes(absl::string_view text, corral::v1::Limits& limits);

// Sets a size, such as 2G. [4K, 1P]
absl::Status SetFileBytes(absl::string_view text, corral::v1::Limits& limits);

// Sets a size that may be read from each disk in a second, such as 50M, and
// written. [1M, 1P]
absl::Status SetDiskSpeed(absl::string_view text, corral::v1::Limits& limits);

// Sets a count of operations that may read from each disk in a second, and
// write. [10, 1000000000]
absl::Status SetDiskOperations(absl::string_view text,
                               corral::v1::Limits& limits);

// Sets a size that each workspace and writable mount may hold, such as 10G.
// [1M, 1P]
absl::Status SetDiskSize(absl::string_view text, corral::v1::Limits& limits);

// Sets a count of files that each of them may hold. [16, 4294967295]
absl::Status SetDiskFiles(absl::string_view text, corral::v1::Limits& limits);

// Sets a count of ended executions, such as 100. [0, 100000]
absl::Status SetEndedCount(absl::string_view text,
                           corral::v1::Retention& retention);

// --memory, --pids, --cpus, --file-size, --disk-speed, --disk-operations,
// --disk-size and --disk-files. `limits` must outlive the table.
void AddLimitOptions(OptionTable& table, corral::v1::Limits& limits);

}  // namespace bridge

#endif  // BRIDGE_OPTIONS_LIMIT_FIELDS_H_
