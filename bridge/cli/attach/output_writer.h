// Output of a command to this process's standard output and error.

#ifndef BRIDGE_CLI_ATTACH_OUTPUT_WRITER_H_
#define BRIDGE_CLI_ATTACH_OUTPUT_WRITER_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "bridge/cli/attach/gap_notice.h"
#include "corral/v1/execution_service.pb.h"
#include "sandbox/base/unique_fd.h"

namespace bridge {

// Writes all of it, for however long that takes, also to a descriptor that is
// not blocking. Aborted: nobody reads it any more (EPIPE).
absl::Status WriteAll(int fd, absl::string_view data);

// A line of our own on standard error. Nothing can be done if that fails.
void Say(absl::string_view line);

// One thread writes; Cancel() may be called from any.
class OutputWriter {
 public:
  OutputWriter();

  OutputWriter(const OutputWriter&) = delete;
  OutputWriter& operator=(const OutputWriter&) = delete;

  // A chunk: of STDERR to standard error, else to standard output. A gap: a
  // line on standard error, see GapNotice. Other events: nothing. Aborted:
  // nobody reads it any more; Cancelled.
  absl::Status Write(const corral::v1::OutputEvent& event, absl::Time now);
  // To standard output, of the same errors.
  absl::Status WriteOutput(absl::string_view data);
  // Tells of gaps that were not told yet.
  absl::Status Finish();

  // Ends writing that has to wait, now and later, if standard output and error
  // are pipes or terminals.
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
