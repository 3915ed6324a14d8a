#include "bridge/acp/terminals/creations.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "bridge/jsonrpc/message.h"
#include "sandbox/base/log.h"

namespace bridge {

void Creations::Begin(absl::string_view id, const CreateTerminalParams& params,
                      Done done) {
  const auto pending = std::make_shared<Pending>();
  pending->creation = {static_cast<std::string>(id), params.session_id,
                       params.output_byte_limit};
  pending->done = std::move(done);
  pending_.push_back(pending);
  pending->start = starter_->Start(
      params,
      [this, pending](const auto& started) { OnStarted(pending, started); });
}

void Creations::OnStarted(const std::shared_ptr<Pending>& pending,
                          const CommandStarter::Started& started) {
  switch (pending->state) {
    case Pending::State::kCancelled:
      if (!started.execution_name.empty()) {
        deletions_->DeleteExecution(started.execution_name);
      }
      RecordUnknown(started);
      return;
    case Pending::State::kStarting:
      if (started.error.has_value()) {
        RecordUnknown(started);
      }
      pending_.erase(std::find(pending_.begin(), pending_.end(), pending));
      pending->done(pending->creation, started);
      return;
  }
}

void Creations::RecordUnknown(const CommandStarter::Started& started) {
  const GatedCommand& command = started.command;
  if (command.argv.empty() || !started.refusal.empty()) {
    return;
  }
  const absl::Status written =
      audit_->WriteEnd({command.session_id, command.argv, command.directory,
                        started.execution_name},
                       nullptr);
  if (!written.ok()) {
    LOG(ERROR) << written.message();
  }
}

void Creations::Cancel(Pending& pending) {
  pending.state = Pending::State::kCancelled;
  starter_->Abandon(pending.start);
}

bool Creations::Cancel(absl::string_view id) {
  const std::string canonical = CanonicalId(id);
  const auto found = std::find_if(
      pending_.begin(), pending_.end(), [&canonical](const auto& pending) {
        return CanonicalId(pending->creation.id) == canonical;
      });
  if (found == pending_.end()) {
    return false;
  }
  Cancel(**found);
  pending_.erase(found);
  return true;
}

std::vector<std::string> Creations::CancelSession(
    const std::string& session_id) {
  const auto closed = std::stable_partition(
      pending_.begin(), pending_.end(), [&session_id](const auto& pending) {
        return pending->creation.session_id != session_id;
      });
  std::vector<std::string> ids;
  for (auto pending = closed; pending != pending_.end(); ++pending) {
    Cancel(**pending);
    ids.push_back((*pending)->creation.id);
  }
  pending_.erase(closed, pending_.end());
  return ids;
}

}  // namespace bridge
