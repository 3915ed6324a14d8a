#include "bridge/acp/requests/own_requests.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bridge/client/request_id.h"
#include "bridge/jsonrpc/request.h"

namespace bridge {

OwnRequests::OwnRequests(Send to_client)
    : prefix_(absl::StrCat("corral-", client::NewRequestId(), "-")),
      to_client_(std::move(to_client)) {}

std::string OwnRequests::Request(const std::string& method, const Json& params,
                                 Done done) {
  std::string id = absl::StrCat(prefix_, next_++);
  pending_.emplace(Quote(id), std::move(done));
  to_client_(RequestLine(id, method, params));
  return id;
}

void OwnRequests::Cancel(const std::string& id) {
  if (pending_.erase(Quote(id)) > 0) {
    to_client_(NotificationLine("$/cancel_request", {{"requestId", id}}));
  }
}

bool OwnRequests::OnResponse(const Message& response) {
  const std::string id = CanonicalId(response.id());
  if (!absl::StartsWith(id, absl::StrCat("\"", prefix_))) {
    return false;
  }
  // A cancelled request is answered, too.
  if (auto request = pending_.extract(id); !request.empty()) {
    request.mapped()(response);
  }
  return true;
}

}  // namespace bridge
