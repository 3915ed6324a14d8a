#include "tests/benchmarks/ended_executions.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/storage/record_file.h"
#include "server/core/execution_records.h"
#include "server/core/state_directory.h"

namespace tests {
namespace {

namespace wire = ::corral::supervisor::v1;

void WriteExecution(const std::string& path, const std::string& id) {
  corral::v1::Command command;
  for (const char* word : {"cmake", "--build", "build", "--parallel", "8"}) {
    command.add_argv(word);
  }
  wire::ExecutionRecord record;
  record.set_id(id);
  record.set_create_time_ns(absl::GetCurrentTimeNanos());
  record.mutable_command()->set_original(command.SerializeAsString());
  const auto file = *sandbox::ExecutionFile::Create(path);
  CHECK(file->WriteStart(sandbox::SealRecord(record)).ok());
  record.clear_command();
  record.set_state(wire::ExecutionRecord::EXITED);
  record.set_end_time_ns(absl::GetCurrentTimeNanos());
  record.mutable_exit();
  CHECK(file->WriteEnd(sandbox::SealRecord(record)).ok());
}

}  // namespace

absl::Status WriteEndedExecutions(const std::string& state_directory,
                                  int executions_per_sandbox) {
  ASSIGN_OR_RETURN(const auto state,
                   server::StateDirectory::Open(state_directory));
  for (int i = 0; i < kRecordedSandboxes; ++i) {
    wire::SandboxSpec spec;
    spec.set_id(absl::StrCat("box-", i));
    spec.set_name(absl::StrCat("tenants/default/sandboxes/", spec.id()));
    spec.set_directory(state->SandboxPath(spec.id()));
    spec.set_boot_id(state->boot_id());
    RETURN_IF_ERROR(state->WriteSpec(spec));
    // A sandbox without it never began.
    const std::ofstream control(
        absl::StrCat(spec.directory(), "/control.sock"));
    for (int j = 0; j < executions_per_sandbox; ++j) {
      const std::string id = absl::StrCat("job-", j);
      WriteExecution(server::ExecutionPath(spec.directory(), id), id);
    }
  }
  return absl::OkStatus();
}

}  // namespace tests
