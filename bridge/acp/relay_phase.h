// The rules of a relay as pure functions: what it reads, and how it ends.
//
//             kClientEnded             kAgentEnded
//   kRunning -------------> kClosing --------------+
//      | kAgentEnded                               v
//      +---------------------------------------> kDraining
//                                                  | kAgentSilent
//                              kServerSilent       v
//                 kLeaving <------------------ kFlushing
//
// If the agent's output has already ended when the agent does, kAgentEnded
// leads to kFlushing at once: nothing is left to drain.

#ifndef BRIDGE_ACP_RELAY_PHASE_H_
#define BRIDGE_ACP_RELAY_PHASE_H_

#include <cstddef>

namespace bridge {

enum class RelayPhase {
  kRunning,   // both sides may talk
  kClosing,   // nothing more comes from the client; the agent must end
  kDraining,  // the agent has ended; what it wrote is still read
  kFlushing,  // what the agent wrote goes to the client; sandboxes are deleted
  kLeaving,   // the same, but nothing waits for the server any more
};

enum class RelayEvent {
  kClientEnded,   // the client closed its side, or a signal asks us to end
  kAgentEnded,    // the agent's process has ended
  kAgentSilent,   // the agent's output has ended, or was given up
  kServerSilent,  // the server had enough time to delete the sandboxes
};

// The state of the agent's standard output: kEnded once the agent cannot write
// any more.
enum class AgentOutput { kOpen, kEnded };

// `output` is the state of the agent's output after the event.
RelayPhase NextPhase(RelayPhase phase, RelayEvent event, AgentOutput output);

// The states of the client's side, in this order; it never goes back.
enum class ClientSide {
  kOpen,
  kEnded,      // nothing more is read from the client
  kAbandoned,  // nothing is written to it either
};

// Back-pressure: a queue of this size is not fed any more. Lines of the client
// and answers to the agent go to the agent; lines of the agent go to the client
// or cause answers to the agent.
constexpr size_t kMaxQueueBytes = 64 << 20;

bool ReadsClient(ClientSide client, size_t bytes_to_agent);

// Returns true if the agent's output may be read now. The last output of an
// agent that has ended is read in any case; it is no more than a pipe holds.
bool ReadsAgent(RelayPhase phase, size_t bytes_to_agent,
                size_t bytes_to_client);

}  // namespace bridge

#endif  // BRIDGE_ACP_RELAY_PHASE_H_
