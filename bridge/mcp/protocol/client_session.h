// All that one client has: the state of the protocol, terminals, recordings.

#ifndef BRIDGE_MCP_PROTOCOL_CLIENT_SESSION_H_
#define BRIDGE_MCP_PROTOCOL_CLIENT_SESSION_H_

#include "bridge/mcp/protocol/mcp_server.h"
#include "bridge/mcp/recording/recorder.h"
#include "bridge/mcp/terminal/terminals.h"
#include "bridge/mcp/tools/tools.h"

namespace bridge {

// Makes nothing on the server before the first tool call. Its end deletes what
// was made, and saves a recording that runs.
class ClientSession {
 public:
  explicit ClientSession(const TerminalsOptions& options)
      : recorder_(options.shell.columns, options.shell.rows),
        terminals_(options, &recorder_),
        tools_(&terminals_, &recorder_),
        server_(&tools_) {}

  McpServer& server() { return server_; }
  Recorder& recorder() { return recorder_; }

 private:
  Recorder recorder_;
  Terminals terminals_;
  Tools tools_;
  McpServer server_;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_PROTOCOL_CLIENT_SESSION_H_
