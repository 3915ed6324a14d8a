// The tools, by name.

#ifndef BRIDGE_MCP_TOOLS_TOOLS_H_
#define BRIDGE_MCP_TOOLS_TOOLS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/mcp/recording/recorder.h"
#include "bridge/mcp/terminal/terminal.h"
#include "bridge/mcp/terminal/terminals.h"
#include "bridge/mcp/tools/arguments.h"
#include "bridge/mcp/tools/tool_result.h"

namespace bridge {

// Not thread-safe: calls run one after another. None waits for a program in a
// terminal.
class Tools {
 public:
  // Both must outlive this object.
  Tools(Terminals* terminals, Recorder* recorder);

  bool Has(const std::string& name) const { return tools_.count(name) > 0; }
  // `name` must be known.
  ToolResult Call(const std::string& name, const OrderedJson& arguments);

 private:
  using Result = absl::StatusOr<ToolResult>;

  Result Type(const Arguments& arguments);
  Result SendKey(const Arguments& arguments);
  Result GetContent(const Arguments& arguments);
  Result TakeScreenshot(const Arguments& arguments);
  Result Clear(const Arguments& arguments);
  Result StartRecording(const Arguments& arguments);
  Result StopRecording(const Arguments& arguments);
  Result CreateSession(const Arguments& arguments);
  Result ListSessions(const Arguments& arguments);
  Result DestroySession(const Arguments& arguments);

  // The terminal that the argument sessionId names.
  absl::StatusOr<std::shared_ptr<Terminal>> Find(const Arguments& arguments);

  Terminals* const terminals_;
  Recorder* const recorder_;
  std::map<std::string, Result (Tools::*)(const Arguments&)> tools_;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_TOOLS_TOOLS_H_
