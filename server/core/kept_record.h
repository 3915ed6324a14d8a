// The record of an execution, in the form of the API. Serialized once the
// execution has ended, since thousands of ended ones are kept and the message
// takes several times as much.
//
// Not thread-safe.

#ifndef SERVER_CORE_KEPT_RECORD_H_
#define SERVER_CORE_KEPT_RECORD_H_

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "corral/v1/execution.pb.h"

namespace server {

class KeptRecord {
 public:
  // The state is STARTING.
  KeptRecord();

  corral::v1::Execution::State state() const { return state_; }
  bool ended() const { return unended_ == nullptr; }

  // Returns a copy.
  corral::v1::Execution Get() const;

  void Change(absl::FunctionRef<void(corral::v1::Execution*)> change);

 private:
  corral::v1::Execution::State state_ = corral::v1::Execution::STARTING;
  // Null once the state is that of an end.
  std::unique_ptr<corral::v1::Execution> unended_;
  std::string ended_;
};

}  // namespace server

#endif  // SERVER_CORE_KEPT_RECORD_H_
