// Writes the output of a command to standard output and standard error.

#ifndef BRIDGE_CLI_ATTACH_OUTPUT_WRITER_H_
#define BRIDGE_CLI_ATTACH_OUTPUT_WRITER_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "bridge/cli/attach/gap_notice.h"
#include "corral/v1/execution_service.pb.h"
#include "sandbox/base/unique_fd.h"

namespace bridge {

// Writes all of `data`, however long that takes, even if the descriptor is
// non-blocking. Fails with Aborted if nobody reads it any more (EPIPE).
absl::Status WriteAll(int fd, absl::string_view data);

// Writes a message of corral itself to standard error. Ignores errors: there is
// nowhere else to report them.
void Say(absl::string_view line);

// One thread writes; Cancel() may be called from any.
class OutputWriter {
 public:
  OutputWriter();

  OutputWriter(const OutputWriter&) = delete;
  OutputWriter& operator=(const OutputWriter&) = delete;

  // Writes a chunk of STDERR to standard error, of another stream to standard
  // output, and for a gap a line to standard error (see GapNotice). Ignores
  // other events. Fails with Aborted if nobody reads it any more, and with
  // Cancelled after Cancel().
  absl::Status Write(const corral::v1::OutputEvent& event, absl::Time now);
  // Writes to standard output. Fails as Write() does.
  absl::Status WriteOutput(absl::string_view data);
  // Reports the gaps that were not reported yet.
  absl::Status Finish();

  // Makes every write that would block fail with Cancelled from now on, the one
  // in progress included. Works if the descriptors are pipes or terminals.
  void Cancel();

 private:
  absl::Status WriteError(absl::string_view data);

  const sandbox::UniqueFd cancelled_;  // an eventfd
  const sandbox::UniqueFd output_;     // empty: the descriptor 1 itself
  const sandbox::UniqueFd error_;      // empty: the descriptor 2 itself
  GapNotice gaps_;
};

}  // namespace bridge

#endif  // BRIDGE_CLI_ATTACH_OUTPUT_WRITER_H_
