#include "bridge/mcp/terminal/terminals.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "bridge/mcp/terminal/random_hex.h"
#include "google/protobuf/util/time_util.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using google::protobuf::util::TimeUtil;

constexpr size_t kIdDigits = 5;
// Shells of lasting sandboxes are named mcp-SESSION-RANDOM, and the default one
// mcp-default-SESSION-RANDOM.
constexpr char kPrefix[] = "mcp-";
constexpr char kDefault[] = "default-";
constexpr size_t kRandomDigits = 6;

absl::Status NotFound(const std::string& session) {
  return absl::NotFoundError(absl::StrCat("Session '", session, "' not found"));
}

}  // namespace

Terminals::Terminals(TerminalsOptions options, OutputObserver* observer)
    : options_(std::move(options)),
      observer_(observer),
      sandbox_(options_.sandbox) {}

Terminals::~Terminals() {
  for (const Session& session : sessions_) {
    if (sandbox_.lasting() && session.terminal != nullptr) {
      session.terminal->Leave();
    }
  }
}

absl::Status Terminals::Adopt() {
  RETURN_IF_ERROR(sandbox_.Prepare());
  if (!sandbox_.lasting() || adopted_) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const auto running, sandbox_.ListRunning());
  for (const corral::v1::Execution& execution : running) {
    RETURN_IF_ERROR(AdoptShell(execution));
  }
  adopted_ = true;
  return absl::OkStatus();
}

absl::Status Terminals::AdoptShell(const corral::v1::Execution& execution) {
  const absl::string_view name = execution.name();
  absl::string_view id = name.substr(name.rfind('/') + 1);
  Session session;
  if (!absl::ConsumePrefix(&id, kPrefix) ||
      !execution.command().has_terminal()) {
    return absl::OkStatus();  // another client's
  }
  session.info.is_default = absl::ConsumePrefix(&id, kDefault);
  session.info.id = std::string(id.substr(0, id.find('-')));
  session.info.shell.shell = execution.command().argv(0);
  session.info.shell.columns = execution.command().terminal().columns();
  session.info.shell.rows = execution.command().terminal().rows();
  session.info.created = absl::FromUnixSeconds(
      TimeUtil::TimestampToSeconds(execution.create_time()));
  session.info.last_activity = options_.now();
  ASSIGN_OR_RETURN(session.terminal, Terminal::Adopt(sandbox_.connection(),
                                                     execution, observer_));
  sessions_.insert(
      session.info.is_default ? sessions_.begin() : sessions_.end(),
      std::move(session));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Terminal>> Terminals::Start(
    const SessionInfo& session) {
  RETURN_IF_ERROR(Adopt());
  const std::string id =
      sandbox_.lasting()
          ? absl::StrCat(kPrefix, session.is_default ? kDefault : "",
                         session.id, "-", RandomHex(kRandomDigits))
          : "";
  const auto start = [&] {
    return Terminal::Start(sandbox_.connection(), sandbox_.name(), id,
                           options_.directory, session.shell, observer_);
  };
  absl::StatusOr<std::unique_ptr<Terminal>> terminal = start();
  if (absl::IsNotFound(terminal.status()) ||
      absl::IsFailedPrecondition(terminal.status())) {
    RETURN_IF_ERROR(sandbox_.Replace());
    terminal = start();
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
  RETURN_IF_ERROR(Adopt());
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
  found->info.last_activity = options_.now();
  if (found->terminal == nullptr || found->terminal->exit_code().has_value()) {
    found->terminal.reset();
    ASSIGN_OR_RETURN(found->terminal, Start(found->info));
    found->info.created = found->info.last_activity;
  }
  return found->terminal;
}

absl::StatusOr<std::shared_ptr<Terminal>> Terminals::Find(
    const std::string& session) {
  DestroyUnused();
  RETURN_IF_ERROR(Adopt());
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
  found->info.last_activity = options_.now();
  return found->terminal;
}

absl::StatusOr<std::shared_ptr<Terminal>> Terminals::FindEvenEnded(
    const std::string& session) {
  for (const Session& each : sessions_) {
    if (each.info.is_default && each.terminal != nullptr &&
        each.terminal->exit_code().has_value() &&
        (session.empty() || session == each.info.id)) {
      return each.terminal;
    }
  }
  return Find(session);
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
  session.info.id = RandomHex(kIdDigits);
  session.info.shell = shell;
  ASSIGN_OR_RETURN(session.terminal, Start(session.info));
  session.info.created = session.info.last_activity = options_.now();
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
  RETURN_IF_ERROR(Adopt());
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
  const absl::Time oldest = options_.now() - kIdleTimeout;
  sessions_.erase(std::remove_if(sessions_.begin(), sessions_.end(),
                                 [&](const Session& session) {
                                   return !session.info.is_default &&
                                          session.info.last_activity < oldest;
                                 }),
                  sessions_.end());
}

}  // namespace bridge
