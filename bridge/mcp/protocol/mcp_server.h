// The Model Context Protocol: answers the messages of one client.

#ifndef BRIDGE_MCP_PROTOCOL_MCP_SERVER_H_
#define BRIDGE_MCP_PROTOCOL_MCP_SERVER_H_

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/jsonrpc/message.h"
#include "bridge/mcp/gate/tool_gate.h"
#include "bridge/mcp/protocol/approvals.h"
#include "bridge/mcp/protocol/era.h"
#include "bridge/mcp/protocol/reply_channel.h"
#include "bridge/mcp/protocol/waits.h"
#include "bridge/mcp/tools/tools.h"
#include "sandbox/base/mutex.h"

namespace bridge {

// Receive() and Finish() are called one at a time. Tool calls run on a thread
// of their own, in their order; all else is answered at once, so that a slow
// server delays no ping. A call that waits for a program leaves that thread.
class McpServer {
 public:
  using Channel = std::shared_ptr<ReplyChannel>;

  // Both must outlive this object. `tools` is used by the thread for calls.
  // `now` reads the clock, on any thread.
  McpServer(
      Tools* tools, ToolGate* gate,
      const std::function<Waits::Clock::time_point()>& now = Waits::Clock::now);
  // Drops the calls that have not begun.
  ~McpServer();

  // Handles one message of the client, without its newline. Answers go to
  // `channel`, on any thread.
  void Receive(absl::string_view line, const Channel& channel);

  // Returns when all calls received so far are answered, except those that wait
  // for a program.
  void Finish() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // A request that is being answered.
  struct Request {
    std::string id;  // as written
    RequestMeta meta;
    Channel channel;
  };
  struct Call {
    Request request;
    std::string tool;
    OrderedJson arguments;
    // Present if the call runs a command.
    std::optional<ToolGate::Case> gated = {};
  };

  void OnRequest(const Message& message, const Channel& channel);
  void OnNotification(const Message& message);
  void Answer(const Request& request, const std::string& method,
              const OrderedJson& params);
  void CallTool(const Request& request, const OrderedJson& params);
  // Asks the user whether the call may run.
  void Ask(const Call& call, const OrderedJson& params);
  void AskInSession(const Call& call, const std::string& text);
  void OnAnswer(const Call& call, Approvals::Answer answer);
  // Carries a decision out. `by`: who decided. `reason`: why the call is
  // refused.
  void Settle(const Call& call, bool allowed, const std::string& by,
              const std::string& reason);
  void Enqueue(const Call& call) ABSL_LOCKS_EXCLUDED(mutex_);

  void Run();
  void Carry(Call call);

  Tools* const tools_;
  ToolGate* const gate_;
  // True once an `initialize` has begun a session.
  bool has_session_ = false;
  // True if the session's client can show forms.
  bool can_ask_ = false;
  Approvals approvals_;

  sandbox::Mutex mutex_;
  std::deque<Call> calls_ ABSL_GUARDED_BY(mutex_);
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // Commands that the user has allowed for the session.
  std::set<std::vector<std::string>> remembered_ ABSL_GUARDED_BY(mutex_);
  Waits waits_;
  std::thread thread_;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_PROTOCOL_MCP_SERVER_H_
