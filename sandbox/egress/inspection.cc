#include "sandbox/egress/inspection.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/egress/answer_head.h"
#include "sandbox/egress/client_hello.h"
#include "sandbox/egress/host_name.h"
#include "sandbox/egress/http_request.h"
#include "sandbox/egress/request_body.h"

namespace egress {
namespace {

using Event = ::corral::egress::v1::Event;
using State = Inspection::State;

// The first byte of a TLS handshake; no method of HTTP begins with it.
constexpr char kTls = 0x16;

Inspection Refuse(Event::Reason reason, absl::string_view claimed = "") {
  Inspection inspection;
  inspection.reason = reason;
  inspection.claimed = std::string(claimed.substr(0, kMaxHostName));
  return inspection;
}

Inspection Wait() {
  Inspection inspection;
  inspection.state = State::kIncomplete;
  return inspection;
}

Inspection InspectTls(absl::string_view bytes, absl::string_view name) {
  const ClientHello hello = ParseClientHello(bytes);
  switch (hello.state) {
    case ClientHello::State::kIncomplete:
      return Wait();
    case ClientHello::State::kMalformed:
      return Refuse(Event::NOT_WEB);
    case ClientHello::State::kComplete:
      break;
  }
  if (hello.server_name.empty()) {
    return Refuse(Event::NO_SERVER_NAME);
  }
  if (NormalizeHostName(hello.server_name) != name) {
    return Refuse(Event::SERVER_NAME_DIFFERS, hello.server_name);
  }
  if (hello.encrypted) {
    return Refuse(Event::ENCRYPTED_SERVER_NAME);
  }
  Inspection inspection;
  inspection.state = State::kAccepted;
  inspection.first = std::string(bytes);
  return inspection;
}

// Lets the body, whose first bytes are `begun`, follow the head in `first`.
// Returns false if the body is malformed.
bool AddBody(const HttpRequest& request, absl::string_view begun,
             Inspection* inspection) {
  if (IsUpgrade(request)) {
    absl::StrAppend(&inspection->first, begun);
    return true;
  }
  auto body = std::make_unique<RequestBody>(request);
  body->Filter(begun, &inspection->first);
  if (request.body == HttpRequest::Body::kChunked) {
    inspection->body = std::move(body);
    return inspection->body->state() != ByteFilter::State::kMalformed;
  }
  // A body of known size needs no filter: `rest` counts its bytes.
  inspection->rest =
      request.body_size - std::min<uint64_t>(begun.size(), request.body_size);
  return true;
}

Inspection InspectHttp(absl::string_view bytes, absl::string_view name) {
  const HttpRequest request = ParseHttpRequest(bytes);
  switch (request.state) {
    case HttpRequest::State::kIncomplete:
      return Wait();
    case HttpRequest::State::kMalformed:
      return Refuse(Event::NOT_WEB);
    case HttpRequest::State::kComplete:
      break;
  }
  const std::string host = HostOf(request);
  if (host != name) {
    const bool path = request.target[0] == '/';
    return Refuse(Event::HOST_DIFFERS,
                  host.empty() && !path ? request.target : host);
  }
  Inspection inspection;
  inspection.state = State::kAccepted;
  inspection.first = MakeOnlyRequest(request);
  inspection.answer = std::make_unique<AnswerHead>();
  return AddBody(request, bytes.substr(request.head_size), &inspection)
             ? std::move(inspection)
             : Refuse(Event::NOT_WEB);
}

}  // namespace

Inspection Inspect(absl::string_view bytes, absl::string_view name) {
  if (bytes.empty()) {
    return Wait();
  }
  return bytes[0] == kTls ? InspectTls(bytes, name) : InspectHttp(bytes, name);
}

}  // namespace egress
