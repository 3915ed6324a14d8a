// The rules for the fields of requests, as the comments in proto/corral/v1
// state them. `field` is the path of the checked message in its request, such
// as "command". Every error is INVALID_FIELD.

#ifndef SERVER_API_VALIDATION_H_
#define SERVER_API_VALIDATION_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "server/api/ranges.h"

namespace server {

inline constexpr uint64_t kDefaultRetainBytes = 64ULL << 20;
inline constexpr absl::Duration kDefaultKillGrace = absl::Seconds(2);
inline constexpr absl::Duration kDefaultDrainTimeout = absl::Seconds(2);
inline constexpr absl::Duration kYear = absl::Seconds(kSecondsOfAYear);

absl::Status CheckSandbox(absl::string_view field,
                          const corral::v1::Sandbox& sandbox);

absl::Status CheckLifetime(absl::string_view field,
                           const corral::v1::Lifetime& lifetime);

absl::Status CheckRetention(absl::string_view field,
                            const corral::v1::Retention& retention);

absl::Status CheckLimits(absl::string_view field,
                         const corral::v1::Limits& limits);

// The paths of its workspaces, which point into the message.
std::vector<absl::string_view> WorkspacesOf(const corral::v1::Sandbox& sandbox);

// `workspaces` has the paths of the sandbox's workspaces, as its creator gave
// them; empty if it has none.
absl::Status CheckCommand(absl::string_view field,
                          const corral::v1::Command& command,
                          const std::vector<absl::string_view>& workspaces);

absl::Status CheckTerminalSize(absl::string_view field,
                               const corral::v1::TerminalSize& size);

// `least` is not negative.
absl::StatusOr<absl::Duration> CheckDuration(
    absl::string_view field, const google::protobuf::Duration& duration,
    absl::Duration least, absl::Duration most);

// Allows [1, 128] printable ASCII characters, and the empty id.
absl::Status CheckRequestId(absl::string_view field, absl::string_view id);

absl::Status CheckRange(absl::string_view field, uint64_t value,
                        const Range& range);

// Allows STDOUT, STDERR and TERMINAL.
absl::Status CheckStream(absl::string_view field, corral::v1::Stream stream);

// Returns the number of entries that a page may have.
absl::StatusOr<size_t> CheckPageSize(absl::string_view field, int32_t size);

}  // namespace server

#endif  // SERVER_API_VALIDATION_H_
