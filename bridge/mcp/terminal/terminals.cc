#include "bridge/mcp/terminal/terminals.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bridge/client/call.h"
#include "bridge/client/request_id.h"
#include "bridge/client/resource_name.h"
#include "bridge/mcp/terminal/random_hex.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using Sandboxes = corral::v1::SandboxService::StubInterface;

constexpr size_t kIdDigits = 5;
// The sandbox of a corral-mcp that was killed goes after this time without a
// shell.
constexpr int64_t kIdleSandboxSeconds = 600;

absl::Status NotFound(const std::string& session) {
  return absl::NotFoundError(absl::StrCat("Session '", session, "' not found"));
}

}  // namespace

Terminals::Terminals(TerminalsOptions options, OutputObserver* observer)
    : options_(std::move(options)), observer_(observer) {}

Terminals::~Terminals() {
  sessions_.clear();
  if (sandbox_.empty()) {
    return;
  }
  corral::v1::DeleteSandboxRequest request;
  request.set_name(sandbox_);
  client::CallOptions call;
  call.patience = absl::Seconds(1);
  const absl::Status deleted =
      client::Delete(*connection_, &Sandboxes::DeleteSandbox, request, call);
  if (!deleted.ok()) {
    LOG(WARNING) << "delete " << sandbox_ << ": " << deleted;
  }
}

absl::Status Terminals::Prepare() {
  if (connection_ == nullptr) {
    ASSIGN_OR_RETURN(connection_, client::Connection::Open(options_.server));
  }
  if (!sandbox_.empty()) {
    return absl::OkStatus();
  }
  corral::v1::CreateSandboxRequest request;
  request.set_parent(client::kTenant);
  request.set_request_id(client::NewRequestId());
  *request.mutable_sandbox() = options_.sandbox;
  if (!request.sandbox().lifetime().has_idle_timeout()) {
    request.mutable_sandbox()
        ->mutable_lifetime()
        ->mutable_idle_timeout()
        ->set_seconds(kIdleSandboxSeconds);
  }
  ASSIGN_OR_RETURN(
      const corral::v1::Sandbox sandbox,
      client::Call(*connection_, &Sandboxes::CreateSandbox, request));
  sandbox_ = sandbox.name();
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Terminal>> Terminals::Start(
    const ShellOptions& shell) {
  RETURN_IF_ERROR(Prepare());
  absl::StatusOr<std::unique_ptr<Terminal>> terminal = Terminal::Start(
      connection_.get(), sandbox_, options_.directory, shell, observer_);
  if (absl::IsNotFound(terminal.status()) ||
      absl::IsFailedPrecondition(terminal.status())) {
    // The sandbox is gone: it has expired, or somebody deleted it.
    sandbox_.clear();
    RETURN_IF_ERROR(Prepare());
    terminal = Terminal::Start(connection_.get(), sandbox_, options_.directory,
                               shell, observer_);
  }
  RETURN_IF_ERROR(terminal.status());
  return std::shared_ptr<Terminal>(*std::move(terminal));
}

std::vector<Terminals::Session>::iterator Terminals::Locate(
    const std::string& session) {
  return std::find_if(
      sessions_.begin(), sessions_.end(),
      [&](const Session& each) { return each.info.id == session; });
}

absl::StatusOr<std::shared_ptr<Terminal>> Terminals::FindDefault() {
  auto found =
      std::find_if(sessions_.begin(), sessions_.end(),
                   [](const Session& each) { return each.info.is_default; });
  if (found == sessions_.end()) {
    Session session;
    session.info.id = RandomHex(kIdDigits);
    session.info.is_default = true;
    session.info.shell = options_.shell;
    found = sessions_.insert(sessions_.begin(), std::move(session));
  }
  found->info.last_activity = absl::Now();
  if (found->terminal == nullptr || found->terminal->exit_code().has_value()) {
    found->terminal.reset();
    ASSIGN_OR_RETURN(found->terminal, Start(found->info.shell));
    found->info.created = found->info.last_activity;
  }
  return found->terminal;
}

absl::StatusOr<std::shared_ptr<Terminal>> Terminals::Find(
    const std::string& session) {
  DestroyUnused();
  const auto found = Locate(session);
  if (session.empty() || (found != sessions_.end() && found->info.is_default)) {
    return FindDefault();
  }
  if (found == sessions_.end()) {
    return NotFound(session);
  }
  if (found->terminal->exit_code().has_value()) {
    sessions_.erase(found);
    return absl::FailedPreconditionError(
        absl::StrCat("Session '", session, "' is no longer active"));
  }
  found->info.last_activity = absl::Now();
  return found->terminal;
}

absl::StatusOr<SessionInfo> Terminals::Create(const ShellOptions& shell) {
  DestroyUnused();
  RETURN_IF_ERROR(FindDefault().status());
  if (sessions_.size() >= options_.max_sessions) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "Maximum session limit reached (", options_.max_sessions,
        "). Destroy an existing session or raise --max-sessions."));
  }
  Session session;
  ASSIGN_OR_RETURN(session.terminal, Start(shell));
  session.info.id = RandomHex(kIdDigits);
  session.info.shell = shell;
  session.info.created = session.info.last_activity = absl::Now();
  sessions_.push_back(session);
  return session.info;
}

absl::StatusOr<std::vector<SessionInfo>> Terminals::List() {
  DestroyUnused();
  RETURN_IF_ERROR(FindDefault().status());
  std::vector<SessionInfo> infos;
  for (auto session = sessions_.begin(); session != sessions_.end();) {
    if (session->terminal->exit_code().has_value()) {
      session = sessions_.erase(session);
    } else {
      infos.push_back(session->info);
      ++session;
    }
  }
  return infos;
}

absl::Status Terminals::Destroy(const std::string& session) {
  const auto found = Locate(session);
  if (found == sessions_.end()) {
    return NotFound(session);
  }
  if (found->info.is_default) {
    return absl::FailedPreconditionError(
        absl::StrCat("Session '", session,
                     "' is the default session and cannot be destroyed"));
  }
  sessions_.erase(found);
  return absl::OkStatus();
}

void Terminals::DestroyUnused() {
  const absl::Time oldest = absl::Now() - kIdleTimeout;
  sessions_.erase(std::remove_if(sessions_.begin(), sessions_.end(),
                                 [&](const Session& session) {
                                   return !session.info.is_default &&
                                          session.info.last_activity < oldest;
                                 }),
                  sessions_.end());
}

}  // namespace bridge
