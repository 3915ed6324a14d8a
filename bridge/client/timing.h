// How long clients wait for a server, and for a terminal.

#ifndef BRIDGE_CLIENT_TIMING_H_
#define BRIDGE_CLIENT_TIMING_H_

#include <functional>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace client {

// The defaults are for people; tests inject short times, or a clock.
struct Timing {
  // For how long a server may be gone before a call or a stream gives up.
  absl::Duration patience = absl::Seconds(30);

  // The time between two attempts at a server that refuses or fails at once.
  absl::Duration retry_interval = absl::Milliseconds(100);

  // A call that the server answers at once counts as failed after this time.
  absl::Duration call_timeout = absl::Seconds(20);

  // A call that waits on the server (WaitExecution, WriteInput, a deletion) is
  // made again after this time, so that no call outlives its connection by
  // more.
  absl::Duration wait_renewal = absl::Seconds(60);

  // A stream that delivers nothing for this time is resumed: twice the interval
  // of the server's heartbeats (proto/corral/v1/execution.proto).
  absl::Duration stream_silence = absl::Seconds(30);

  // While calls are open, the connection is tested with a ping after this time
  // without data, and closed if no answer comes within the timeout.
  absl::Duration keepalive_interval = absl::Seconds(20);
  absl::Duration keepalive_timeout = absl::Seconds(10);

  // For how long the terminal of corral may take to answer a query of corral.
  absl::Duration terminal_answer = absl::Seconds(1);

  std::function<absl::Time()> now = absl::Now;
};

}  // namespace client

#endif  // BRIDGE_CLIENT_TIMING_H_
