// The Model Context Protocol: answers the messages of one client.

#ifndef BRIDGE_MCP_PROTOCOL_MCP_SERVER_H_
#define BRIDGE_MCP_PROTOCOL_MCP_SERVER_H_

#include <deque>
#include <functional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/jsonrpc/message.h"
#include "bridge/mcp/protocol/era.h"
#include "bridge/mcp/protocol/waits.h"
#include "bridge/mcp/tools/tools.h"
#include "sandbox/base/mutex.h"

namespace bridge {

// Receive() and Finish() belong to one thread. Tool calls run on another
// thread, in their order; all else is answered at once, so that a slow server
// delays no ping. A call that waits for a program leaves that thread.
class McpServer {
 public:
  // `send` gets lines to send, each with its newline, on any thread, one at a
  // time. `tools` must outlive this object; it is used by the thread for calls.
  McpServer(Tools* tools, std::function<void(const std::string& line)> send);
  // Drops the calls that have not begun.
  ~McpServer();

  // One message of the client, without its newline.
  void Receive(absl::string_view line);

  // Returns when all calls received so far are answered, except those that wait
  // for a program.
  void Finish() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Call {
    std::string id;  // as written
    RequestMeta meta;
    std::string tool;
    OrderedJson arguments;
  };

  void Send(const std::string& line) ABSL_LOCKS_EXCLUDED(send_mutex_);
  void OnRequest(const Message& message);
  void OnNotification(const Message& message);
  void CallTool(const std::string& id, const RequestMeta& meta,
                const OrderedJson& params);
  void Reply(const std::string& id, const RequestMeta& meta,
             OrderedJson result);
  void Refuse(absl::string_view id, ErrorCode code, const std::string& message);

  void Run();
  void Carry(const Call& call);
  void SendProgress(const OrderedJson& token, int seconds);

  Tools* const tools_;
  const std::function<void(const std::string&)> send_;
  sandbox::Mutex send_mutex_;
  // An `initialize` has begun a session.
  bool has_session_ = false;

  sandbox::Mutex mutex_;
  std::deque<Call> calls_ ABSL_GUARDED_BY(mutex_);
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  Waits waits_;
  std::thread thread_;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_PROTOCOL_MCP_SERVER_H_
