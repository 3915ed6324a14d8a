#include "bridge/acp/relay_phase.h"

namespace bridge {

RelayPhase NextPhase(RelayPhase phase, RelayEvent event, AgentOutput output) {
  switch (phase) {
    case RelayPhase::kRunning:
    case RelayPhase::kClosing:
      switch (event) {
        case RelayEvent::kClientEnded:
          return RelayPhase::kClosing;
        case RelayEvent::kAgentEnded:
          return output == AgentOutput::kOpen ? RelayPhase::kDraining
                                              : RelayPhase::kFlushing;
        case RelayEvent::kAgentSilent:
        case RelayEvent::kServerSilent:
          return phase;
      }
      return phase;
    case RelayPhase::kDraining:
      return event == RelayEvent::kAgentSilent ? RelayPhase::kFlushing : phase;
    case RelayPhase::kFlushing:
      return event == RelayEvent::kServerSilent ? RelayPhase::kLeaving : phase;
    case RelayPhase::kLeaving:
      return phase;
  }
  return phase;
}

bool ReadsClient(ClientSide client, size_t bytes_to_agent) {
  return client == ClientSide::kOpen && bytes_to_agent < kMaxQueueBytes;
}

bool ReadsAgent(RelayPhase phase, size_t bytes_to_agent,
                size_t bytes_to_client) {
  return phase == RelayPhase::kDraining ||
         (bytes_to_agent < kMaxQueueBytes && bytes_to_client < kMaxQueueBytes);
}

}  // namespace bridge
