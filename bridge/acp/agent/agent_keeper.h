// The keeper: a process between corral-acp and the agent, so that no process of
// the agent outlives corral-acp, however that ends.
//
//   corral-acp --fork--> keeper --fork, exec--> agent --> its children
//       |____socket________|
//
// corral-acp sends requests over the socket, the keeper sends reports. When
// corral-acp closes its end, or dies, even by SIGKILL, the keeper kills every
// descendant and exits. It sees all of them, also those with a session of their
// own, because it is a child subreaper (PR_SET_CHILD_SUBREAPER): a descendant
// whose parent dies becomes the keeper's child.
//
// A corrald that the agent started, and its supervisors, are spared: other
// clients may use them, and they are made to outlive their starter.

#ifndef BRIDGE_ACP_AGENT_AGENT_KEEPER_H_
#define BRIDGE_ACP_AGENT_AGENT_KEEPER_H_

namespace bridge {

// From the keeper to corral-acp, one packet each.
struct KeeperReport {
  enum class Kind {
    kStarted,     // exec succeeded
    kNotStarted,  // value: errno; the keeper exits
    kEnded,       // value: wait status of the agent; at most once
  };
  Kind kind;
  int value;
};

// From corral-acp to the keeper, one packet each.
enum class KeeperRequest {
  kTerminate,  // SIGTERM to the agent's process group, if the agent is alive
  kKill,       // SIGKILL to every descendant
};

// All descriptors are inherited from the process that forks the keeper.
struct KeptAgent {
  int socket;  // SOCK_SEQPACKET, the keeper's end
  int input;   // the agent's standard input
  int output;  // the agent's standard output
  char* const* argv;
};

// Runs in a child that was just forked. Uses raw system calls only, since other
// threads may have held locks at the fork.
[[noreturn]] void KeepAgent(const KeptAgent& agent);

}  // namespace bridge

#endif  // BRIDGE_ACP_AGENT_AGENT_KEEPER_H_
