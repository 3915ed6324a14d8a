#ifndef BRIDGE_ACP_RELAY_H_
#define BRIDGE_ACP_RELAY_H_

#include <poll.h>

#include <vector>

#include "absl/time/time.h"
#include "bridge/acp/agent/agent_process.h"
#include "bridge/acp/agent/line_splitter.h"
#include "bridge/acp/agent/output_queue.h"
#include "bridge/acp/bridge.h"
#include "bridge/acp/remote/poll_loop.h"

namespace bridge {

// Carries the lines between the client and the agent, and ends both sides in
// order.
//
// A side that does not read fills its queue, and then whoever feeds that queue
// is not read any more; answers that are under way in the other direction go
// on.
//
// The end: when the client closes its side or we are told to terminate, the
// agent's input is closed; after 2 s it gets SIGTERM, after 2 s more SIGKILL,
// with its whole process group. When the agent has ended, what it wrote is
// passed on and the sandboxes are deleted.
class Relay {
 public:
  struct Descriptors {
    int client_input;
    int client_output;
    int termination;  // readable: end
  };

  // The descriptors and `loop` must outlive it.
  Relay(PollLoop* loop, BridgeOptions options, AgentProcess agent,
        Descriptors descriptors);

  // Until everything has ended. The agent's exit code, or 128 and its signal.
  int Run();

 private:
  enum class Phase {
    kRunning,   // both sides may talk
    kClosing,   // nothing more comes from the client; the agent is to end
    kDraining,  // the agent has ended; what it wrote is still read
    kFlushing,  // what it wrote goes to the client; the sandboxes are deleted
  };

  void Watch(std::vector<pollfd>& polls);
  void React(const std::vector<pollfd>& polls);
  bool IsDone() const;

  void ReadClient();
  void ReadAgent();
  void WriteClient();
  void WriteAgent();
  void EndClient();
  void EndAgentOutput();
  void OnAgentExit();
  void BeginFlushing();
  void LimitFlush();
  // Runs `action` later, if the phase is still the one of now.
  void Later(absl::Duration delay, PollLoop::Action action);

  PollLoop* const loop_;
  AgentProcess agent_;
  const Descriptors descriptors_;
  OutputQueue to_client_;
  OutputQueue to_agent_;
  LineSplitter from_client_{kMaxLineBytes};
  LineSplitter from_agent_{kMaxLineBytes};
  Bridge bridge_;

  Phase phase_ = Phase::kRunning;
  // The client's side was closed, or we shall terminate: it is not read any
  // more.
  bool client_ended_ = false;
  // The client takes nothing any more.
  bool client_abandoned_ = false;
  int agent_status_ = 0;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_RELAY_H_
