#include "bridge/acp/display/mirrors.h"

#include <optional>
#include <utility>

#include "bridge/jsonrpc/json.h"
#include "sandbox/base/log.h"

namespace bridge {
namespace {

constexpr size_t kMirrorBytes = 1 << 20;

Json Reference(const ShownTerminal& terminal) {
  return {{"sessionId", terminal.session_id},
          {"terminalId", terminal.mirror_id}};
}

void RunAll(ShownTerminal& terminal) {
  for (PollLoop::Action& action : std::exchange(terminal.when_shown, {})) {
    action();
  }
}

// Returns true if somebody ended `corral attach`: by a signal, or with status
// 0, which it has after a signal that it catches.
bool WasStopped(const Json& exit) {
  return exit.is_object() &&
         ((exit.contains("signal") && exit["signal"].is_string()) ||
          (exit.contains("exitCode") && exit["exitCode"] == 0));
}

}  // namespace

Mirrors::Mirrors(PollLoop* loop, OwnRequests* requests,
                 std::vector<std::string> attach, Reactions reactions,
                 absl::Duration longest_wait)
    : loop_(loop),
      requests_(requests),
      attach_(std::move(attach)),
      reactions_(std::move(reactions)),
      longest_wait_(longest_wait) {}

void Mirrors::Open(const std::shared_ptr<ShownTerminal>& terminal) {
  terminal->mirror = ShownTerminal::Mirror::kAsked;
  Json words(std::vector<std::string>(attach_.begin() + 1, attach_.end()));
  words.push_back(terminal->execution_name);
  requests_->Request("terminal/create",
                     {{"sessionId", terminal->session_id},
                      {"command", attach_.front()},
                      {"args", std::move(words)},
                      {"outputByteLimit", kMirrorBytes}},
                     [this, terminal](const Message& response) {
                       OnOpened(terminal, response);
                     });
}

void Mirrors::OnOpened(const std::shared_ptr<ShownTerminal>& terminal,
                       const Message& response) {
  const std::optional<std::string> id =
      StringMember(response.result(), "terminalId");
  if (terminal->mirror == ShownTerminal::Mirror::kReleased) {
    if (id.has_value()) {
      terminal->mirror_id = *id;
      SendRelease(*terminal);
    }
    return;
  }
  if (!id.has_value()) {
    LOG(WARNING) << "the client refused a terminal for " << terminal->id;
    terminal->mirror = ShownTerminal::Mirror::kNone;
    terminal->route = DisplayRoute::kText;
    RunAll(*terminal);
  } else {
    terminal->mirror = ShownTerminal::Mirror::kOpen;
    terminal->mirror_id = *id;
    requests_->Request(
        "terminal/wait_for_exit", Reference(*terminal),
        [this, terminal](const Message& exit) { OnEnded(terminal, exit); });
  }
  reactions_.opened(terminal);
}

void Mirrors::OnEnded(const std::shared_ptr<ShownTerminal>& terminal,
                      const Message& response) {
  if (terminal->mirror != ShownTerminal::Mirror::kOpen) {
    return;
  }
  terminal->mirror = ShownTerminal::Mirror::kEnded;
  const Json exit = ParseJson(response.result()).value_or(nullptr);
  if (!terminal->exit.has_value() && WasStopped(exit)) {
    reactions_.stopped(terminal);
  } else if (!terminal->exit.has_value()) {
    LOG(WARNING) << "the client's terminal for " << terminal->id
                 << " ended early: " << response.result();
    Release(*terminal);
    reactions_.failed(terminal);
  }
  RunAll(*terminal);
  if (terminal->keep == ShownTerminal::Keep::kUntilShown) {
    Release(*terminal);
  }
}

void Mirrors::ReleaseWhenShown(ShownTerminal& terminal) {
  terminal.keep = ShownTerminal::Keep::kUntilShown;
  if (terminal.mirror == ShownTerminal::Mirror::kEnded) {
    Release(terminal);
  }
}

void Mirrors::Release(ShownTerminal& terminal) {
  switch (terminal.mirror) {
    case ShownTerminal::Mirror::kNone:
    case ShownTerminal::Mirror::kReleased:
      return;
    case ShownTerminal::Mirror::kOpen:
    case ShownTerminal::Mirror::kEnded:
      SendRelease(terminal);
      [[fallthrough]];
    case ShownTerminal::Mirror::kAsked:
      terminal.mirror = ShownTerminal::Mirror::kReleased;
      terminal.route = DisplayRoute::kText;
      RunAll(terminal);
      return;
  }
}

void Mirrors::SendRelease(const ShownTerminal& terminal) {
  requests_->Request("terminal/release", Reference(terminal),
                     [](const Message&) {});
}

void Mirrors::WhenShown(const std::shared_ptr<ShownTerminal>& terminal,
                        PollLoop::Action done) {
  if (terminal->mirror != ShownTerminal::Mirror::kAsked &&
      terminal->mirror != ShownTerminal::Mirror::kOpen) {
    done();
    return;
  }
  terminal->when_shown.push_back(std::move(done));
  loop_->After(longest_wait_, [weak = std::weak_ptr<ShownTerminal>(terminal)] {
    if (const auto shown = weak.lock(); shown != nullptr) {
      RunAll(*shown);
    }
  });
}

}  // namespace bridge
