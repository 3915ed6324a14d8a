#ifndef BRIDGE_ACP_DOCTOR_DOCTOR_H_
#define BRIDGE_ACP_DOCTOR_DOCTOR_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "bridge/acp/doctor/trial.h"
#include "bridge/client/connection.h"
#include "corral/v1/sandbox.pb.h"

namespace bridge {

// The set-up that corral-acp would use.
struct Checkup {
  client::ConnectOptions server;
  // The sandbox of a session in this directory, as the server has it.
  corral::v1::Sandbox sandbox;
  // The agent's command; empty: none was given, and it is not checked.
  std::vector<std::string> agent;
  // The command for mirror terminals; empty: there is none.
  std::vector<std::string> attach;
  // Set for an agent that runs in the sandbox: its program alone, and the
  // variables that it gets.
  std::optional<Trial> inside = std::nullopt;
};

// Checks everything that corral-acp needs: agent, server, isolation, sandbox,
// workspace, and that a command runs. With `inside` also the mounts of the
// sandbox, its ways out, and that the agent's program runs there. Calls `print`
// with a line for each check, "ok    NAME: what was found" or "FAIL  NAME: what
// is wrong; what to do". Returns true if every check passed. Blocks, for some
// seconds if the server hangs, and for up to a minute in the checks for an
// agent inside. Leaves nothing behind.
bool Examine(const Checkup& checkup,
             absl::FunctionRef<void(absl::string_view line)> print);

}  // namespace bridge

#endif  // BRIDGE_ACP_DOCTOR_DOCTOR_H_
