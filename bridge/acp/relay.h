#ifndef BRIDGE_ACP_RELAY_H_
#define BRIDGE_ACP_RELAY_H_

#include <poll.h>

#include <vector>

#include "absl/time/time.h"
#include "bridge/acp/agent/agent_process.h"
#include "bridge/acp/agent/line_splitter.h"
#include "bridge/acp/agent/output_queue.h"
#include "bridge/acp/bridge.h"
#include "bridge/acp/relay_phase.h"
#include "bridge/acp/remote/poll_loop.h"

namespace bridge {

// Carries the lines between the client and the agent, and ends both sides in
// order.
//
// Back-pressure: a side that does not read fills its queue. Above 64 MiB the
// relay stops reading the side that feeds the queue, until there is room.
//
// The end: when the client closes its side, or a signal asks us to end, the
// relay closes the agent's input. After 2 s the agent's process group gets
// SIGTERM, after 2 s more the agent and all its descendants get SIGKILL. When
// the agent has ended, the relay passes on what it wrote and deletes the
// sandboxes; a server that does not answer gets 3 s for that.
class Relay {
 public:
  struct Descriptors {
    int client_input;
    int client_output;
    int termination;  // readable when this process must end
  };

  // The descriptors and `loop` must outlive this object.
  Relay(PollLoop* loop, BridgeOptions options, AgentProcess agent,
        Descriptors descriptors);

  // Returns when everything has ended: the agent's exit code, or 128 plus the
  // number of the signal that ended it. If the server does not answer, calls
  // may still be under way: do not destroy the relay, but end the process.
  int Run();

 private:
  void Watch(std::vector<pollfd>& polls);
  void React(const std::vector<pollfd>& polls);
  // Writes what waits, as far as the descriptors take it.
  void Write();
  bool IsDone() const;

  void ReadClient();
  void ReadAgent();
  void WriteClient();
  void WriteAgent();
  // Ends the client's side, at least as far as `side`.
  void EndClient(ClientSide side);
  void EndAgentOutput();

  // Makes every change of phase and does what the new phase needs.
  void Apply(RelayEvent event);
  void BeginClosing();
  void BeginDraining();
  void BeginFlushing();
  void LimitFlush();
  // Runs `action` later, if the phase is then still the same.
  void Later(absl::Duration delay, PollLoop::Action action);

  PollLoop* const loop_;
  AgentProcess agent_;
  const Descriptors descriptors_;
  OutputQueue to_client_;
  OutputQueue to_agent_;
  LineSplitter from_client_{kMaxLineBytes};
  LineSplitter from_agent_{kMaxLineBytes};
  Bridge bridge_;

  RelayPhase phase_ = RelayPhase::kRunning;
  ClientSide client_ = ClientSide::kOpen;
  int agent_status_ = 0;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_RELAY_H_
