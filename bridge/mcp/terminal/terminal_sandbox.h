// The sandbox in which the shells run.

#ifndef BRIDGE_MCP_TERMINAL_TERMINAL_SANDBOX_H_
#define BRIDGE_MCP_TERMINAL_TERMINAL_SANDBOX_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bridge/client/connection.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"

namespace bridge {

struct TerminalSandboxOptions {
  client::ConnectOptions server;
  // Describes the sandbox to make.
  corral::v1::Sandbox sandbox;
  // The name of a sandbox that exists; it is used, and not deleted. Empty: make
  // one.
  std::string existing;
  // The id of the sandbox to make or to find again, which outlives this object.
  // Empty: the sandbox ends with this object.
  std::string lasting_id;
};

// Connects, and makes the sandbox, when it is first needed. Not thread-safe.
class TerminalSandbox {
 public:
  explicit TerminalSandbox(TerminalSandboxOptions options)
      : options_(std::move(options)) {}
  // Deletes a sandbox that it made, unless that is lasting.
  ~TerminalSandbox();

  // Call it before the first use of the other functions.
  absl::Status Prepare();
  // Makes another sandbox in place of one that is gone: it has expired, or
  // somebody deleted it. Fails for an existing one.
  absl::Status Replace();

  bool lasting() const { return !options_.lasting_id.empty(); }
  client::Connection* connection() { return connection_.get(); }
  const std::string& name() const { return name_; }
  // The executions that run.
  absl::StatusOr<std::vector<corral::v1::Execution>> ListRunning();

 private:
  absl::Status Create();

  const TerminalSandboxOptions options_;
  std::unique_ptr<client::Connection> connection_;
  std::string name_;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_TERMINAL_TERMINAL_SANDBOX_H_
