#include "sandbox/supervisor/end_writer.h"

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/storage/record_file.h"

namespace sandbox {
namespace {

constexpr absl::Duration kRetry = absl::Milliseconds(200);

}  // namespace

void EndWriter::Write(const wire::ExecutionRecord& end) {
  id_ = end.id();
  sealed_ = SealRecord(end);
  output_open_ = end.exit().output_open();
  Try();
}

void EndWriter::Try() {
  const bool has_output = output_open_ || files_->has_output();
  absl::StatusOr<std::shared_ptr<ExecutionFile>> written =
      files_->WriteEnd(sealed_);
  if (!written.ok()) {
    storage_->Fail(this, absl::StrCat("end of ", id_), written.status());
    retry_ = Timer(timers_, kRetry, [this] { Try(); });
    return;
  }
  retry_.Cancel();
  storage_->Succeed(this);
  sync_->SyncEnd(files_->path(), std::move(sealed_),
                 has_output ? nullptr : *std::move(written));
  written_();
}

}  // namespace sandbox
