// The state of one execution's output logs, as far as the server knows it. It
// comes from reports of the supervisor and from the headers of logs that are
// opened for reading. So no log has to be opened only to know its state.
//
// Not thread-safe.

#ifndef SERVER_CORE_OUTPUT_STATE_H_
#define SERVER_CORE_OUTPUT_STATE_H_

#include <array>
#include <optional>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "sandbox/storage/output_log.h"

namespace server {

class OutputState {
 public:
  // Updates the state from a report. A report older than the known state
  // changes nothing: no offset ever becomes smaller, no flag is ever cleared.
  void Merge(corral::v1::Stream stream, const sandbox::OutputLogState& report);
  void Merge(const corral::supervisor::v1::StreamState& report);

  // Absent if the stream has no log, or none that is known.
  const std::optional<sandbox::OutputLogState>& Find(
      corral::v1::Stream stream) const {
    return logs_[stream];
  }

 private:
  std::array<std::optional<sandbox::OutputLogState>,
             corral::v1::Stream_ARRAYSIZE>
      logs_;
};

}  // namespace server

#endif  // SERVER_CORE_OUTPUT_STATE_H_
