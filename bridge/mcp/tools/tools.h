// The tools, by name.

#ifndef BRIDGE_MCP_TOOLS_TOOLS_H_
#define BRIDGE_MCP_TOOLS_TOOLS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/mcp/recording/recorder.h"
#include "bridge/mcp/terminal/terminal.h"
#include "bridge/mcp/terminal/terminals.h"
#include "bridge/mcp/tools/arguments.h"
#include "bridge/mcp/tools/tool_result.h"
#include "bridge/mcp/tools/waiting.h"
#include "sandbox/base/mutex.h"

namespace bridge {

// Thread-safe: calls run one after another. Waits that they return may run at
// any time, on any thread, and outlive this object.
class Tools {
 public:
  // Both must outlive this object.
  Tools(Terminals* terminals, Recorder* recorder);

  bool Has(const std::string& name) const {
    return tools_.count(name) > 0 || waiting_tools_.count(name) > 0;
  }
  // Calls a tool; `name` must be known. Does not wait for a program; the
  // outcome may.
  ToolOutcome Call(const std::string& name, const OrderedJson& arguments)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Result = absl::StatusOr<ToolResult>;
  using Outcome = absl::StatusOr<ToolOutcome>;

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

  Result ReadOutput(const Arguments& arguments);
  Result Resize(const Arguments& arguments);
  Result Signal(const Arguments& arguments);
  Outcome Run(const Arguments& arguments);
  Outcome Wait(const Arguments& arguments);

  // The terminal that the argument sessionId names.
  absl::StatusOr<std::shared_ptr<Terminal>> Find(const Arguments& arguments);

  // Held during each call, because the terminals are not thread-safe.
  sandbox::Mutex mutex_;
  Terminals* const terminals_;
  Recorder* const recorder_;
  std::map<std::string, Result (Tools::*)(const Arguments&)> tools_;
  std::map<std::string, Outcome (Tools::*)(const Arguments&)> waiting_tools_;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_TOOLS_TOOLS_H_
