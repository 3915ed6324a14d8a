#include "sandbox/supervisor/command_table.h"

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/supervisor/ended_files.h"

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
// The time for which an ended execution is kept that somebody asked for.
constexpr absl::Duration kForgetDelay = absl::Milliseconds(200);
// Many that wait for the disk take memory between what is kept. It is given
// back so long after the last one of at least so many.
constexpr absl::Duration kTrimDelay = absl::Seconds(1);
constexpr int kTrimmed = 64;
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

absl::StatusOr<EndedCommand*> CommandTable::Remember(const std::string& id) {
  absl::StatusOr<wire::ExecutionRecord> report =
      forgotten_.MayHave(id) ? ReadEnded(host_->spares->directory(), id)
                             : absl::NotFoundError(id);
  if (absl::IsNotFound(report.status())) {
    return MakeFailure(wire::Reply::NO_SUCH_EXECUTION,
                       absl::StrCat("no execution ", id));
  }
  if (!report.ok()) {
    return MakeFailure(
        wire::Reply::SHORTAGE,
        absl::StrCat("the record of ", id,
                     " cannot be read now: ", report.status().message()));
  }
  return &AddRemembered(*report);
}

EndedCommand& CommandTable::AddRemembered(const wire::ExecutionRecord& report) {
  const uint32_t charge = forgotten_.Take(report.id());
  EndedCommand& remembered =
      ended_.try_emplace(report.id(), host_, report, charge, /*synced=*/true)
          .first->second;
  // Only now, so that it was charged at any time.
  host_->quota->Charge(-static_cast<int64_t>(charge));
  ForgetLater();
  return remembered;
}

absl::Status CommandTable::RememberForRemoval(const std::string& id) {
  if (InMemory(id)) {
    return absl::OkStatus();
  }
  const absl::Status read = Remember(id).status();
  if (FailureOf(read) != wire::Reply::SHORTAGE) {
    return read;
  }
  // Whatever files it may have are removed.
  wire::ExecutionRecord unread;
  unread.set_id(id);
  for (const auto stream : {wire::STDOUT, wire::STDERR, wire::TERMINAL}) {
    unread.add_streams()->set_stream(stream);
    unread.mutable_streams()->rbegin()->set_end(UINT64_MAX);
  }
  AddRemembered(unread);
  return absl::OkStatus();
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

void CommandTable::ShrinkSpent() {
  for (auto entry = commands_.begin(); entry != commands_.end();) {
    const auto& [id, command] = *entry;
    if (!command->spent() || removals_.count(id) != 0) {
      ++entry;
      continue;
    }
    const auto ended =
        ended_
            .try_emplace(id, host_, command->report(), command->disk_bytes(),
                         synced_.erase(id) > 0)
            .first;
    entry = commands_.erase(entry);
    TryForget(ended);
  }
}

void CommandTable::OnSynced(const std::string& path) {
  const std::string id = path.substr(path.rfind('/') + 1);
  if (const auto ended = ended_.find(id); ended != ended_.end()) {
    ended->second.OnSynced();
    TryForget(ended);
  } else if (commands_.count(id) != 0) {
    synced_.insert(id);
  }
}

void CommandTable::TryForget(Ended ended) {
  const auto& [id, command] = *ended;
  if (removals_.count(id) != 0 || !command.is_in_files()) {
    return;
  }
  if (reading_.has_value() && reading_->busy()) {
    ForgetLater();  // the reading does not know it
    return;
  }
  if (forgotten_.Add(id, command.charged())) {
    ended->second.LeaveCharged();
    ended_.erase(ended);
    TrimLater();
  }
}

void CommandTable::TrimLater() {
  if (++untrimmed_ >= kTrimmed) {
    trimming_ = Timer(host_->timers, kTrimDelay, [this] {
      untrimmed_ = 0;
      ::malloc_trim(0);
    });
  }
}

void CommandTable::ForgetLater() {
  if (forgetting_.pending()) {
    return;
  }
  forgetting_ = Timer(host_->timers, kForgetDelay, [this] {
    for (auto next = ended_.begin(); next != ended_.end();) {
      TryForget(next++);
    }
  });
}

bool CommandTable::ExpireForgotten() {
  const absl::StatusOr<std::string> id =
      forgotten_.FirstCharged([this] { return ListForgotten(); });
  const absl::StatusOr<EndedCommand*> first =
      id.ok() ? Remember(*id) : id.status();
  if (first.ok()) {
    (*first)->Expire();
  }
  return first.ok();
}

absl::StatusOr<std::vector<std::string>> CommandTable::ListForgotten() const {
  ASSIGN_OR_RETURN(std::vector<std::string> ids,
                   ListExecutions(host_->spares->directory()));
  ids.erase(
      std::remove_if(ids.begin(), ids.end(),
                     [this](const std::string& id) { return InMemory(id); }),
      ids.end());
  return ids;
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

void CommandTable::Report(EndedReading::Done done) {
  report_ = std::move(done);
  if (forgotten_.empty()) {
    OnForgottenRead(wire::Snapshot());
    return;
  }
  if (!reading_.has_value()) {
    reading_.emplace(host_->loop, host_->timers, host_->storage,
                     make_background_);
  }
  if (reading_->busy()) {
    return;  // OnForgottenRead() adds all that has changed since it began
  }
  EndedReading::Wanted wanted;
  wanted.directory = host_->spares->directory();
  wanted.hashes = forgotten_.Hashes();
  for (const auto& [id, command] : commands_) {
    wanted.others.insert(id);
  }
  for (const auto& [id, command] : ended_) {
    wanted.others.insert(id);
  }
  reading_->Read(std::move(wanted), [this](wire::Snapshot read) {
    OnForgottenRead(std::move(read));
  });
}

void CommandTable::OnForgottenRead(wire::Snapshot read) {
  // What was deleted since it was read is no longer there, and what was started
  // since then, perhaps with an id that was deleted, is in memory.
  const std::vector<uint32_t> hashes = forgotten_.Hashes();
  auto* const reports = read.mutable_executions();
  reports->erase(
      std::remove_if(reports->begin(), reports->end(),
                     [&](const wire::ExecutionRecord& report) {
                       return InMemory(report.id()) ||
                              !std::binary_search(
                                  hashes.begin(), hashes.end(),
                                  ForgottenExecutions::HashOf(report.id()));
                     }),
      reports->end());
  for (const auto& [id, command] : commands_) {
    *read.add_executions() = command->report();
  }
  for (const auto& [id, command] : ended_) {
    if (command.report().state() != wire::ExecutionRecord::STARTING) {
      *read.add_executions() = command.report();
    }  // else it is being removed unread
  }
  const EndedReading::Done report = std::move(report_);
  report(std::move(read));
}

}  // namespace sandbox
