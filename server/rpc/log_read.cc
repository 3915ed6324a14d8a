#include "server/rpc/log_read.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "sandbox/base/status_macros.h"
#include "server/api/errors.h"
#include "server/core/execution.h"

namespace server {
namespace {

// The delay after which a client should retry when no descriptor was left.
constexpr absl::Duration kOpenRetry = absl::Milliseconds(200);

}  // namespace

LogRead::LogRead(std::shared_ptr<Execution> execution,
                 corral::v1::Stream stream, Execution::LogReader log,
                 uint64_t offset, size_t size, std::string buffer)
    : execution_(std::move(execution)),
      stream_(stream),
      log_(std::move(log)),
      offset_(offset),
      data_(std::move(buffer)) {
  data_.resize(size);
}

bool LogRead::Try() {
  if (log_ == nullptr) {
    log_ = execution_->FindLog(stream_);
  }
  if (log_ == nullptr) {
    return false;
  }
  const absl::StatusOr<std::optional<size_t>> got =
      log_->TryRead(offset_, data_.data(), data_.size());
  // An error is ignored here: Run() tries again and finds out what is kept.
  if (!got.ok() || !got->has_value() || **got == 0) {
    return false;
  }
  data_.resize(**got);
  return true;
}

void LogRead::Run() { status_ = Read(); }

absl::Status LogRead::Read() {
  if (log_ == nullptr) {
    ASSIGN_OR_RETURN(log_, execution_->OpenLog(stream_));
  }
  if (data_.empty()) {
    return absl::OkStatus();
  }
  const absl::StatusOr<size_t> got =
      log_->Read(offset_, data_.data(), data_.size());
  if (absl::IsOutOfRange(got.status())) {
    RETURN_IF_ERROR(execution_->ReadLog(stream_, *log_));
  }
  RETURN_IF_ERROR(got.status());
  if (*got == 0) {
    return absl::DataLossError("the log is shorter than was reported");
  }
  data_.resize(*got);
  return absl::OkStatus();
}

absl::Status ToReadError(const Execution& execution,
                         const absl::Status& cause) {
  return absl::IsResourceExhausted(cause)
             ? SandboxUnavailable(execution.sandbox().ToString(),
                                  cause.message(), kOpenRetry, "READY")
             : ServerFault("output", cause);
}

}  // namespace server
