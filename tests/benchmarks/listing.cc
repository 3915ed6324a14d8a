// Measures lists: `corral ps` with 1,000 sandboxes and 10,000 ended executions,
// and a list of 1,000 executions whose output policy is BLOCK.
//
//   bazel run -c opt //tests/benchmarks:listing
//
// Starts its own corrald. Of the sandboxes it writes only the records, as a
// server leaves them behind when the host goes down; nothing runs in them.

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "sandbox/base/log.h"
#include "sandbox/storage/record_file.h"
#include "server/core/execution_records.h"
#include "server/core/state_directory.h"
#include "tests/benchmarks/samples.h"
#include "tests/integration/corrald.h"
#include "tests/integration/integration_test.h"
#include "tests/process.h"

namespace tests {
namespace {

namespace fs = std::filesystem;
namespace wire = ::corral::supervisor::v1;

constexpr int kSandboxes = 1000;
constexpr int kExecutionsPerSandbox = 10;
constexpr int kBlocking = 1000;
constexpr int kRuns = 10;

constexpr char kConfiguration[] =
    "drain_seconds: 0 max_sandboxes: 2000 max_executions_per_sandbox: 2000 "
    "max_ended_executions: 20000 default_max_ended_executions: 2000";

void Write(const std::string& path,
           const google::protobuf::MessageLite& message) {
  std::ofstream(path, std::ios::binary) << sandbox::SealRecord(message);
}

void WriteExecution(const std::string& directory, const std::string& id) {
  fs::create_directories(directory);
  corral::v1::Command command;
  for (const char* word : {"cmake", "--build", "build", "--parallel", "8"}) {
    command.add_argv(word);
  }
  wire::ExecutionRecord record;
  record.set_id(id);
  record.set_create_time_ns(absl::GetCurrentTimeNanos());
  record.mutable_command()->set_original(command.SerializeAsString());
  Write(absl::StrCat(directory, "/start.pb"), record);
  record.clear_command();
  record.set_state(wire::ExecutionRecord::EXITED);
  record.set_end_time_ns(absl::GetCurrentTimeNanos());
  record.mutable_exit();
  Write(absl::StrCat(directory, "/exit.pb"), record);
}

void WriteSandboxes(const std::string& path) {
  const auto state = server::StateDirectory::Open(path).value();
  for (int i = 0; i < kSandboxes; ++i) {
    wire::SandboxSpec spec;
    spec.set_id(absl::StrCat("box-", i));
    spec.set_name(absl::StrCat(kTenant, "/sandboxes/", spec.id()));
    spec.set_directory(state->SandboxPath(spec.id()));
    spec.set_boot_id(state->boot_id());
    const absl::Status written = state->WriteSpec(spec);
    CHECK(written.ok()) << written.message();
    // A sandbox without it never began.
    std::ofstream(absl::StrCat(spec.directory(), "/control.sock"));
    for (int j = 0; j < kExecutionsPerSandbox; ++j) {
      const std::string id = absl::StrCat("job-", j);
      WriteExecution(server::ExecutionPath(spec.directory(), id), id);
    }
  }
}

// Runs corral, adds the time to `samples` and returns the number of lines that
// it printed.
int TimeCorral(const Corrald& server, const std::vector<std::string>& words,
               Samples& samples) {
  std::vector<std::string> command = {"./corral", "--server", server.address()};
  command.insert(command.end(), words.begin(), words.end());
  const absl::Time begin = absl::Now();
  Process corral(command);
  corral.CloseInput();
  const std::string output = corral.ReadOutput();
  CHECK(corral.Wait() == 0) << corral.ReadError();
  samples.Add(absl::ToDoubleMilliseconds(absl::Now() - begin));
  return static_cast<int>(std::count(output.begin(), output.end(), '\n'));
}

void MeasurePs(const Corrald& server) {
  // Until the server has read all records.
  constexpr int kLines = 1 + kSandboxes + kSandboxes * kExecutionsPerSandbox;
  Samples ignored;
  while (TimeCorral(server, {"ps"}, ignored) < kLines) {
  }
  for (const char* format : {"--all", "--json"}) {
    Samples samples;
    for (int i = 0; i < kRuns; ++i) {
      TimeCorral(server, {"ps", format}, samples);
    }
    PrintRow(absl::StrCat("corral ps ", format), "ms", samples,
             "1,000 sandboxes, 10,000 executions");
  }
}

void MeasureBlockingList(const Corrald& server) {
  Client client(server.Connect());
  corral::v1::CreateSandboxRequest create;
  create.set_parent(kTenant);
  const std::string sandbox = client.CreateSandbox(create);
  corral::v1::Command command = MakeCommand({"echo", "text"});
  command.mutable_output()->set_overflow(corral::v1::OutputPolicy::BLOCK);
  for (int i = 0; i < kBlocking; ++i) {
    client.Wait(client.Start(sandbox, command).name());
  }
  corral::v1::ListExecutionsRequest request;
  request.set_parent(sandbox);
  request.set_page_size(kBlocking);
  Samples samples;
  for (int i = 0; i < kRuns; ++i) {
    corral::v1::ListExecutionsResponse response;
    const absl::Time begin = absl::Now();
    const grpc::Status status =
        client.Call(&Client::ExecutionStub::ListExecutions, request, &response);
    samples.Add(absl::ToDoubleMilliseconds(absl::Now() - begin));
    CHECK(status.ok() && response.executions_size() == kBlocking)
        << status.error_message() << response.executions_size();
  }
  PrintRow("ListExecutions, BLOCK", "ms", samples, "1,000 executions");
}

void Measure() {
  Corrald server(kConfiguration);
  WriteSandboxes(server.state_directory());
  server.Start();
  PrintHeader();
  MeasurePs(server);
  MeasureBlockingList(server);
  server.Signal(SIGTERM);
  server.Wait();
}

}  // namespace
}  // namespace tests

int main() { tests::Measure(); }
