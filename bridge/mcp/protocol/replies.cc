#include "bridge/mcp/protocol/replies.h"

#include "absl/strings/str_cat.h"
#include "bridge/jsonrpc/response.h"
#include "sandbox/base/version.h"

namespace bridge {
namespace {

constexpr char kName[] = "corral-mcp";

void SendProgress(const OrderedJson& token, int seconds,
                  ReplyChannel* channel) {
  if (token.is_null()) {
    return;
  }
  const OrderedJson notification = {
      {"jsonrpc", "2.0"},
      {"method", "notifications/progress"},
      {"params", {{"progressToken", token}, {"progress", seconds}}}};
  channel->Send(absl::StrCat(SerializeOrdered(notification), "\n"));
}

}  // namespace

OrderedJson ServerInfo() {
  return {{"name", kName},
          {"title", "Corral terminal"},
          {"version", sandbox::kVersion}};
}

void Reply(const std::string& id, const RequestMeta& meta,
           ReplyChannel* channel, OrderedJson result, const char* type) {
  if (meta.era == Era::kStateless) {
    result["resultType"] = type;
    result["_meta"] = {{"io.modelcontextprotocol/serverInfo", ServerInfo()}};
  }
  channel->Send(OrderedResultLine(id, result));
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

Waits::Callbacks CallbacksOf(const std::shared_ptr<ReplyChannel>& channel,
                             const OrderedJson& progress_token) {
  Waits::Callbacks callbacks;
  callbacks.progress = [channel, progress_token](int seconds) {
    SendProgress(progress_token, seconds, channel.get());
  };
  callbacks.is_abandoned = [channel] { return channel->IsAbandoned(); };
  return callbacks;
}

}  // namespace bridge
