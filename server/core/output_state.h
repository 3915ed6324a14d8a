// The state of one execution's output logs, as far as the server knows it. It
// comes from reports of the supervisor and from the headers of logs that are
// opened for reading. So no log has to be opened only to know its state.
//
// An execution has a terminal or the other streams, so two are known at most.
//
// Not thread-safe.

#ifndef SERVER_CORE_OUTPUT_STATE_H_
#define SERVER_CORE_OUTPUT_STATE_H_

#include <array>
#include <cstdint>
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

  // Absent if the stream has no log, or none that is known. Without the start
  // time.
  std::optional<sandbox::OutputLogState> Find(corral::v1::Stream stream) const;

 private:
  struct Log {
    corral::v1::Stream stream = corral::v1::STREAM_UNSPECIFIED;
    bool closed = false;
    bool expired = false;
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t gap_begin = 0;
    uint64_t gap_end = 0;
  };

  // In the order of their first reports.
  std::array<Log, 2> logs_;
};

}  // namespace server

#endif  // SERVER_CORE_OUTPUT_STATE_H_
