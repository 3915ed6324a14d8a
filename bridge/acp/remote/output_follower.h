#ifndef BRIDGE_ACP_REMOTE_OUTPUT_FOLLOWER_H_
#define BRIDGE_ACP_REMOTE_OUTPUT_FOLLOWER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/client/connection.h"
#include "bridge/client/output_reader.h"
#include "corral/v1/execution_service.pb.h"
#include "sandbox/base/mutex.h"

namespace bridge {

// Delivers the output of one execution to the loop, from an offset to its end.
// Standard error must be merged into standard output. Reads the next event when
// the last one has been handled, so that only one is in memory.
//
// Used on the loop's thread only. Has a thread of its own that only reads.
class OutputFollower {
 public:
  using OnEvent = absl::AnyInvocable<void(const corral::v1::OutputEvent&)>;
  using OnLost = absl::AnyInvocable<void(absl::Status)>;

  // Runs `on_event` on the loop for each chunk and gap, and for `ended`, last.
  // If the server was gone for 30 s, or does not know the execution any more,
  // runs `on_lost` last instead. Both may destroy the follower; neither runs
  // after that.
  OutputFollower(PollLoop* loop, client::Connection& connection,
                 const std::string& execution_name, uint64_t offset,
                 OnEvent on_event, OnLost on_lost);
  ~OutputFollower();

  OutputFollower(const OutputFollower&) = delete;
  OutputFollower& operator=(const OutputFollower&) = delete;

 private:
  // Lives until the follower is destroyed and the last post has run.
  struct Shared {
    client::OutputReader stream;
    OnEvent on_event;
    OnLost on_lost;
    sandbox::Mutex mutex;
    bool handled ABSL_GUARDED_BY(mutex) = false;
    bool stopped ABSL_GUARDED_BY(mutex) = false;

    Shared(client::Connection& connection,
           const corral::v1::StreamOutputRequest& request)
        : stream(connection, request) {}
    bool IsStopped();
    bool AwaitHandled();
  };

  static void Follow(PollLoop* loop, const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_REMOTE_OUTPUT_FOLLOWER_H_
