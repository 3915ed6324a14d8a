#include "bridge/acp/terminals/kills.h"

#include <algorithm>

#include "bridge/acp/terminals/errors.h"
#include "bridge/acp/terminals/signals.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/jsonrpc/message.h"
#include "bridge/jsonrpc/response.h"
#include "sandbox/base/log.h"

namespace bridge {

void Kills::Request(absl::string_view id, const std::string& execution_name) {
  const auto pending = pending_.emplace(id);
  calls_->SignalExecution(
      KillRequest(execution_name), [this, pending](const auto& sent) {
        send_(HasArrived(sent.status())
                  ? ResultLine(*pending, Json::object())
                  : ErrorLine(*pending, FromStatus(sent.status())));
        pending_.erase(pending);
      });
}

void Kills::Kill(const std::string& execution_name) {
  calls_->SignalExecution(KillRequest(execution_name), [](const auto&) {});
}

void Kills::Force(const std::string& execution_name) {
  calls_->SignalExecution(SigkillRequest(execution_name),
                          [this, execution_name](const auto& sent) {
                            if (!HasArrived(sent.status())) {
                              LOG(WARNING) << "cannot kill " << execution_name
                                           << ": " << sent.status();
                            }
                            if (!sent.ok()) {
                              deletions_->DeleteExecution(execution_name);
                            }
                          });
}

bool Kills::IsPending(absl::string_view id) const {
  const std::string canonical = CanonicalId(id);
  return std::any_of(pending_.begin(), pending_.end(),
                     [&canonical](const std::string& pending) {
                       return CanonicalId(pending) == canonical;
                     });
}

}  // namespace bridge
