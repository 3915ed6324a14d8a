#include "bridge/acp/terminals/terminals.h"

#include <signal.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "bridge/acp/terminals/errors.h"
#include "bridge/acp/terminals/terminal_params.h"
#include "bridge/client/resource_name.h"
#include "sandbox/base/log.h"

namespace bridge {
namespace {

using corral::v1::Execution;
using corral::v1::OutputEvent;

// What is left of a killed command after this gets SIGKILL.
constexpr int kKillGraceSeconds = 2;

Json ToJson(const ExitStatus& status) {
  Json json = {{"exitCode", nullptr}, {"signal", nullptr}};
  if (status.code.has_value()) {
    json["exitCode"] = *status.code;
  }
  if (status.signal.has_value()) {
    json["signal"] = *status.signal;
  }
  return json;
}

// Unique beyond this connection: clients keep terminal ids in their histories.
std::string TerminalId(const std::string& execution_name) {
  return absl::StrReplaceAll(client::ShortName(execution_name), {{"/", "."}});
}

std::string LossText(const Execution& lost) {
  const std::string& why = lost.loss().message();
  return absl::StrCat(
      "how the command ended is not known: ",
      why.empty() ? "its sandbox died" : absl::string_view(why));
}

// Of processes and records that are gone already there is nothing to tell.
void LogFailure(absl::string_view what, const absl::Status& status) {
  if (!status.ok() && !absl::IsFailedPrecondition(status) &&
      !absl::IsNotFound(status)) {
    LOG(WARNING) << what << ": " << status;
  }
}

}  // namespace

struct Terminals::Creation {
  std::string id;  // of the request, as written
  std::string session_id;
  size_t output_byte_limit;
  bool cancelled = false;
};

struct Terminals::Entry {
  std::string id;
  std::string session_id;
  std::string execution_name;
  Terminal terminal;
  bool released = false;
  // While the terminal is running.
  std::unique_ptr<OutputFollower> follower = nullptr;
};

Terminals::Terminals(PollLoop* loop, ServerCalls* calls,
                     CommandStarter* starter, Send send)
    : loop_(loop), calls_(calls), starter_(starter), send_(std::move(send)) {}

Terminals::~Terminals() {
  // A follower and its entry hold each other.
  for (auto& [id, entry] : entries_) {
    entry->follower.reset();
  }
}

void Terminals::OnRequest(const Message& request) {
  const std::string& method = request.method();
  if (method == "terminal/create") {
    Create(request.id(), request.params());
  } else if (method == "terminal/output" ||
             method == "terminal/wait_for_exit" || method == "terminal/kill" ||
             method == "terminal/release") {
    OnReference(request);
  } else {
    Refuse(request.id(), UnknownMethod(method));
  }
}

void Terminals::Create(absl::string_view id, absl::string_view params) {
  const absl::StatusOr<CreateTerminalParams> parsed =
      ParseCreateTerminal(params);
  if (!parsed.ok()) {
    Refuse(id, FromStatus(parsed.status()));
    return;
  }
  const auto creation = std::make_shared<Creation>(
      Creation{static_cast<std::string>(id), parsed->session_id,
               parsed->output_byte_limit});
  creations_[CanonicalId(id).value_or("")] = creation;
  starter_->Start(*parsed, [this, creation](const auto& started) {
    OnStarted(creation, started);
  });
}

void Terminals::OnStarted(const std::shared_ptr<Creation>& creation,
                          const CommandStarter::Started& started) {
  if (creation->cancelled) {
    if (!started.error.has_value()) {
      calls_->DeleteExecution(started.execution_name, [](const auto& deleted) {
        LogFailure("delete", deleted.status());
      });
    }
    return;
  }
  creations_.erase(CanonicalId(creation->id).value_or(""));
  if (started.error.has_value()) {
    Refuse(creation->id, *started.error);
  } else {
    Open(*creation, started.execution_name);
  }
}

void Terminals::Open(const Creation& creation,
                     const std::string& execution_name) {
  const auto entry = std::make_shared<Entry>(
      Entry{TerminalId(execution_name), creation.session_id, execution_name,
            Terminal(creation.output_byte_limit)});
  entries_[entry->id] = entry;
  entry->follower = std::make_unique<OutputFollower>(
      loop_, calls_->connection(), execution_name,
      [this, entry](const OutputEvent& event) { OnEvent(entry, event); },
      [this, entry](const absl::Status& status) {
        // Of a released terminal it is known what ended its command.
        OnEnd(entry, entry->released
                         ? entry->terminal.Exit({std::nullopt, "SIGKILL"})
                         : entry->terminal.Lose(status.message()));
      });
  Reply(creation.id, {{"terminalId", entry->id}});
}

void Terminals::OnReference(const Message& request) {
  const absl::StatusOr<TerminalReference> reference =
      ParseTerminalReference(request.params());
  if (!reference.ok()) {
    Refuse(request.id(), FromStatus(reference.status()));
    return;
  }
  const std::string& method = request.method();
  const auto found = entries_.find(reference->terminal_id);
  if (found == entries_.end() || found->second->released ||
      found->second->session_id != reference->session_id) {
    const auto before = released_.find(reference->terminal_id);
    if (method == "terminal/release" && before != released_.end() &&
        before->second == reference->session_id) {
      Reply(request.id(), Json::object());
    } else {
      Refuse(request.id(), UnknownTerminal(reference->terminal_id));
    }
    return;
  }
  const std::shared_ptr<Entry> entry = found->second;
  if (method == "terminal/output") {
    Output(request.id(), entry->terminal);
  } else if (method == "terminal/wait_for_exit") {
    WaitForExit(request.id(), entry->terminal);
  } else if (method == "terminal/kill") {
    Kill(*entry);
    Reply(request.id(), Json::object());
  } else {
    Release(entry);
    Reply(request.id(), Json::object());
  }
}

void Terminals::Output(absl::string_view id, const Terminal& terminal) {
  Json result = {{"output", static_cast<std::string>(terminal.output())},
                 {"truncated", terminal.truncated()}};
  if (terminal.state() != Terminal::State::kRunning) {
    result["exitStatus"] = ToJson(terminal.exit_status());
  }
  Reply(id, result);
}

void Terminals::WaitForExit(absl::string_view id, Terminal& terminal) {
  if (terminal.state() == Terminal::State::kRunning) {
    terminal.AddWait(id);
  } else {
    AnswerWait(id, terminal);
  }
}

void Terminals::AnswerWait(absl::string_view id, const Terminal& terminal) {
  if (terminal.state() == Terminal::State::kLost) {
    Refuse(id, FromStatus(absl::UnavailableError(terminal.lost_reason())));
  } else {
    Reply(id, ToJson(terminal.exit_status()));
  }
}

void Terminals::Kill(const Entry& entry) {
  corral::v1::SignalExecutionRequest request;
  request.set_name(entry.execution_name);
  request.set_signal(SIGTERM);
  request.set_scope(corral::v1::SignalExecutionRequest::TREE);
  request.mutable_kill_after()->set_seconds(kKillGraceSeconds);
  calls_->SignalExecution(
      request, [](const auto& sent) { LogFailure("kill", sent.status()); });
}

void Terminals::Release(const std::shared_ptr<Entry>& entry) {
  entry->released = true;
  released_[entry->id] = entry->session_id;
  if (entry->terminal.state() != Terminal::State::kRunning) {
    Retire(*entry);
    return;
  }
  // Its waits are answered with the end that is seen in the stream, which
  // deleting would cut short.
  corral::v1::SignalExecutionRequest request;
  request.set_name(entry->execution_name);
  request.set_signal(SIGKILL);
  request.set_scope(corral::v1::SignalExecutionRequest::TREE);
  calls_->SignalExecution(request, [this, entry](const auto& sent) {
    LogFailure("release", sent.status());
    if (!sent.ok()) {
      calls_->DeleteExecution(entry->execution_name, [](const auto&) {});
    }
  });
}

bool Terminals::OnCancel(absl::string_view request_id) {
  const auto creation =
      creations_.extract(CanonicalId(request_id).value_or(""));
  if (!creation.empty()) {
    creation.mapped()->cancelled = true;
    Refuse(creation.mapped()->id, Cancelled());
    return true;
  }
  for (const auto& [id, entry] : entries_) {
    if (entry->terminal.RemoveWait(request_id)) {
      Refuse(request_id, Cancelled());
      return true;
    }
  }
  return false;
}

void Terminals::CloseSession(const std::string& session_id) {
  for (const auto& [id, entry] : entries_) {
    if (entry->session_id == session_id) {
      entry->released = true;
      released_[id] = session_id;
    }
  }
}

void Terminals::OnEvent(const std::shared_ptr<Entry>& entry,
                        const OutputEvent& event) {
  Terminal& terminal = entry->terminal;
  switch (event.event_case()) {
    case OutputEvent::kChunk:
      terminal.Append(event.chunk().offset(), event.chunk().data());
      break;
    case OutputEvent::kGap:
      terminal.SkipTo(event.gap().end_offset());
      break;
    case OutputEvent::kEnded:
      OnEnd(entry, event.ended().state() == Execution::LOST
                       ? terminal.Lose(LossText(event.ended()))
                       : terminal.Exit(ToExitStatus(event.ended())));
      break;
    case OutputEvent::kOpened:
    case OutputEvent::kHeartbeat:
    case OutputEvent::EVENT_NOT_SET:
      break;
  }
}

void Terminals::OnEnd(const std::shared_ptr<Entry>& entry,
                      const std::vector<std::string>& waits) {
  for (const std::string& id : waits) {
    AnswerWait(id, entry->terminal);
  }
  if (entry->released) {
    Retire(*entry);
  }
  entry->follower.reset();
}

void Terminals::Retire(const Entry& entry) {
  calls_->DeleteExecution(entry.execution_name, [](const auto& deleted) {
    LogFailure("delete", deleted.status());
  });
  entries_.erase(std::string(entry.id));
}

void Terminals::Reply(absl::string_view id, const Json& result) {
  send_(ResultLine(id, result));
}

void Terminals::Refuse(absl::string_view id, const Error& error) {
  send_(ErrorLine(id, error));
}

}  // namespace bridge
