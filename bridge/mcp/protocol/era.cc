#include "bridge/mcp/protocol/era.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace bridge {
namespace {

// The newest first.
constexpr const char* kSessionRevisions[] = {
    "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"};
constexpr char kRevisionKey[] = "io.modelcontextprotocol/protocolVersion";
constexpr char kCapabilitiesKey[] =
    "io.modelcontextprotocol/clientCapabilities";

Error Unsupported(const std::string& requested) {
  Error error;
  error.code = static_cast<ErrorCode>(kUnsupportedRevision);
  error.message = absl::StrCat("Unsupported protocol version: ", requested);
  error.data = {{"supported", Json::array({kStatelessRevision})},
                {"requested", requested}};
  return error;
}

Error Invalid(const std::string& message) {
  Error error;
  error.code = ErrorCode::kInvalidParams;
  error.message = message;
  return error;
}

}  // namespace

std::optional<Error> ReadMeta(const OrderedJson& params, RequestMeta* meta) {
  if (!params.is_object()) {
    return std::nullopt;
  }
  const auto found = params.find("_meta");
  if (found == params.end() || !found->is_object()) {
    return std::nullopt;
  }
  meta->progress_token = found->value("progressToken", OrderedJson());
  const auto revision = found->find(kRevisionKey);
  if (revision == found->end()) {
    return std::nullopt;
  }
  if (!revision->is_string()) {
    return Invalid(absl::StrCat(kRevisionKey, " must be a string"));
  }
  const auto requested = revision->get<std::string>();
  meta->revision = requested;
  if (IsSessionRevision(requested)) {
    return std::nullopt;
  }
  if (requested != kStatelessRevision) {
    return Unsupported(requested);
  }
  meta->era = Era::kStateless;
  const auto capabilities = found->find(kCapabilitiesKey);
  if (capabilities == found->end() || !capabilities->is_object()) {
    return Invalid(absl::StrCat("_meta lacks ", kCapabilitiesKey));
  }
  meta->can_ask = CanAsk(*capabilities);
  return std::nullopt;
}

bool CanAsk(const OrderedJson& capabilities) {
  if (!capabilities.is_object()) {
    return false;
  }
  const OrderedJson elicitation =
      capabilities.value("elicitation", OrderedJson());
  // Without "form" and "url", forms are meant.
  return elicitation.is_object() &&
         (elicitation.contains("form") || !elicitation.contains("url"));
}

bool IsSessionRevision(const std::string& revision) {
  return std::find(std::begin(kSessionRevisions), std::end(kSessionRevisions),
                   revision) != std::end(kSessionRevisions);
}

std::string NegotiateRevision(const OrderedJson& params) {
  const OrderedJson wanted =
      params.is_object() ? params.value("protocolVersion", OrderedJson())
                         : OrderedJson();
  return wanted.is_string() && IsSessionRevision(wanted.get<std::string>())
             ? wanted.get<std::string>()
             : kSessionRevisions[0];
}

}  // namespace bridge
