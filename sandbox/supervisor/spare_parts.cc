#include "sandbox/supervisor/spare_parts.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "sandbox/base/status_macros.h"

namespace sandbox {
namespace {

constexpr absl::Duration kRetry = absl::Milliseconds(200);

}  // namespace

void SpareParts::PrepareGroup() {
  if (stopped_ || group_ != nullptr) {
    return;
  }
  absl::StatusOr<std::unique_ptr<CommandGroup>> group = TakeGroup();
  if (group.ok()) {
    group_ = *std::move(group);
  }
}

void SpareParts::PrepareFiles() {
  if (stopped_ || files_.valid()) {
    return;
  }
  // No id of an execution has a dot.
  absl::StatusOr<ExecutionFiles> files = ExecutionFiles::Create(
      directory_, absl::StrCat(".spare-", next_number_++), /*terminal=*/false);
  if (!files.ok()) {
    storage_->Fail(this, "files of executions", files.status());
    retry_ = Timer(timers_, kRetry, [this] { PrepareFiles(); });
    return;
  }
  files_ = *std::move(files);
  storage_->Succeed(this);
}

absl::StatusOr<std::unique_ptr<CommandGroup>> SpareParts::TakeGroup() {
  return group_ != nullptr ? std::move(group_)
                           : make_group_(absl::StrCat("e-", next_number_++));
}

absl::StatusOr<ExecutionFiles> SpareParts::TakeFiles(const std::string& id,
                                                     bool terminal) {
  if (terminal || !files_.valid()) {
    return ExecutionFiles::Create(directory_, id, terminal);
  }
  RETURN_IF_ERROR(files_.Rename(directory_, id));
  return std::exchange(files_, ExecutionFiles());
}

void SpareParts::Stop() {
  stopped_ = true;
  retry_.Cancel();
  if (group_ != nullptr) {
    (void)group_->Remove();
    group_.reset();
  }
}

}  // namespace sandbox
