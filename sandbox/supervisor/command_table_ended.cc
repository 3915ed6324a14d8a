// The part of the table with commands that have ended: EndedCommands, and
// traces of those that are forgotten.

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/supervisor/command_table.h"
#include "sandbox/supervisor/ended_files.h"

namespace sandbox {
namespace {

// The time for which an ended execution is kept that somebody asked for.
constexpr absl::Duration kForgetDelay = absl::Milliseconds(200);
// Many that wait for the disk take memory between what is kept. It is given
// back so long after the last one of at least so many.
constexpr absl::Duration kTrimDelay = absl::Seconds(1);
constexpr int kTrimmed = 64;

}  // namespace

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
  // Those that were deleted since they were read are forgotten no more, and
  // those that were started since, perhaps with such an id, are in memory.
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
