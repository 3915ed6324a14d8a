// The state of one execution's output logs, as far as the server knows it: the
// supervisor reports it, and whoever opens a log reads it from the header. So
// nothing that only asks for the state opens a log.
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
  // Takes in a report. An older one than what is known changes nothing, since
  // no offset ever gets smaller and no flag is ever taken back.
  void Merge(corral::v1::Stream stream, const sandbox::OutputLogState& report);
  void Merge(const corral::supervisor::v1::StreamState& report);

  // Absent: the stream has no log, or none that is known.
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
