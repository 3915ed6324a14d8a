#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/process_memory.h"
#include "tests/benchmarks/samples.h"

namespace tests {
namespace {

using ::corral::v1::Execution;
using ::corral::v1::ExecutionService;
using ::corral::v1::OutputEvent;

constexpr int kExecutions = 1000;
constexpr int kReaders = 200;

struct Reader {
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<OutputEvent>> stream;
};

absl::StatusOr<std::string> Start(ExecutionService::Stub& stub,
                                  const std::string& sandbox,
                                  const std::vector<std::string>& argv) {
  grpc::ClientContext context;
  corral::v1::StartExecutionRequest request;
  request.set_parent(sandbox);
  request.mutable_command()->set_stdin(true);
  for (const std::string& argument : argv) {
    request.mutable_command()->add_argv(argument);
  }
  Execution execution;
  RETURN_IF_ERROR(FromGrpc(stub.StartExecution(&context, request, &execution)));
  return execution.name();
}

absl::Status Wait(ExecutionService::Stub& stub, const std::string& name) {
  grpc::ClientContext context;
  corral::v1::WaitExecutionRequest request;
  request.set_name(name);
  Execution execution;
  return FromGrpc(stub.WaitExecution(&context, request, &execution));
}

// Returns when the first event has come.
absl::StatusOr<std::unique_ptr<Reader>> Attach(ExecutionService::Stub& stub,
                                               const std::string& name) {
  auto reader = std::make_unique<Reader>();
  corral::v1::StreamOutputRequest request;
  request.set_name(name);
  reader->stream = stub.StreamOutput(&reader->context, request);
  OutputEvent event;
  if (!reader->stream->Read(&event)) {
    return FromGrpc(reader->stream->Finish());
  }
  return reader;
}

// The largest process that the server itself started.
absl::StatusOr<double> LargestSupervisorKilobytes(pid_t server_pid) {
  absl::StatusOr<double> largest = absl::NotFoundError("no supervisor");
  for (const auto& [pid, parent] : ReadParents()) {
    if (parent != server_pid) {
      continue;
    }
    const absl::StatusOr<double> kilobytes = ReadPssKilobytes(pid);
    if (kilobytes.ok() && (!largest.ok() || *kilobytes > *largest)) {
      largest = kilobytes;
    }
  }
  return largest;
}

absl::Status PrintMemory(const Setting& setting, const std::string& when) {
  Samples server;
  Samples supervisor;
  ASSIGN_OR_RETURN(const double server_kilobytes,
                   ReadPssKilobytes(setting.server_pid));
  ASSIGN_OR_RETURN(const double supervisor_kilobytes,
                   LargestSupervisorKilobytes(setting.server_pid));
  server.Add(server_kilobytes);
  supervisor.Add(supervisor_kilobytes);
  PrintRow("PSS of corrald", "kB", server, when);
  PrintRow("PSS of a supervisor", "kB", supervisor, when);
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureRetainedMemory(const Setting& setting) {
  ASSIGN_OR_RETURN(const std::string sandbox,
                   setting.corral.CreateSandbox(setting.workspace));
  ExecutionService::Stub& stub = setting.corral.executions();
  ASSIGN_OR_RETURN(const std::string running, Start(stub, sandbox, {"cat"}));
  RETURN_IF_ERROR(PrintMemory(setting, "1 execution"));
  for (int i = 0; i < kExecutions; ++i) {
    ASSIGN_OR_RETURN(const std::string name,
                     Start(stub, sandbox, {"echo", "kept"}));
    RETURN_IF_ERROR(Wait(stub, name));
  }
  RETURN_IF_ERROR(PrintMemory(setting, "1,000 executions kept"));
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < kReaders; ++i) {
    ASSIGN_OR_RETURN(std::unique_ptr<Reader> reader, Attach(stub, running));
    readers.push_back(std::move(reader));
  }
  RETURN_IF_ERROR(PrintMemory(setting, "and 200 readers"));
  RETURN_IF_ERROR(setting.corral.DeleteSandbox(sandbox));
  for (const std::unique_ptr<Reader>& reader : readers) {
    OutputEvent event;
    while (reader->stream->Read(&event)) {
    }
    RETURN_IF_ERROR(FromGrpc(reader->stream->Finish()));
  }
  return absl::OkStatus();
}

}  // namespace tests
