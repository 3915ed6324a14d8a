// The reports of the supervisor's children that have memory of their own while
// a sandbox is being made: each reports that its part is done, or why it
// failed.
//
// Used by any thread, and between fork and exec if the process had one thread.

#ifndef SANDBOX_SUPERVISOR_CONSTRUCTION_REPORT_H_
#define SANDBOX_SUPERVISOR_CONSTRUCTION_REPORT_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

struct ReportSockets {
  UniqueFd ours;
  UniqueFd theirs;
};

absl::StatusOr<ReportSockets> MakeReportSockets();

// Sends the kind and the text of `status`, and with success `fds`. Ends the
// process if the kernel refuses: the supervisor would wait for the report.
void SendReport(int socket, const absl::Status& status,
                const std::vector<int>& fds);

// Reports the failure, or success if the child is not to execute anything, and
// ends the process.
[[noreturn]] void ReportAndExit(int socket, const absl::Status& status);

// Waits for the report of the child `who` and returns the descriptors that came
// with it, or its failure, which keeps its kind. Fails with Aborted if the
// child was killed before it could report, and with Internal if it sent
// something else.
absl::StatusOr<std::vector<UniqueFd>> ReceiveReport(int socket,
                                                    const char* who);

// Waits until corral-spawner, which the child executes, has sent that it is
// ready: an answer without an error. Fails as ReceiveReport() does.
absl::Status ReceiveFirstPacket(int socket, const char* who);

// Returns Aborted: `who` was killed during set-up.
absl::Status KilledError(const char* who);

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_CONSTRUCTION_REPORT_H_
