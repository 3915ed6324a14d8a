#include "bridge/acp/terminals/signals.h"

#include <signal.h>

namespace bridge {
namespace {

using corral::v1::SignalExecutionRequest;

constexpr int kKillGraceSeconds = 2;

SignalExecutionRequest ToTree(const std::string& execution_name, int signal) {
  SignalExecutionRequest request;
  request.set_name(execution_name);
  request.set_signal(signal);
  request.set_scope(SignalExecutionRequest::TREE);
  return request;
}

}  // namespace

SignalExecutionRequest KillRequest(const std::string& execution_name) {
  SignalExecutionRequest request = ToTree(execution_name, SIGTERM);
  request.mutable_kill_after()->set_seconds(kKillGraceSeconds);
  return request;
}

SignalExecutionRequest SigkillRequest(const std::string& execution_name) {
  return ToTree(execution_name, SIGKILL);
}

bool HasArrived(const absl::Status& signal) {
  return signal.ok() || absl::IsFailedPrecondition(signal) ||
         absl::IsNotFound(signal);
}

}  // namespace bridge
