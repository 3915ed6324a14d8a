#include "bridge/mcp/protocol/mcp_server.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bridge/jsonrpc/response.h"
#include "bridge/mcp/protocol/prompts.h"
#include "bridge/mcp/protocol/replies.h"
#include "bridge/mcp/protocol/surrogates.h"
#include "bridge/mcp/tools/tool_list.h"

namespace bridge {
namespace {

using sandbox::MutexLock;

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

void Refuse(absl::string_view id, ReplyChannel* channel, ErrorCode code,
            const std::string& message) {
  channel->Send(ErrorLine(id, {code, message, {}}));
}

}  // namespace

McpServer::McpServer(Tools* tools, ToolGate* gate,
                     const std::function<Waits::Clock::time_point()>& now)
    : tools_(tools),
      gate_(gate),
      approvals_(now),
      waits_(now),
      thread_(&McpServer::Run, this) {}

McpServer::~McpServer() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
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

void McpServer::Receive(absl::string_view line, const Channel& channel) {
  if (line.find_first_not_of(" \t\r") == line.npos) {
    return;
  }
  const std::string repaired = ReplaceLoneSurrogates(line);
  const Message message = Message::Classify(repaired);
  switch (message.kind()) {
    case Message::Kind::kRequest:
      OnRequest(message, channel);
      return;
    case Message::Kind::kNotification:
      OnNotification(message);
      return;
    case Message::Kind::kResponse:
      approvals_.OnResponse(message);
      return;
    case Message::Kind::kBatch:
    case Message::Kind::kBroken:
    case Message::Kind::kOther:
      channel->Send(ErrorLine(
          "null", IsJson(repaired)
                      ? Error{ErrorCode::kInvalidRequest,
                              "Invalid Request: one JSON-RPC object per "
                              "message is expected",
                              {}}
                      : Error{ErrorCode::kParseError,
                              "Parse error: not valid JSON",
                              {}}));
      return;
  }
}

void McpServer::OnRequest(const Message& message, const Channel& channel) {
  Request request = {std::string(message.id()), {}, channel};
  if (request.id == "null") {
    Refuse(request.id, channel.get(), ErrorCode::kInvalidRequest,
           "Invalid Request: the id is null");
    return;
  }
  const OrderedJson params =
      ParseOrderedJson(message.params()).value_or(OrderedJson());
  const std::optional<Error> bad = ReadMeta(params, &request.meta);
  if (bad.has_value()) {
    channel->Send(ErrorLine(request.id, *bad));
    return;
  }
  Answer(request, message.method(), params);
}

void McpServer::Answer(const Request& request, const std::string& method,
                       const OrderedJson& params) {
  const auto& [id, meta, channel] = request;
  const bool stateless = meta.era == Era::kStateless;
  if (method == "tools/call") {
    CallTool(request, params);
  } else if (method == "tools/list") {
    Reply(id, meta, channel.get(), Lasting({{"tools", ToolList()}}, meta.era));
  } else if (method == "prompts/list") {
    Reply(id, meta, channel.get(),
          Lasting({{"prompts", PromptList()}}, meta.era));
  } else if (method == "prompts/get") {
    const OrderedJson prompt = GetPrompt(params);
    if (prompt.is_null()) {
      Refuse(id, channel.get(), ErrorCode::kInvalidParams, "Unknown prompt");
    } else {
      Reply(id, meta, channel.get(), prompt);
    }
  } else if (method == "initialize" && !stateless) {
    has_session_ = true;
    can_ask_ = params.is_object() &&
               CanAsk(params.value("capabilities", OrderedJson()));
    Reply(id, meta, channel.get(), Initialized(params));
  } else if (method == "ping" && !stateless) {
    Reply(id, meta, channel.get(), OrderedJson::object());
  } else if (method == "server/discover" && stateless && !has_session_) {
    Reply(id, meta, channel.get(), Lasting(Discovered(), meta.era));
  } else {
    Refuse(id, channel.get(), ErrorCode::kMethodNotFound, "Method not found");
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
                                return CanonicalId(call.request.id) == id;
                              }),
               calls_.end());
}

void McpServer::CallTool(const Request& request, const OrderedJson& params) {
  const OrderedJson name =
      params.is_object() ? params.value("name", OrderedJson()) : OrderedJson();
  if (!name.is_string()) {
    Refuse(request.id, request.channel.get(), ErrorCode::kInvalidParams,
           "Invalid params: \"name\" must be a string");
    return;
  }
  const auto tool = name.get<std::string>();
  if (!tools_->Has(tool)) {
    Refuse(request.id, request.channel.get(), ErrorCode::kInvalidParams,
           absl::StrCat("Unknown tool: ", tool));
    return;
  }
  Call call = {request, tool, params.value("arguments", OrderedJson())};
  call.gated = gate_->Judge(tool, call.arguments);
  if (!call.gated.has_value()) {
    Enqueue(call);
    return;
  }
  const Ruling& ruling = call.gated->ruling;
  switch (ruling.decision) {
    case corral::config::v1::ALLOW:
      Settle(call, true, ruling.by, "");
      return;
    case corral::config::v1::ASK:
      Ask(call, params);
      return;
    default:
      Settle(call, false, ruling.by,
             ruling.reason.empty() ? "a rule of the user forbids it"
                                   : ruling.reason);
  }
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
    Carry(std::move(call));
  }
}

void McpServer::Carry(Call call) {
  const Request request = std::move(call.request);
  if (request.channel->IsAbandoned()) {
    return;
  }
  const auto reply = [request](const ToolResult& result) {
    Reply(request.id, request.meta, request.channel.get(), ToJson(result));
  };
  ToolOutcome outcome = tools_->Call(call.tool, call.arguments);
  if (outcome.wait == nullptr) {
    reply(outcome.result);
    return;
  }
  Waits::Callbacks callbacks =
      CallbacksOf(request.channel, request.meta.progress_token);
  callbacks.done = [this, reply, gated = call.gated,
                    execution = outcome.execution](const ToolResult& result) {
    if (gated.has_value() && result.structured.has_value()) {
      gate_->RecordEnd(*gated, *result.structured, execution);
    }
    reply(result);
  };
  callbacks.cancelled = [this, gated = call.gated,
                         execution = outcome.execution] {
    if (gated.has_value()) {
      gate_->RecordEnd(*gated, OrderedJson::object(), execution);
    }
  };
  if (!waits_.Start(CanonicalId(request.id), std::move(outcome.wait),
                    std::move(callbacks))) {
    reply(ToolResult::Failure("Error: too many calls wait already"));
  }
}

}  // namespace bridge
