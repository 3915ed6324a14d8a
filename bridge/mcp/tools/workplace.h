// Terminals, the tools that use them, and the recordings of them.

#ifndef BRIDGE_MCP_TOOLS_WORKPLACE_H_
#define BRIDGE_MCP_TOOLS_WORKPLACE_H_

#include "bridge/mcp/recording/recorder.h"
#include "bridge/mcp/terminal/terminals.h"
#include "bridge/mcp/tools/tools.h"

namespace bridge {

// Belongs to one client, or to all clients of a sandbox with a name. Makes
// nothing on the server before the first tool call. The destructor deletes what
// was made, and saves a recording that runs.
class Workplace {
 public:
  explicit Workplace(const TerminalsOptions& options)
      : recorder_(options.shell.columns, options.shell.rows),
        terminals_(options, &recorder_),
        tools_(&terminals_, &recorder_) {}

  // Thread-safe.
  Tools& tools() { return tools_; }
  Recorder& recorder() { return recorder_; }

 private:
  Recorder recorder_;
  Terminals terminals_;
  Tools tools_;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_TOOLS_WORKPLACE_H_
