// A server of MCP whose calls rules decide about. Without a corrald: a command
// that may run fails for that alone.

#ifndef BRIDGE_MCP_PROTOCOL_GATED_CALLS_FIXTURE_H_
#define BRIDGE_MCP_PROTOCOL_GATED_CALLS_FIXTURE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "bridge/gate/audit_log.h"
#include "bridge/gate/gate_rules.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/mcp/gate/tool_gate.h"
#include "bridge/mcp/protocol/mcp_server.h"
#include "bridge/mcp/protocol/reply_channel.h"
#include "bridge/mcp/protocol/waits.h"
#include "bridge/mcp/recording/recorder.h"
#include "bridge/mcp/terminal/terminals.h"
#include "bridge/mcp/tools/tools.h"
#include "gtest/gtest.h"
#include "sandbox/base/mutex.h"

namespace bridge {

// Messages to a client. Thread-safe.
class Messages : public ReplyChannel {
 public:
  void Send(const std::string& line) override {
    sandbox::MutexLock lock(&mutex_);
    messages_.push_back(ParseOrderedJson(line).value());
    mutex_.Signal();
  }
  bool IsAbandoned() override { return false; }

  // The next message that was not taken yet.
  OrderedJson Take() {
    sandbox::MutexLock lock(&mutex_);
    mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !messages_.empty();
    });
    OrderedJson message = messages_.front();
    messages_.erase(messages_.begin());
    return message;
  }

 private:
  sandbox::Mutex mutex_;
  std::vector<OrderedJson> messages_ ABSL_GUARDED_BY(mutex_);
};

class GatedCallsTest : public ::testing::Test {
 protected:
  static TerminalsOptions NoServer() {
    TerminalsOptions options;
    options.sandbox.server.server = "unix:/nonexistent/socket";
    return options;
  }

  void Make(const std::string& rules, const std::string& audit = "") {
    server_.reset();
    gate_ = std::make_unique<ToolGate>(
        *GateRules::Parse("rules", rules),
        audit.empty() ? AuditLog() : *AuditLog::Open(audit), "/bin/bash");
    server_ = std::make_unique<McpServer>(&tools_, gate_.get(), now_);
  }

  void Send(const std::string& method, const std::string& params) {
    server_->Receive(absl::StrCat(R"({"jsonrpc":"2.0","id":7,"method":")",
                                  method, R"(","params":)", params, "}"),
                     channel_);
  }

  void Initialize(const std::string& capabilities) {
    Send("initialize",
         absl::StrCat(R"({"protocolVersion":"2025-11-25","capabilities":)",
                      capabilities, "}"));
    channel_->Take();
  }

  void Run(const std::string& more = "") {
    Send("tools/call",
         absl::StrCat(R"({"name":"run","arguments":{"command":"make"})", more,
                      "}"));
  }

  // Answers a question of the server.
  void Respond(const OrderedJson& question, const std::string& result) {
    server_->Receive(absl::StrCat(R"({"jsonrpc":"2.0","id":)",
                                  SerializeOrdered(question["id"]),
                                  R"(,"result":)", result, "}"),
                     channel_);
  }

  // The text of the next result.
  std::string Text() {
    const OrderedJson result = channel_->Take()["result"];
    EXPECT_EQ(result["isError"], true);
    return result["content"][0]["text"];
  }

  // The clock of the server that Make() makes.
  std::function<Waits::Clock::time_point()> now_ = Waits::Clock::now;
  Recorder recorder_{80, 24};
  Terminals terminals_{NoServer(), &recorder_};
  Tools tools_{&terminals_, &recorder_};
  std::shared_ptr<Messages> channel_ = std::make_shared<Messages>();
  std::unique_ptr<ToolGate> gate_;
  std::unique_ptr<McpServer> server_;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_PROTOCOL_GATED_CALLS_FIXTURE_H_
