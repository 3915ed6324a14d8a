// The errors of corral.v1, each with its google.rpc details as payloads of the
// absl::Status: a payload's type URL is the detail's, its bytes are the
// serialized detail. grpc_status.h puts them on the wire.

#ifndef SERVER_API_ERRORS_H_
#define SERVER_API_ERRORS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "corral/v1/error_reason.pb.h"

namespace server {

using ErrorMetadata = std::vector<std::pair<std::string, std::string>>;

// The domain of every ErrorInfo.
inline constexpr char kErrorDomain[] = "corral.v1";

// Returns an error with an ErrorInfo. The message may hold any bytes; those
// that are not printable ASCII become "\xff", because the fields on the wire
// are UTF-8. The metadata's values must be UTF-8.
absl::Status Error(absl::StatusCode code, corral::v1::ErrorReason reason,
                   absl::string_view message,
                   const ErrorMetadata& metadata = {});

// INVALID_FIELD. `value` may hold any bytes and have any length.
absl::Status InvalidField(absl::string_view field, absl::string_view value,
                          absl::string_view allowed);

// INVALID_FIELD of a value that was refused elsewhere. `why` names the value,
// the reason and the remedy.
absl::Status RefusedField(absl::string_view field, absl::string_view why);

absl::Status SandboxNotFound(absl::string_view name);
absl::Status ExecutionNotFound(absl::string_view name);
absl::Status SandboxExists(absl::string_view name);
absl::Status ExecutionExists(absl::string_view name);
absl::Status SandboxNotReady(absl::string_view name, absl::string_view state);
// SANDBOX_NOT_READY as UNAVAILABLE, with a RetryInfo: the server cannot answer
// for the sandbox at present, and nothing was done.
absl::Status SandboxUnavailable(absl::string_view name, absl::string_view why,
                                absl::Duration retry_after,
                                absl::string_view state = "CREATING");
absl::Status OffsetOutOfRange(absl::string_view message, uint64_t offset,
                              uint64_t end_offset);

// OUTPUT_EXPIRED. The output [begin_offset, end_offset) is left.
absl::Status OutputExpired(absl::string_view message, uint64_t begin_offset,
                           uint64_t end_offset);

// REQUEST_MISMATCH. `name` is the resource that the other request created.
absl::Status RequestMismatch(absl::string_view request_id,
                             absl::string_view name);

// SCREEN_UNAVAILABLE with a RetryInfo: the emulator of an execution's terminal
// does not work at present.
absl::Status ScreenUnavailable(absl::string_view name, absl::string_view why);

// PORT_REFUSED, PORT_TIMED_OUT: no connection to a server in a sandbox.
absl::Status PortRefused(absl::string_view name, uint32_t port);
absl::Status PortTimedOut(absl::string_view name, uint32_t port,
                          absl::Duration waited);

// CONNECTION_RESET. `name` is the sandbox.
absl::Status ConnectionReset(absl::string_view name, absl::string_view why);

// SANDBOX_TOO_OLD.
absl::Status SandboxTooOld(absl::string_view name, absl::string_view lacks);

// STORAGE_FAILED. `where` says which operation failed.
absl::Status StorageFailed(absl::string_view where, const absl::Status& cause);

// SERVER_DRAINING with a RetryInfo.
absl::Status ServerDraining(absl::Duration retry_after);

// ISOLATION_UNAVAILABLE with a PreconditionFailure: protections that a request
// demands, each with the reason why it is not enforced.
absl::Status ProtectionsMissing(
    const std::vector<std::pair<std::string, std::string>>& missing);

// TOO_MANY_* or TOO_MUCH_*, with a QuotaFailure of `subject`.
absl::Status QuotaExceeded(corral::v1::ErrorReason reason,
                           absl::string_view subject,
                           absl::string_view message);

// TOO_MANY_CALLS, with a QuotaFailure and a RetryInfo. `most`: how many streams
// and waiting calls the server serves at one time.
absl::Status TooManyCalls(size_t most, absl::Duration retry_after);

// TOO_MUCH_INPUT, with a QuotaFailure and a RetryInfo. `most`: how many bytes
// of input may wait in the server.
absl::Status TooMuchInput(uint64_t most, absl::Duration retry_after);

// SERVER_FAULT. `where` says which operation failed.
absl::Status ServerFault(absl::string_view where, const absl::Status& cause);

// Returns the ErrorReason of an error that was made here, and
// ERROR_REASON_UNSPECIFIED for any other status.
corral::v1::ErrorReason ReasonOf(const absl::Status& status);

}  // namespace server

#endif  // SERVER_API_ERRORS_H_
