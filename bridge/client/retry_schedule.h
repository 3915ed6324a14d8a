// Decides whether a call that failed is made again, and when.
//
// Pure logic without a clock, a connection or a thread; class Retry applies it.
// Not thread-safe.

#ifndef BRIDGE_CLIENT_RETRY_SCHEDULE_H_
#define BRIDGE_CLIENT_RETRY_SCHEDULE_H_

#include <optional>

#include "absl/time/time.h"
#include "grpcpp/support/status.h"

namespace client {

// The result of a call, as far as it says something about the server.
enum class CallResult {
  // The server answered: success, or an error that it would give again.
  kAnswered,
  // The connection was lost, or there was none.
  kServerGone,
  // The deadline passed without an answer.
  kNoAnswer,
  // The server is there, and says that the same call may succeed later
  // (SERVER_DRAINING, SANDBOX_NOT_READY, TOO_MANY_CALLS, TOO_MUCH_INPUT).
  kRefusedForNow,
  // gRPC in the server was short of memory and reset the call. Whether it took
  // effect is not known.
  kReset,
};

// Classifies the end of a call that its caller did not cancel.
CallResult Classify(const grpc::Status& status);

// How long to repeat a call that the server refuses for now.
enum class Refusals { kForPatience, kForEver };

// The meaning of an expired deadline. kServerLost: the answer should have come
// at once. kRenewal: the call waits on the server, and is made again for as
// long as the server can be reached.
enum class Timeouts { kServerLost, kRenewal };

struct RetryRules {
  absl::Duration patience = absl::Seconds(30);
  absl::Duration interval = absl::Milliseconds(100);
  Timeouts timeouts = Timeouts::kServerLost;
  Refusals refusals = Refusals::kForPatience;
};

class RetrySchedule {
 public:
  explicit RetrySchedule(const RetryRules& rules) : rules_(rules) {}

  struct Attempt {
    // The time to wait before the call is made again.
    absl::Duration delay;
    // The time to give up if the server cannot be reached until then.
    absl::Time deadline;
  };

  // Called after a call that began at `begin` ended with `status`, now. Returns
  // no value if the call is not made again, because it was answered, or because
  // the server has been gone for `patience`.
  std::optional<Attempt> OnResult(const grpc::Status& status, absl::Time begin,
                                  absl::Time now);

  // The server sent something: an outage is over.
  void OnAnswer() {
    gone_since_.reset();
    back_off_ = absl::ZeroDuration();
  }

 private:
  // If `at_once` is true, a server that is gone is looked for without a delay.
  absl::Duration DelayAfter(CallResult result, const grpc::Status& status,
                            bool at_once);
  // Returns true if a call with this result is repeated without an end.
  bool IsServerThere(CallResult result) const;

  const RetryRules rules_;
  // Has no value if the server answered last.
  std::optional<absl::Time> gone_since_;
  // The delay after the last reset; zero: there was none since an answer.
  absl::Duration back_off_;
};

}  // namespace client

#endif  // BRIDGE_CLIENT_RETRY_SCHEDULE_H_
