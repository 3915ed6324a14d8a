#include "sandbox/supervisor/spare_parts.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "sandbox/base/status_macros.h"

namespace sandbox {
namespace {

constexpr absl::Duration kRetry = absl::Milliseconds(200);
// A group takes about ten descriptors.
constexpr size_t kMaxGroups = 8;

}  // namespace

void SpareParts::PrepareGroup() {
  if (stopped_ || !groups_.empty()) {
    return;
  }
  absl::StatusOr<std::unique_ptr<CommandGroup>> group = TakeGroup();
  if (group.ok()) {
    groups_.push_back(*std::move(group));
  }
}

absl::Status SpareParts::LimitGroups(const CgroupLimits& limits) {
  for (const std::unique_ptr<CommandGroup>& group : groups_) {
    RETURN_IF_ERROR(group->SetLimits(limits));
  }
  return absl::OkStatus();
}

bool SpareParts::GiveBack(std::unique_ptr<CommandGroup>& group) {
  if (!stopped_ && groups_.size() < kMaxGroups && group->Recycle().ok()) {
    groups_.push_back(std::move(group));
    return true;
  }
  if (!group->Remove().ok()) {
    return false;
  }
  group.reset();
  return true;
}

void SpareParts::PrepareFiles() {
  if (stopped_ || files_.valid()) {
    return;
  }
  // No id of an execution has a dot.
  absl::StatusOr<ExecutionFiles> files = ExecutionFiles::Create(
      directory_, absl::StrCat(".spare-", next_number_++));
  if (!files.ok()) {
    storage_->Fail(this, "files of executions", files.status());
    retry_ = Timer(timers_, kRetry, [this] { PrepareFiles(); });
    return;
  }
  files_ = *std::move(files);
  storage_->Succeed(this);
}

absl::StatusOr<std::unique_ptr<CommandGroup>> SpareParts::TakeGroup() {
  if (groups_.empty()) {
    return make_group_(absl::StrCat("e-", next_number_++));
  }
  std::unique_ptr<CommandGroup> group = std::move(groups_.back());
  groups_.pop_back();
  return group;
}

absl::StatusOr<ExecutionFiles> SpareParts::TakeFiles(const std::string& id) {
  if (!files_.valid()) {
    return ExecutionFiles::Create(directory_, id);
  }
  RETURN_IF_ERROR(files_.Rename(directory_, id));
  return std::exchange(files_, ExecutionFiles());
}

void SpareParts::Stop() {
  stopped_ = true;
  retry_.Cancel();
  for (const std::unique_ptr<CommandGroup>& group : groups_) {
    (void)group->Remove();
  }
  groups_.clear();
}

}  // namespace sandbox
