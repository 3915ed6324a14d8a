#include "bridge/mcp/http/endpoint.h"

#include <chrono>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "bridge/jsonrpc/response.h"
#include "bridge/mcp/http/reply_stream.h"
#include "bridge/mcp/protocol/era.h"

namespace bridge {
namespace {

enum Status {
  kOk = 200,
  kAccepted = 202,
  kNoContent = 204,
  kBadRequest = 400,
  kUnauthorized = 401,
  kForbidden = 403,
  kNotFound = 404,
  kMethodNotAllowed = 405,
  kNotAcceptable = 406,
  kUnsupportedMediaType = 415,
  kUnavailable = 503,
};

constexpr char kJson[] = "application/json";
constexpr char kEvents[] = "text/event-stream";
constexpr char kSessionField[] = "Mcp-Session-Id";
// The error code that MCP adds for this transport.
constexpr int kHeaderMismatch = -32020;
// An answer that takes longer is sent as an event stream.
constexpr std::chrono::seconds kSoon(1);
// Proxies close streams that are silent for long.
constexpr std::chrono::seconds kKeepAlive(15);

HttpResponse JsonResponse(int status, std::string body) {
  return {status,
          {{"Content-Type", kJson}, {"Cache-Control", "no-store"}},
          std::move(body),
          nullptr};
}

HttpResponse Failure(int status, const Error& error,
                     absl::string_view id = "null") {
  return JsonResponse(status, ErrorLine(id, error));
}

HttpResponse Failure(int status, const std::string& message,
                     absl::string_view id = "null") {
  return Failure(status, Error{ErrorCode::kInvalidRequest, message, {}}, id);
}

HttpResponse NoSession() {
  return Failure(kNotFound,
                 "the session has ended; begin a new one with initialize");
}

bool Accepts(const HttpRequest& request, absl::string_view type) {
  const std::string accept = absl::AsciiStrToLower(request.Field("accept"));
  const absl::string_view family = type.substr(0, type.find('/') + 1);
  return accept.empty() || absl::StrContains(accept, type) ||
         absl::StrContains(accept, "*/*") ||
         absl::StrContains(accept, absl::StrCat(family, "*"));
}

bool IsAnswer(const std::string& line) {
  return Message::Classify(line).kind() == Message::Kind::kResponse;
}

// In the stateless era, an unknown method of MCP is also answered with 404.
int StatusOf(const std::string& answer, bool stateless) {
  if (!stateless) {
    return kOk;
  }
  const OrderedJson parsed = ParseOrderedJson(answer).value_or(OrderedJson());
  return parsed.is_object() && parsed.contains("error") &&
                 parsed["error"].value("code", 0) ==
                     static_cast<int>(ErrorCode::kMethodNotFound)
             ? kNotFound
             : kOk;
}

std::string Event(absl::string_view line) {
  return absl::StrCat("event: message\ndata: ",
                      absl::StripTrailingAsciiWhitespace(line), "\n\n");
}

// The reading end of a stream, which closes with the last owner.
class Reader {
 public:
  explicit Reader(std::shared_ptr<ReplyStream> stream)
      : stream_(std::move(stream)) {}
  ~Reader() { stream_->Close(); }
  ReplyStream* operator->() const { return stream_.get(); }

 private:
  const std::shared_ptr<ReplyStream> stream_;
};

HttpResponse EventStream(const std::shared_ptr<Reader>& reader,
                         const std::optional<std::string>& first) {
  HttpResponse response;
  response.fields = {{"Content-Type", kEvents},
                     {"Cache-Control", "no-store"},
                     {"X-Accel-Buffering", "no"}};
  // The head of the response leaves with the first part.
  response.next_part =
      [reader,
       begin = std::optional<std::string>(
           first.has_value() ? Event(*first) : ": begun\n\n")]() mutable {
        if (begin.has_value()) {
          return std::exchange(begin, std::nullopt);
        }
        const ReplyStream::Next next = (*reader)->Read(kKeepAlive);
        if (next.line.has_value()) {
          return std::optional<std::string>(Event(*next.line));
        }
        return next.end == ReplyStream::End::kOver
                   ? std::optional<std::string>()
                   : std::optional<std::string>(": waiting\n\n");
      };
  return response;
}

HttpResponse Answer(const HttpRequest& request, bool stateless,
                    const std::shared_ptr<ReplyStream>& stream) {
  const auto reader = std::make_shared<Reader>(stream);
  std::optional<ReplyStream::Next> next = (*reader)->Read(kSoon);
  while (true) {
    if (next->line.has_value() && IsAnswer(*next->line)) {
      return JsonResponse(StatusOf(*next->line, stateless), *next->line);
    }
    if (next->end == ReplyStream::End::kOver) {
      return {kAccepted, {}, "", nullptr};  // it was cancelled
    }
    if (Accepts(request, kEvents)) {
      return EventStream(reader, next->line);
    }
    next = (*reader)->Read(kKeepAlive);
  }
}

Error Mismatch(const std::string& message) {
  return {static_cast<ErrorCode>(kHeaderMismatch), message, {}};
}

// The value of a field that may be written as =?base64?...?=.
std::string Decode(const std::string& field) {
  absl::string_view coded = field;
  std::string decoded;
  if (absl::ConsumePrefix(&coded, "=?base64?") &&
      absl::ConsumeSuffix(&coded, "?=") &&
      absl::Base64Unescape(coded, &decoded)) {
    return decoded;
  }
  return field;
}

// Stateless requests repeat in HTTP fields what proxies may need. Checks that
// both agree.
std::optional<Error> CheckHeader(const HttpRequest& request,
                                 const Message& message,
                                 const OrderedJson& params) {
  if (request.Field("mcp-protocol-version").empty()) {
    return Mismatch("MCP-Protocol-Version is missing");
  }
  if (request.Field("mcp-method") != message.method()) {
    return Mismatch(absl::StrCat("Mcp-Method must be ", message.method()));
  }
  const OrderedJson name = params.value("name", OrderedJson());
  if ((message.method() == "tools/call" || message.method() == "prompts/get") &&
      name.is_string() &&
      Decode(request.Field("mcp-name")) != name.get<std::string>()) {
    return Mismatch(absl::StrCat("Mcp-Name must be ", name.get<std::string>()));
  }
  return std::nullopt;
}

std::optional<Error> CheckStateless(const HttpRequest& request,
                                    const Message& message,
                                    const OrderedJson& params) {
  RequestMeta meta;
  const std::optional<Error> bad = ReadMeta(params, &meta);
  const std::string named = request.Field("mcp-protocol-version");
  if (!named.empty() && !meta.revision.empty() && named != meta.revision) {
    return Mismatch(absl::StrCat("MCP-Protocol-Version must be ", meta.revision,
                                 ", as in _meta"));
  }
  if (bad.has_value()) {
    return bad;
  }
  if (meta.era != Era::kStateless) {
    return Error{ErrorCode::kInvalidParams,
                 "_meta lacks io.modelcontextprotocol/protocolVersion",
                 {}};
  }
  return CheckHeader(request, message, params);
}

HttpResponse Exchange(const HttpRequest& request, bool stateless,
                      HttpSession* session) {
  const auto stream = std::make_shared<ReplyStream>(request.is_gone);
  // A client with a session may lose a connection and still want the effect.
  session->Receive(request.body,
                   ReplyStream::MakeChannel(stream, /*abandon=*/stateless));
  return Answer(request, stateless, stream);
}

}  // namespace

std::optional<HttpResponse> Endpoint::Refuse(const HttpRequest& request) {
  const absl::Status access = access_.Check(request);
  const std::string message(access.message());
  if (absl::IsUnauthenticated(access)) {
    HttpResponse response = Failure(kUnauthorized, message);
    response.fields["WWW-Authenticate"] = "Bearer";
    return response;
  }
  if (!access.ok()) {
    return Failure(kForbidden, message);
  }
  if (request.path != kEndpointPath) {
    return Failure(kNotFound, absl::StrCat("only ", kEndpointPath, " is here"));
  }
  if (request.method != "POST" && request.method != "DELETE") {
    HttpResponse response =
        Failure(kMethodNotAllowed, "allowed are POST and DELETE");
    response.fields["Allow"] = "POST, DELETE";
    return response;
  }
  return std::nullopt;
}

HttpResponse Endpoint::Serve(const HttpRequest& request) {
  if (request.method == "DELETE") {
    return sessions_->End(request.Field("mcp-session-id"))
               ? HttpResponse{kNoContent, {}, "", nullptr}
               : NoSession();
  }
  const std::string type = absl::AsciiStrToLower(request.Field("content-type"));
  if (absl::StripAsciiWhitespace(type.substr(0, type.find(';'))) != kJson) {
    return Failure(kUnsupportedMediaType,
                   absl::StrCat("Content-Type must be ", kJson));
  }
  if (!Accepts(request, kJson)) {
    return Failure(kNotAcceptable, absl::StrCat("Accept must allow ", kJson));
  }
  if (!IsJson(request.body)) {
    return Failure(
        kBadRequest,
        Error{ErrorCode::kParseError, "Parse error: not valid JSON", {}});
  }
  const Message message = Message::Classify(request.body);
  switch (message.kind()) {
    case Message::Kind::kRequest:
    case Message::Kind::kNotification:
      return ServeMessage(request, message);
    case Message::Kind::kResponse:
      return ServeAnswer(request);
    case Message::Kind::kBatch:
    case Message::Kind::kBroken:
    case Message::Kind::kOther:
      return Failure(kBadRequest, "one JSON-RPC message is expected");
  }
  return Failure(kBadRequest, "");
}

HttpResponse Endpoint::ServeAnswer(const HttpRequest& request) {
  const std::shared_ptr<HttpSession> session =
      sessions_->Find(request.Field("mcp-session-id"));
  if (session == nullptr) {
    return NoSession();
  }
  const auto stream = std::make_shared<ReplyStream>(request.is_gone);
  session->Receive(request.body, ReplyStream::MakeChannel(stream, false));
  return {kAccepted, {}, "", nullptr};
}

HttpResponse Endpoint::ServeMessage(const HttpRequest& request,
                                    const Message& message) {
  const OrderedJson params =
      ParseOrderedJson(message.params()).value_or(OrderedJson());
  const std::string revision = request.Field("mcp-protocol-version");
  RequestMeta meta;
  if (ReadMeta(params, &meta).has_value() || meta.era == Era::kStateless ||
      revision == kStatelessRevision) {
    return ServeStateless(request, message, params);
  }
  if (!revision.empty() && !IsSessionRevision(revision)) {
    return Failure(kBadRequest,
                   absl::StrCat("Unsupported protocol version: ", revision));
  }
  const bool is_request = message.kind() == Message::Kind::kRequest;
  if (is_request && message.method() == "initialize") {
    return Initialize(request);
  }
  const std::string id = request.Field("mcp-session-id");
  if (id.empty()) {
    return Failure(
        kBadRequest,
        absl::StrCat(kSessionField, " is missing; begin with initialize"));
  }
  const std::shared_ptr<HttpSession> session = sessions_->Find(id);
  return session == nullptr ? NoSession()
                            : Exchange(request, false, session.get());
}

HttpResponse Endpoint::Initialize(const HttpRequest& request) {
  std::string id;
  const std::shared_ptr<HttpSession> session = sessions_->Begin(&id);
  if (session == nullptr) {
    return Failure(kUnavailable,
                   absl::StrCat("there are ", HttpSessions::kMaxSessions,
                                " sessions already"));
  }
  HttpResponse response = Exchange(request, false, session.get());
  response.fields[kSessionField] = id;
  return response;
}

HttpResponse Endpoint::ServeStateless(const HttpRequest& request,
                                      const Message& message,
                                      const OrderedJson& params) {
  if (message.kind() != Message::Kind::kRequest) {
    // A call is cancelled by closing its stream.
    return {kAccepted, {}, "", nullptr};
  }
  const std::optional<Error> bad = CheckStateless(request, message, params);
  if (bad.has_value()) {
    return Failure(kBadRequest, *bad, message.id());
  }
  const std::shared_ptr<HttpSession> session = sessions_->Stateless();
  return session == nullptr ? Failure(kUnavailable, "the server ends")
                            : Exchange(request, true, session.get());
}

}  // namespace bridge
