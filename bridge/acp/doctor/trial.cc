#include "bridge/acp/doctor/trial.h"

#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "bridge/client/call.h"
#include "bridge/client/request_id.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using corral::v1::Execution;
using corral::v1::ExecutionService;

constexpr int kTimeoutSeconds = 30;

void Set(const std::string& variable, corral::v1::Command& command) {
  const size_t equals = variable.find('=');
  const std::string name = variable.substr(0, equals);
  const char* const value = equals == std::string::npos
                                ? std::getenv(name.c_str())
                                : variable.c_str() + equals + 1;
  if (value != nullptr) {
    auto* const set = command.add_environment();
    set->set_name(name);
    set->set_value(value);
  }
}

}  // namespace

absl::StatusOr<Execution> Run(client::Connection& connection,
                              const std::string& sandbox, const Trial& trial) {
  corral::v1::StartExecutionRequest request;
  request.set_parent(sandbox);
  request.set_request_id(client::NewRequestId());
  for (const std::string& word : trial.argv) {
    request.mutable_command()->add_argv(word);
  }
  for (const std::string& variable : trial.variables) {
    Set(variable, *request.mutable_command());
  }
  request.mutable_command()->mutable_wall_timeout()->set_seconds(
      kTimeoutSeconds);
  ASSIGN_OR_RETURN(
      const Execution started,
      client::Call(connection, &ExecutionService::StubInterface::StartExecution,
                   request));
  ASSIGN_OR_RETURN(Execution ended,
                   client::WaitForEnd(connection, started.name()));
  if (ended.state() != Execution::EXITED) {
    return absl::FailedPreconditionError(absl::StrCat(
        "a command did not start: ", ended.start_failure().message()));
  }
  return ended;
}

absl::StatusOr<std::string> OutputOf(client::Connection& connection,
                                     const Execution& execution,
                                     corral::v1::Stream stream) {
  corral::v1::ReadOutputRequest request;
  request.set_name(execution.name());
  request.set_stream(stream);
  ASSIGN_OR_RETURN(
      const corral::v1::ReadOutputResponse read,
      client::Call(connection, &ExecutionService::StubInterface::ReadOutput,
                   request));
  return static_cast<std::string>(absl::StripAsciiWhitespace(read.data()));
}

bool Succeeded(const Execution& ended) {
  return ended.exit().has_code() && ended.exit().code() == 0;
}

}  // namespace bridge
