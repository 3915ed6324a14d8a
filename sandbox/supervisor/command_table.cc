#include "sandbox/supervisor/command_table.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/status_macros.h"

namespace sandbox {
namespace {

// The time after which work is done that nobody waits for. At once, it would
// take the CPU from those who pass the answer on.
constexpr absl::Duration kRest = absl::Milliseconds(1);
// The time after which a command that still runs is no short one, whose end
// would have to wait for such work.
constexpr absl::Duration kShort = absl::Milliseconds(10);
// Pauses between attempts to remove a group whose processes were killed: the
// first one, and the longest one if a process is slow to end.
constexpr absl::Duration kRemoveRetry = absl::Milliseconds(2);
constexpr absl::Duration kLongestRemoveRetry = absl::Milliseconds(100);
// The delay between attempts to write to a disk that fails.
constexpr absl::Duration kStorageRetry = absl::Milliseconds(200);

}  // namespace

void CommandTable::Start(wire::StartExecution start, const Done& done) {
  const std::string id = start.id();
  // The file of one that is forgotten keeps its id taken.
  if (InMemory(id)) {
    done(MakeFailure(wire::Reply::EXECUTION_EXISTS,
                     absl::StrCat("execution ", id, " exists")));
    return;
  }
  auto command = std::make_unique<SupervisedCommand>(host_, std::move(start));
  const absl::Status prepared = command->Prepare();
  if (!prepared.ok()) {
    // Reports a disk that refuses files, until it takes them.
    PrepareAfter(kRest);
    done(prepared);
    return;
  }
  PrepareForNext(kShort);
  SupervisedCommand& added = *(commands_[id] = std::move(command));
  added.Start([done] { done(absl::OkStatus()); });
}

void CommandTable::PrepareForNext(absl::Duration delay) {
  if (!host_->ephemeral) {
    PrepareAfter(delay);
  }
}

void CommandTable::PrepareAfter(absl::Duration delay) {
  preparation_ = Timer(host_->timers, delay, [this] {
    host_->spares->PrepareFiles();
    host_->spares->PrepareGroup();
  });
}

absl::StatusOr<CommandTable::Found> CommandTable::Find(const std::string& id) {
  if (const auto found = commands_.find(id); found != commands_.end()) {
    return Found(found->second.get());
  }
  if (const auto found = ended_.find(id); found != ended_.end()) {
    return Found(&found->second);
  }
  ASSIGN_OR_RETURN(EndedCommand* const remembered, Remember(id));
  return Found(remembered);
}

void CommandTable::OnEnd(const std::string& id) {
  host_->timers->After(kRest, [this, id] {
    const auto ended = commands_.find(id);
    if (ended != commands_.end()) {
      ended->second->ReleaseCgroup();
    }
    ShrinkSpent();
  });
  PrepareForNext(kRest);
  // Deferred: the command is on the stack.
  host_->loop->Defer([this, id] { TryRemove(id, kRemoveRetry); });
}

void CommandTable::Delete(const std::string& id, const Done& done) {
  const absl::Status found = RememberForRemoval(id);
  if (!found.ok()) {
    done(found);
    return;
  }
  std::vector<Done>& waiting = removals_[id];
  waiting.push_back(done);
  if (waiting.size() > 1) {
    return;
  }
  const auto command = commands_.find(id);
  // A command that has ended and left no process needs no kill.
  if (command != commands_.end() &&
      !(command->second->ended() && command->second->ReleaseCgroup())) {
    command->second->Condemn(wire::ExitRecord::CLIENT_SIGNAL);
    command->second->Kill();
  }
  host_->loop->Defer([this, id] { TryRemove(id, kRemoveRetry); });
}

void CommandTable::TryRemove(const std::string& id, absl::Duration pause) {
  if (removals_.count(id) == 0 || !InMemory(id)) {
    return;  // removed meanwhile
  }
  if (const auto found = commands_.find(id); found != commands_.end()) {
    if (!found->second->ended()) {
      return;  // its end calls this again
    }
    if (!found->second->ReleaseCgroup()) {
      host_->timers->After(pause, [this, id, pause] {
        TryRemove(id, std::min(2 * pause, kLongestRemoveRetry));
      });
      return;
    }
  }
  if (!std::visit([](auto* found) { return found->RemoveFiles(); },
                  *Find(id))) {
    host_->timers->After(kStorageRetry,
                         [this, id] { TryRemove(id, kRemoveRetry); });
    return;
  }
  commands_.erase(id);
  ended_.erase(id);
  synced_.erase(id);
  const std::vector<Done> waiting = std::move(removals_[id]);
  removals_.erase(id);
  for (const Done& done : waiting) {
    done(absl::OkStatus());
  }
}

void CommandTable::Clear() {
  commands_.clear();
  ended_.clear();
  forgotten_.Clear();
  synced_.clear();
  reading_.reset();
}

bool CommandTable::Owns(pid_t pid) {
  return std::any_of(commands_.begin(), commands_.end(),
                     [pid](auto& entry) { return entry.second->Owns(pid); });
}

bool CommandTable::ReapIfOwn(pid_t pid) {
  return std::any_of(commands_.begin(), commands_.end(), [pid](auto& entry) {
    return entry.second->ReapIfOwn(pid);
  });
}

void CommandTable::Condemn(wire::ExitRecord::Cause cause) {
  for (const auto& [id, command] : commands_) {
    command->Condemn(cause);
  }
}

bool CommandTable::AnyRuns() const {
  return std::any_of(commands_.begin(), commands_.end(), [](const auto& entry) {
    return entry.second->state() == wire::ExecutionRecord::RUNNING;
  });
}

bool CommandTable::AnyIsLost() const {
  return std::any_of(commands_.begin(), commands_.end(),
                     [](const auto& entry) { return entry.second->lost(); });
}

void CommandTable::ReleaseCgroups() {
  for (const auto& [id, command] : commands_) {
    command->ReleaseCgroup();
  }
}

}  // namespace sandbox
