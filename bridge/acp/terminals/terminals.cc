#include "bridge/acp/terminals/terminals.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bridge/acp/terminals/errors.h"
#include "bridge/acp/terminals/results.h"
#include "bridge/client/request_id.h"
#include "bridge/client/resource_name.h"
#include "sandbox/base/log.h"

namespace bridge {
namespace {

using corral::v1::Execution;
using corral::v1::OutputEvent;

// A shell's exit code for a command that it may not execute.
constexpr int kNotExecutable = 126;

// The time from the loss of an output stream to the next attempt to follow it.
constexpr absl::Duration kFollowInterval = absl::Seconds(1);

// Returns an id that no other connection uses: clients keep terminal ids in
// their histories.
std::string TerminalId(const std::string& execution_name) {
  return absl::StrReplaceAll(client::ShortName(execution_name), {{"/", "."}});
}

}  // namespace

struct Terminals::Entry {
  std::string id;
  std::string session_id;
  GatedCommand command;
  std::string execution_name;  // empty: the gate refused the command
  Terminal terminal;
  TerminalPhase phase = TerminalPhase::kRunning;
  // The time at which the agent last referred to the terminal.
  absl::Time last_use = absl::InfinitePast();
  // Until the call is broken. The entry is there when a callback runs.
  std::shared_ptr<CommandStream> stream = nullptr;
  // After that, until the end is known.
  std::unique_ptr<OutputFollower> follower = nullptr;
};

Terminals::Terminals(PollLoop* loop, ServerCalls* calls, Deletions* deletions,
                     CommandStarter* starter, TerminalObserver* observer,
                     AuditLog* audit, SignalCodes signal_codes,
                     absl::Duration idle_limit, Send send)
    : loop_(loop),
      calls_(calls),
      deletions_(deletions),
      observer_(observer),
      audit_(audit),
      signal_codes_(signal_codes),
      send_(std::move(send)),
      idle_limit_(idle_limit),
      kills_(calls, deletions,
             [this](std::string line) { send_(std::move(line)); }),
      creations_(starter, deletions, audit) {}

Terminals::~Terminals() = default;

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
  creations_.Begin(id, *parsed,
                   [this](const auto& creation, const auto& started) {
                     if (started.error.has_value()) {
                       Refuse(creation.id, *started.error);
                     } else {
                       Open(creation, started);
                     }
                   });
}

void Terminals::Open(const Creations::Creation& creation,
                     const CommandStarter::Started& started) {
  const std::string id = started.execution_name.empty()
                             ? absl::StrCat("refused.", client::NewRequestId())
                             : TerminalId(started.execution_name);
  const auto entry = std::make_shared<Entry>(
      Entry{id, creation.session_id, started.command, started.execution_name,
            Terminal(creation.output_byte_limit)});
  entries_[id] = entry;
  observer_->OnOpened({id, creation.session_id, started.execution_name,
                       started.command.directory});
  Reply(creation.id, {{"terminalId", id}});
  if (started.execution_name.empty()) {
    const EndNote note = RefusalNote(started.refusal);
    AddNote(*entry, note);
    OnEnd(entry,
          entry->terminal.Exit({kNotExecutable, std::nullopt, note.cause}));
  } else {
    Receive(entry, started.stream);
  }
}

void Terminals::Receive(const std::shared_ptr<Entry>& entry,
                        std::shared_ptr<CommandStream> stream) {
  entry->stream = std::move(stream);
  entry->stream->Follow(
      [this, weak = std::weak_ptr(entry)](const OutputEvent& event) {
        OnOutput(weak.lock(), event);
      },
      [this, weak = std::weak_ptr(entry)] {
        const std::shared_ptr<Entry> entry = weak.lock();
        entry->stream.reset();
        Follow(entry);
      });
}

void Terminals::Follow(const std::shared_ptr<Entry>& entry) {
  entry->follower = std::make_unique<OutputFollower>(
      loop_, calls_->connection(), entry->execution_name,
      entry->terminal.cursor(),
      [this, weak = std::weak_ptr(entry)](const OutputEvent& event) {
        OnOutput(weak.lock(), event);
      },
      [this, weak = std::weak_ptr(entry)](const absl::Status& status) {
        OnLost(weak.lock(), status);
      });
}

void Terminals::FollowLater(const std::shared_ptr<Entry>& entry) {
  loop_->After(kFollowInterval, [this, weak = std::weak_ptr<Entry>(entry)] {
    if (const std::shared_ptr<Entry> entry = weak.lock(); entry != nullptr) {
      Follow(entry);
    }
  });
}

void Terminals::OnReference(const Message& request) {
  const absl::StatusOr<TerminalReference> reference =
      ParseTerminalReference(request.params());
  if (!reference.ok()) {
    Refuse(request.id(), FromStatus(reference.status()));
    return;
  }
  const auto found = entries_.find(reference->terminal_id);
  if (found == entries_.end() || !IsHeld(found->second->phase) ||
      found->second->session_id != reference->session_id) {
    OnUnknownTerminal(request, *reference);
    return;
  }
  const std::shared_ptr<Entry> entry = found->second;
  entry->last_use = absl::Now();
  const std::string& method = request.method();
  if (method == "terminal/output") {
    Reply(request.id(), OutputResult(entry->terminal));
  } else if (method == "terminal/wait_for_exit") {
    WaitForExit(request.id(), entry->terminal);
  } else if (method == "terminal/kill") {
    Kill(request.id(), *entry);
  } else {
    Apply(entry, TerminalEvent::kReleased);
    Reply(request.id(), Json::object());
  }
}

void Terminals::OnUnknownTerminal(const Message& request,
                                  const TerminalReference& reference) {
  const auto released = released_.find(reference.terminal_id);
  if (request.method() == "terminal/release" && released != released_.end() &&
      released->second == reference.session_id) {
    Reply(request.id(), Json::object());
  } else {
    Refuse(request.id(), UnknownTerminal(reference.terminal_id));
  }
}

void Terminals::WaitForExit(absl::string_view id, Terminal& terminal) {
  if (terminal.state() == Terminal::State::kRunning) {
    terminal.AddWait(id);
  } else {
    send_(WaitAnswer(id, terminal));
  }
}

void Terminals::Stop(const std::string& terminal_id) {
  const auto found = entries_.find(terminal_id);
  if (found != entries_.end()) {
    kills_.Kill(found->second->execution_name);
  }
}

void Terminals::StopSession(const std::string& session_id) {
  for (const auto& [id, entry] : entries_) {
    if (entry->session_id == session_id &&
        entry->terminal.state() == Terminal::State::kRunning) {
      Stop(id);
    }
  }
}

void Terminals::Kill(absl::string_view id, const Entry& entry) {
  if (entry.terminal.state() != Terminal::State::kRunning) {
    Reply(id, Json::object());
  } else {
    kills_.Request(id, entry.execution_name);
  }
}

void Terminals::Apply(const std::shared_ptr<Entry>& entry,
                      TerminalEvent event) {
  const TerminalPhase before = entry->phase;
  entry->phase = NextPhase(before, event);
  if (entry->phase == before) {
    return;
  }
  if (!IsHeld(entry->phase)) {
    released_[entry->id] = entry->session_id;
    observer_->OnReleased(entry->id);
  }
  switch (entry->phase) {
    case TerminalPhase::kRunning:
    case TerminalPhase::kEnded:
    case TerminalPhase::kClosing:
      break;
    case TerminalPhase::kReleasing:
      // The execution is deleted when the stream has reported the end: pending
      // waits are answered with the end, which deleting at once would cut off.
      kills_.Force(entry->execution_name);
      break;
    case TerminalPhase::kDeleting:
      if (!entry->execution_name.empty()) {
        observer_->BeforeDeletion(entry->id,
                                  [this, name = entry->execution_name] {
                                    deletions_->DeleteExecutionSoon(name);
                                  });
      }
      [[fallthrough]];
    case TerminalPhase::kForgotten:
      entries_.erase(std::string(entry->id));
      break;
  }
}

bool Terminals::OnCancel(absl::string_view request_id) {
  if (creations_.Cancel(request_id)) {
    Refuse(request_id, Cancelled());
    return true;
  }
  for (const auto& [id, entry] : entries_) {
    if (entry->terminal.RemoveWait(request_id)) {
      Refuse(request_id, Cancelled());
      return true;
    }
  }
  return kills_.IsPending(request_id);
}

void Terminals::CloseSession(const std::string& session_id) {
  for (const std::string& id : creations_.CancelSession(session_id)) {
    Refuse(id, UnknownSession(session_id));
  }
  // A copy, since Apply() erases entries.
  for (const auto& [id, entry] : std::map(entries_)) {
    if (entry->session_id == session_id) {
      Apply(entry, TerminalEvent::kSessionClosed);
    }
  }
}

bool Terminals::IsAwaitingEnds() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const auto& known) {
    return known.second->terminal.state() == Terminal::State::kRunning;
  });
}

void Terminals::RecordUnfinished() {
  for (const auto& [id, entry] : entries_) {
    if (entry->terminal.state() == Terminal::State::kRunning) {
      Record(*entry, nullptr);
    }
  }
}

void Terminals::OnOutput(const std::shared_ptr<Entry>& entry,
                         const OutputEvent& event) {
  Terminal& terminal = entry->terminal;
  switch (event.event_case()) {
    case OutputEvent::kChunk:
      observer_->OnOutput(entry->id, terminal.Append(event.chunk().offset(),
                                                     event.chunk().data()));
      break;
    case OutputEvent::kGap:
      terminal.SkipTo(event.gap().end_offset());
      break;
    case OutputEvent::kEnded:
      Record(*entry, &event.ended());
      if (event.ended().state() == Execution::LOST) {
        OnEnd(entry, terminal.Lose(LossText(event.ended())));
      } else {
        AddNote(*entry, MakeEndNote(event.ended()));
        OnEnd(entry, terminal.Exit(ToExitStatus(event.ended(), signal_codes_)));
      }
      break;
    case OutputEvent::kOpened:
    case OutputEvent::kHeartbeat:
    case OutputEvent::EVENT_NOT_SET:
      break;  // never from an OutputFollower
  }
}

void Terminals::OnLost(const std::shared_ptr<Entry>& entry,
                       const absl::Status& status) {
  Terminal& terminal = entry->terminal;
  if (const auto end = EndAfterLoss(entry->phase, status); end.has_value()) {
    Record(*entry, nullptr);
    OnEnd(entry, terminal.Exit(*end));
  } else if (absl::IsNotFound(status) || !IsHeld(entry->phase)) {
    Record(*entry, nullptr);
    OnEnd(entry, terminal.Lose(status.message()));
  } else {
    // The command may run on: pending waits must not hang, later ones get the
    // end when the server is back.
    for (const std::string& id : terminal.TakeWaits()) {
      Refuse(id, FromStatus(status));
    }
    entry->follower.reset();
    FollowLater(entry);
  }
}

void Terminals::OnEnd(const std::shared_ptr<Entry>& entry,
                      const std::vector<std::string>& waits) {
  observer_->OnEnded(entry->id, entry->terminal.exit_status());
  for (const std::string& id : waits) {
    send_(WaitAnswer(id, entry->terminal));
  }
  Apply(entry, TerminalEvent::kEnded);
  entry->follower.reset();
  ReleaseWhenIdle(entry, idle_limit_);
}

void Terminals::ReleaseWhenIdle(const std::shared_ptr<Entry>& entry,
                                absl::Duration rest) {
  loop_->After(rest, [this, weak = std::weak_ptr<Entry>(entry)] {
    const std::shared_ptr<Entry> entry = weak.lock();
    if (entry == nullptr) {
      return;
    }
    const absl::Duration rest = idle_limit_ - (absl::Now() - entry->last_use);
    if (rest > absl::ZeroDuration()) {
      ReleaseWhenIdle(entry, std::min(rest, idle_limit_));
    } else {
      Apply(entry, TerminalEvent::kReleased);
    }
  });
}

void Terminals::AddNote(Entry& entry, const EndNote& note) {
  if (!note.line.empty()) {
    observer_->OnOutput(entry.id, entry.terminal.AppendLine(note.line));
  }
}

void Terminals::Record(const Entry& entry, const Execution* ended) {
  const absl::Status written =
      audit_->WriteEnd({entry.session_id, entry.command.argv,
                        entry.command.directory, entry.execution_name},
                       ended);
  if (!written.ok()) {
    LOG(ERROR) << written.message();
  }
}

void Terminals::Reply(absl::string_view id, const Json& result) {
  send_(ResultLine(id, result));
}

void Terminals::Refuse(absl::string_view id, const Error& error) {
  send_(ErrorLine(id, error));
}

}  // namespace bridge
