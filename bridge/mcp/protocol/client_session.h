// The session of one client: the state of the protocol, and a workplace.

#ifndef BRIDGE_MCP_PROTOCOL_CLIENT_SESSION_H_
#define BRIDGE_MCP_PROTOCOL_CLIENT_SESSION_H_

#include <memory>
#include <utility>

#include "bridge/mcp/gate/tool_gate.h"
#include "bridge/mcp/protocol/mcp_server.h"
#include "bridge/mcp/terminal/terminals.h"
#include "bridge/mcp/tools/workplace.h"

namespace bridge {

struct ClientOptions {
  TerminalsOptions terminals;
  // Shared by all clients; never null.
  std::shared_ptr<ToolGate> gate;
};

class ClientSession {
 public:
  // `workplace`: may be shared with other clients.
  ClientSession(const ClientOptions& options,
                std::shared_ptr<Workplace> workplace)
      : gate_(options.gate),
        workplace_(std::move(workplace)),
        server_(&workplace_->tools(), gate_.get()) {}

  McpServer& server() { return server_; }

 private:
  const std::shared_ptr<ToolGate> gate_;
  const std::shared_ptr<Workplace> workplace_;
  McpServer server_;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_PROTOCOL_CLIENT_SESSION_H_
