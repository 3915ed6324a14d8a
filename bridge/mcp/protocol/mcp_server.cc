#include "bridge/mcp/protocol/mcp_server.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bridge/jsonrpc/response.h"
#include "bridge/mcp/protocol/prompts.h"
#include "bridge/mcp/protocol/surrogates.h"
#include "bridge/mcp/tools/tool_list.h"
#include "sandbox/base/version.h"

namespace bridge {
namespace {

using sandbox::MutexLock;

constexpr char kName[] = "corral-mcp";

OrderedJson ServerInfo() {
  return {{"name", kName},
          {"title", "Corral terminal"},
          {"version", sandbox::kVersion}};
}

OrderedJson Capabilities() {
  return {{"tools", OrderedJson::object()}, {"prompts", OrderedJson::object()}};
}

OrderedJson Initialized(const OrderedJson& params) {
  return {{"protocolVersion", NegotiateRevision(params)},
          {"capabilities", Capabilities()},
          {"serverInfo", ServerInfo()},
          {"instructions", Instructions()}};
}

// The answer of a call that lists what never changes.
OrderedJson Lasting(OrderedJson result, Era era) {
  if (era == Era::kStateless) {
    result["ttlMs"] = 3'600'000;
    result["cacheScope"] = "public";
  }
  return result;
}

OrderedJson Discovered() {
  return {{"supportedVersions", OrderedJson::array({kStatelessRevision})},
          {"capabilities", Capabilities()},
          {"instructions", Instructions()}};
}

OrderedJson ToJson(const ToolResult& result) {
  OrderedJson json = {{"content", result.content}};
  if (result.structured.has_value()) {
    json["structuredContent"] = *result.structured;
  }
  if (result.is_error) {
    json["isError"] = true;
  }
  return json;
}

}  // namespace

McpServer::McpServer(Tools* tools,
                     std::function<void(const std::string& line)> send)
    : tools_(tools), send_(std::move(send)), thread_([this] { Run(); }) {}

McpServer::~McpServer() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    calls_.clear();
    mutex_.Signal();
  }
  thread_.join();
}

void McpServer::Finish() {
  MutexLock lock(&mutex_);
  mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return calls_.empty() && !busy_;
  });
}

void McpServer::Send(const std::string& line) {
  MutexLock lock(&send_mutex_);
  send_(line);
}

void McpServer::Refuse(absl::string_view id, ErrorCode code,
                       const std::string& message) {
  Send(ErrorLine(id, {code, message, {}}));
}

void McpServer::Reply(const std::string& id, const RequestMeta& meta,
                      OrderedJson result) {
  if (meta.era == Era::kStateless) {
    result["resultType"] = "complete";
    result["_meta"] = {{"io.modelcontextprotocol/serverInfo", ServerInfo()}};
  }
  Send(OrderedResultLine(id, result));
}

void McpServer::Receive(absl::string_view line) {
  if (line.find_first_not_of(" \t\r") == line.npos) {
    return;
  }
  const std::string repaired = ReplaceLoneSurrogates(line);
  const Message message = Message::Classify(repaired);
  switch (message.kind()) {
    case Message::Kind::kRequest:
      OnRequest(message);
      return;
    case Message::Kind::kNotification:
      OnNotification(message);
      return;
    case Message::Kind::kResponse:
      return;  // to nothing that was asked
    case Message::Kind::kBatch:
    case Message::Kind::kBroken:
    case Message::Kind::kOther:
      if (IsJson(repaired)) {
        Refuse("null", ErrorCode::kInvalidRequest,
               "Invalid Request: one JSON-RPC object per line is expected");
      } else {
        Refuse("null", ErrorCode::kParseError, "Parse error: not valid JSON");
      }
      return;
  }
}

void McpServer::OnRequest(const Message& message) {
  const std::string id(message.id());
  if (id == "null") {
    Refuse(id, ErrorCode::kInvalidRequest, "Invalid Request: the id is null");
    return;
  }
  const OrderedJson params =
      ParseOrderedJson(message.params()).value_or(OrderedJson());
  RequestMeta meta;
  const std::optional<Error> bad = ReadMeta(params, &meta);
  if (bad.has_value()) {
    Send(ErrorLine(id, *bad));
    return;
  }
  const std::string& method = message.method();
  const bool stateless = meta.era == Era::kStateless;
  if (method == "tools/call") {
    CallTool(id, meta, params);
  } else if (method == "tools/list") {
    Reply(id, meta, Lasting({{"tools", ToolList()}}, meta.era));
  } else if (method == "prompts/list") {
    Reply(id, meta, Lasting({{"prompts", PromptList()}}, meta.era));
  } else if (method == "prompts/get") {
    const OrderedJson prompt = GetPrompt(params);
    if (prompt.is_null()) {
      Refuse(id, ErrorCode::kInvalidParams, "Unknown prompt");
    } else {
      Reply(id, meta, prompt);
    }
  } else if (method == "initialize" && !stateless) {
    has_session_ = true;
    Reply(id, meta, Initialized(params));
  } else if (method == "ping" && !stateless) {
    Reply(id, meta, OrderedJson::object());
  } else if (method == "server/discover" && stateless && !has_session_) {
    Reply(id, meta, Lasting(Discovered(), meta.era));
  } else {
    Refuse(id, ErrorCode::kMethodNotFound, "Method not found");
  }
}

void McpServer::OnNotification(const Message& message) {
  if (message.method() != "notifications/cancelled") {
    return;
  }
  const OrderedJson params =
      ParseOrderedJson(message.params()).value_or(OrderedJson());
  if (!params.is_object() || !params.contains("requestId")) {
    return;
  }
  const std::string id = CanonicalId(SerializeOrdered(params["requestId"]));
  waits_.Cancel(id);
  // A call that runs on the thread for calls ends soon.
  MutexLock lock(&mutex_);
  calls_.erase(std::remove_if(calls_.begin(), calls_.end(),
                              [&](const Call& call) {
                                return CanonicalId(call.id) == id;
                              }),
               calls_.end());
}

void McpServer::CallTool(const std::string& id, const RequestMeta& meta,
                         const OrderedJson& params) {
  const OrderedJson name =
      params.is_object() ? params.value("name", OrderedJson()) : OrderedJson();
  if (!name.is_string()) {
    Refuse(id, ErrorCode::kInvalidParams,
           "Invalid params: \"name\" must be a string");
    return;
  }
  const auto tool = name.get<std::string>();
  if (!tools_->Has(tool)) {
    Refuse(id, ErrorCode::kInvalidParams, absl::StrCat("Unknown tool: ", tool));
    return;
  }
  MutexLock lock(&mutex_);
  calls_.push_back({id, meta, tool, params.value("arguments", OrderedJson())});
  mutex_.Signal();
}

void McpServer::Run() {
  while (true) {
    Call call;
    {
      MutexLock lock(&mutex_);
      busy_ = false;
      mutex_.Signal();
      mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopping_ || !calls_.empty();
      });
      if (stopping_) {
        return;
      }
      call = std::move(calls_.front());
      calls_.pop_front();
      busy_ = true;
    }
    Carry(call);
  }
}

void McpServer::Carry(const Call& call) {
  ToolOutcome outcome = tools_->Call(call.tool, call.arguments);
  if (outcome.wait == nullptr) {
    Reply(call.id, call.meta, ToJson(outcome.result));
    return;
  }
  Waits::Callbacks callbacks;
  callbacks.progress = [this, token = call.meta.progress_token](int seconds) {
    SendProgress(token, seconds);
  };
  callbacks.done = [this, id = call.id,
                    meta = call.meta](const ToolResult& result) {
    Reply(id, meta, ToJson(result));
  };
  if (!waits_.Start(CanonicalId(call.id), std::move(outcome.wait),
                    std::move(callbacks))) {
    Reply(call.id, call.meta,
          ToJson(ToolResult::Failure("Error: too many calls wait already")));
  }
}

void McpServer::SendProgress(const OrderedJson& token, int seconds) {
  if (token.is_null()) {
    return;
  }
  const OrderedJson notification = {
      {"jsonrpc", "2.0"},
      {"method", "notifications/progress"},
      {"params", {{"progressToken", token}, {"progress", seconds}}}};
  Send(absl::StrCat(SerializeOrdered(notification), "\n"));
}

}  // namespace bridge
