#include "bridge/acp/display/display.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "bridge/acp/display/terminal_content.h"
#include "bridge/acp/display/tool_call_update.h"
#include "bridge/jsonrpc/members.h"

namespace bridge {
namespace {

// The time between two messages about the output of one terminal. Text is sent
// whole each time, so less often.
constexpr absl::Duration kMetaInterval = absl::Milliseconds(100);
constexpr absl::Duration kTextInterval = absl::Milliseconds(500);
// How long an agent may take to embed a terminal that it has created.
constexpr absl::Duration kEmbedTime = absl::Milliseconds(250);
// Terminals that nobody holds any more are forgotten above this number.
constexpr size_t kMaxShown = 1000;

constexpr char kGap[] = "[earlier output is not shown]\n";

std::string ShownText(const TextTail& tail) {
  return absl::StrCat(tail.truncated() ? kGap : "", tail.text());
}

}  // namespace

Display::Display(PollLoop* loop, OwnRequests* requests, DisplayOptions options,
                 Send to_client, HasRoom has_room, Stop stop)
    : loop_(loop),
      options_(std::move(options)),
      to_client_(std::move(to_client)),
      has_room_(std::move(has_room)),
      mirrors_(loop, requests, options_.attach,
               {[this](const Shown& terminal) {
                  SendContent(terminal->session_id, terminal->call_id);
                },
                [stop = std::move(stop)](const Shown& terminal) mutable {
                  stop(terminal->id);
                },
                [this](const Shown& terminal) {
                  SendContent(terminal->session_id, terminal->call_id);
                }}) {}

void Display::OnInitialize(absl::string_view params) {
  features_ = ParseClientFeatures(params);
  features_.terminal = features_.terminal && mirrors_.available();
  route_ = ChooseRoute(options_.choice, features_);
}

bool Display::OnUpdate(absl::string_view line, absl::string_view params) {
  const auto update = FindToolCall(params, "update");
  if (!update.has_value()) {
    return false;
  }
  const std::string kind =
      StringMember(update->text, "sessionUpdate").value_or("");
  if (kind != "tool_call" && kind != "tool_call_update") {
    return false;
  }
  ToolCall& call = calls_.Touch(update->session_id, update->call_id);
  call.Merge(update->members);
  const absl::string_view content =
      FindMember(update->members, "content").value_or("null");
  if (content == "null") {
    return false;
  }
  const std::vector<std::string> ids = TerminalsIn(content);
  const std::vector<Shown> terminals = FindAll(update->session_id, ids);
  Attach(terminals, update->session_id, update->call_id);
  if (ids.empty()) {
    return false;
  }
  const bool announced =
      Announce(terminals, call, [&](const std::string& announcement) {
        to_client_(ReplacePart(line, update->text, announcement));
      });
  if (!announced) {
    to_client_(ReplacePart(line, content, Render(update->session_id, content)));
  }
  for (const Shown& terminal : terminals) {
    OpenMirror(terminal);
    CatchUp(terminal);
  }
  return true;
}

void Display::OnPermissionRequest(absl::string_view params) {
  if (const auto update = FindToolCall(params, "toolCall");
      update.has_value()) {
    calls_.Touch(update->session_id, update->call_id).Merge(update->members);
  }
}

void Display::OnTurnEnd(const std::string& session_id) {
  for (const auto& [id, terminal] : terminals_) {
    if (terminal->session_id == session_id &&
        terminal->holder == ShownTerminal::Holder::kNobody) {
      mirrors_.ReleaseWhenShown(*terminal);
    }
  }
}

void Display::CloseSession(const std::string& session_id) {
  for (auto at = terminals_.begin(); at != terminals_.end();) {
    if (at->second->session_id == session_id) {
      mirrors_.Release(*at->second);
      at = terminals_.erase(at);
    } else {
      ++at;
    }
  }
  calls_.Close(session_id);
}

Display::Shown Display::Find(const std::string& id) const {
  const auto found = terminals_.find(id);
  return found == terminals_.end() ? nullptr : found->second;
}

std::vector<Display::Shown> Display::FindAll(
    const std::string& session_id, const std::vector<std::string>& ids) const {
  std::vector<Shown> found;
  for (const std::string& id : ids) {
    const Shown terminal = Find(id);
    if (terminal != nullptr && terminal->session_id == session_id) {
      found.push_back(terminal);
    }
  }
  return found;
}

void Display::Attach(const std::vector<Shown>& terminals,
                     const std::string& session_id,
                     const std::string& call_id) {
  for (const auto& [id, terminal] : terminals_) {
    if (terminal->session_id == session_id && terminal->call_id == call_id &&
        terminal->meta == ShownTerminal::Meta::kUnknown) {
      terminal->call_id.clear();
    }
  }
  for (const Shown& terminal : terminals) {
    terminal->call_id = call_id;
  }
}

void Display::AttachIfUnambiguous(const Shown& terminal) {
  const auto call_id = calls_.OnlyRunningCommand(terminal->session_id);
  if (!terminal->call_id.empty() || !call_id.has_value()) {
    return;
  }
  ToolCall& call = *calls_.Find(terminal->session_id, *call_id);
  if (!TerminalsIn(call.Get("content")).empty()) {
    return;
  }
  call.Set("content",
           WithItem(call.Get("content"), TerminalItem(terminal->id)));
  terminal->call_id = *call_id;
  const bool announced =
      Announce({terminal}, call, [&](const std::string& announcement) {
        to_client_(SessionUpdateLine(terminal->session_id, announcement));
      });
  if (!announced) {
    SendContent(terminal->session_id, *call_id);
  }
  OpenMirror(terminal);
  CatchUp(terminal);
}

void Display::OpenMirror(const Shown& terminal) {
  if (terminal->route == DisplayRoute::kMirror &&
      terminal->mirror == ShownTerminal::Mirror::kNone) {
    mirrors_.Open(terminal);
  }
}

std::string Display::ItemFor(const std::string& session_id,
                             const std::string& id) {
  const Shown terminal = Find(id);
  if (terminal == nullptr || terminal->session_id != session_id) {
    return PlainTextItem(
        absl::StrCat("[the output of terminal ", id, " is not kept]"));
  }
  switch (terminal->route) {
    case DisplayRoute::kMeta:
      return terminal->meta == ShownTerminal::Meta::kUnknown ? ""
                                                             : TerminalItem(id);
    case DisplayRoute::kMirror:
      if (!terminal->mirror_id.empty()) {
        return TerminalItem(terminal->mirror_id);
      }
      break;
    case DisplayRoute::kText:
      break;
  }
  return ConsoleItem(ShownText(terminal->text));
}

std::string Display::Render(const std::string& session_id,
                            absl::string_view content) {
  return ReplaceTerminals(
      content, [&](const std::string& id) { return ItemFor(session_id, id); });
}

bool Display::Announce(const std::vector<Shown>& terminals,
                       const ToolCall& call,
                       absl::AnyInvocable<void(const std::string&)> send) {
  bool announced = false;
  for (const Shown& terminal : terminals) {
    if (terminal->route != DisplayRoute::kMeta ||
        terminal->meta != ShownTerminal::Meta::kUnknown) {
      continue;
    }
    terminal->meta = ShownTerminal::Meta::kAnnounced;
    announced = true;
    send(call.Announcement(Render(terminal->session_id, call.Get("content")),
                           InfoMember(terminal->id, terminal->cwd)));
  }
  return announced;
}

void Display::SendContent(const std::string& session_id,
                          const std::string& call_id) {
  const ToolCall* call = calls_.Find(session_id, call_id);
  if (call == nullptr || TerminalsIn(call->Get("content")).empty()) {
    return;
  }
  SendMembers(
      session_id, call_id,
      absl::StrCat(R"("content":)", Render(session_id, call->Get("content"))));
}

void Display::SendMembers(const std::string& session_id,
                          const std::string& call_id,
                          absl::string_view members) {
  to_client_(SessionUpdateLine(session_id, MembersUpdate(call_id, members)));
}

void Display::OnOpened(const OpenedTerminal& opened) {
  if (terminals_.size() >= kMaxShown) {
    const auto old = std::find_if(
        terminals_.begin(), terminals_.end(), [](const auto& entry) {
          return entry.second->holder == ShownTerminal::Holder::kNobody;
        });
    if (old != terminals_.end()) {
      mirrors_.Release(*old->second);
      terminals_.erase(old);
    }
  }
  const auto terminal = std::make_shared<ShownTerminal>();
  terminal->id = opened.id;
  terminal->session_id = opened.session_id;
  terminal->execution_name = opened.execution_name;
  terminal->cwd = opened.cwd;
  terminal->route =
      route_ == DisplayRoute::kMirror && opened.execution_name.empty()
          ? DisplayRoute::kText
          : route_;
  terminals_[opened.id] = terminal;
  loop_->After(kEmbedTime,
               [this, weak = std::weak_ptr<ShownTerminal>(terminal)] {
                 const Shown terminal = weak.lock();
                 if (terminal != nullptr && !terminal->exit.has_value()) {
                   AttachIfUnambiguous(terminal);
                 }
               });
}

void Display::OnOutput(const std::string& id, absl::string_view text) {
  const Shown terminal = Find(id);
  if (terminal == nullptr || text.empty()) {
    return;
  }
  terminal->text.Append(text);
  if (terminal->route == DisplayRoute::kMeta) {
    terminal->pending.Append(text);
  }
  terminal->changed = true;
  FlushSoon(terminal);
}

void Display::OnEnded(const std::string& id, const ExitStatus& status) {
  const Shown terminal = Find(id);
  if (terminal == nullptr) {
    return;
  }
  terminal->exit = status;
  if (terminal->call_id.empty()) {
    AttachIfUnambiguous(terminal);
  } else {
    CatchUp(terminal);
  }
}

void Display::OnReleased(const std::string& id) {
  if (const Shown terminal = Find(id); terminal != nullptr) {
    terminal->holder = ShownTerminal::Holder::kNobody;
  }
}

void Display::BeforeDeletion(const std::string& id, PollLoop::Action done) {
  if (const Shown terminal = Find(id); terminal != nullptr) {
    mirrors_.WhenShown(terminal, std::move(done));
  } else {
    done();
  }
}

void Display::CatchUp(const Shown& terminal) {
  if (terminal->exit.has_value()) {
    Flush(*terminal);
    SendEnd(*terminal);
  } else {
    FlushSoon(terminal);
  }
}

void Display::FlushSoon(const Shown& terminal) {
  if (terminal->timer == ShownTerminal::Timer::kArmed) {
    return;
  }
  if (terminal->call_id.empty() || !terminal->changed) {
    return;
  }
  if (has_room_()) {
    Flush(*terminal);
  }
  terminal->timer = ShownTerminal::Timer::kArmed;
  loop_->After(
      terminal->route == DisplayRoute::kMeta ? kMetaInterval : kTextInterval,
      [this, weak = std::weak_ptr<ShownTerminal>(terminal)] {
        if (const Shown terminal = weak.lock(); terminal != nullptr) {
          terminal->timer = ShownTerminal::Timer::kIdle;
          FlushSoon(terminal);
        }
      });
}

void Display::Flush(ShownTerminal& terminal) {
  if (!terminal.changed) {
    return;
  }
  switch (terminal.route) {
    case DisplayRoute::kMeta:
      SendMembers(terminal.session_id, terminal.call_id,
                  OutputMeta(features_.output_member, terminal.id,
                             ShownText(terminal.pending)));
      terminal.pending.Clear();
      break;
    case DisplayRoute::kMirror:
      if (terminal.mirror_id.empty()) {
        SendContent(terminal.session_id, terminal.call_id);
      }
      break;
    case DisplayRoute::kText:
      SendContent(terminal.session_id, terminal.call_id);
      break;
  }
  terminal.changed = false;
}

void Display::SendEnd(ShownTerminal& terminal) {
  if (terminal.end == ShownTerminal::End::kReported) {
    return;
  }
  terminal.end = ShownTerminal::End::kReported;
  std::vector<std::string> members;
  if (terminal.meta == ShownTerminal::Meta::kAnnounced) {
    members.push_back(ExitMeta(terminal.id, *terminal.exit));
  }
  // rawOutput is for clients, and histories, that keep text only.
  const ToolCall* call = calls_.Find(terminal.session_id, terminal.call_id);
  if (terminal.route != DisplayRoute::kText && call != nullptr &&
      call->Get("rawOutput").empty()) {
    members.push_back(RawOutput(ShownText(terminal.text), *terminal.exit));
  }
  if (!members.empty()) {
    SendMembers(terminal.session_id, terminal.call_id,
                absl::StrJoin(members, ","));
  }
}

}  // namespace bridge
