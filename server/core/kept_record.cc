#include "server/core/kept_record.h"

#include <memory>

#include "absl/functional/function_ref.h"
#include "corral/v1/execution.pb.h"
#include "sandbox/base/log.h"
#include "server/api/conversion.h"

namespace server {

KeptRecord::KeptRecord() : unended_(std::make_unique<corral::v1::Execution>()) {
  unended_->set_state(state_);
}

corral::v1::Execution KeptRecord::Get() const {
  if (unended_ != nullptr) {
    return *unended_;
  }
  corral::v1::Execution record;
  CHECK(record.ParseFromString(ended_));
  return record;
}

void KeptRecord::Change(
    absl::FunctionRef<void(corral::v1::Execution*)> change) {
  if (unended_ == nullptr) {
    unended_ = std::make_unique<corral::v1::Execution>(Get());
  }
  change(unended_.get());
  state_ = unended_->state();
  if (IsEnd(state_)) {
    ended_ = unended_->SerializeAsString();
    unended_.reset();
  }
}

}  // namespace server
