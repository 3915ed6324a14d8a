#ifndef BRIDGE_ACP_DOCTOR_DOCTOR_H_
#define BRIDGE_ACP_DOCTOR_DOCTOR_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
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
};

// Checks everything that corral-acp needs: agent, server, isolation, sandbox,
// workspace, and that a command runs. Calls `print` with a line for each check,
// "ok    NAME: what was found" or "FAIL  NAME: what is wrong; what to do".
// Returns whether all is well. Blocks, for some seconds if the server hangs;
// leaves nothing behind.
bool Examine(const Checkup& checkup,
             absl::FunctionRef<void(absl::string_view line)> print);

}  // namespace bridge

#endif  // BRIDGE_ACP_DOCTOR_DOCTOR_H_
