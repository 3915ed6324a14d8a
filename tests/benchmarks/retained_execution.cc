#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/processes.h"
#include "tests/benchmarks/samples.h"
#include "tests/benchmarks/sandbox_processes.h"

namespace tests {
namespace {

using ::corral::v1::OutputEvent;

// Many: a heap that does not give a page back counts little then.
constexpr int kExecutions = 9000;
// They fill the heaps.
constexpr int kWarmUp = 50;
constexpr int kReaders = 200;

// The memory and disk space of the server and one sandbox.
struct Cost {
  double server_kilobytes = 0;
  double supervisor_kilobytes = 0;
  double disk_kilobytes = 0;
  double directory_kilobytes = 0;
  double inodes = 0;
};

absl::StatusOr<Cost> ReadCost(const Setting& setting,
                              const std::string& sandbox) {
  Cost cost;
  ASSIGN_OR_RETURN(const SandboxProcesses processes,
                   FindProcesses(setting.corral, sandbox, setting.server_pid));
  // Records are synced, and memory is given back, behind the answers.
  absl::SleepFor(absl::Seconds(3));
  ASSIGN_OR_RETURN(cost.server_kilobytes,
                   ReadPrivateKilobytes(setting.server_pid));
  ASSIGN_OR_RETURN(cost.supervisor_kilobytes,
                   ReadPrivateKilobytes(processes.supervisor));
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator
           entry(setting.state_directory, error),
       end;
       !error && entry != end; entry.increment(error)) {
    struct stat info = {};
    if (lstat(entry->path().c_str(), &info) == 0) {
      // Blocks of 512 bytes, whatever the file system's are.
      double& kilobytes = S_ISDIR(info.st_mode) ? cost.directory_kilobytes
                                                : cost.disk_kilobytes;
      kilobytes += static_cast<double>(info.st_blocks) / 2;
      cost.inodes += 1;
    }
  }
  return cost;
}

struct Reader {
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<OutputEvent>> stream;
};

// Returns when the first event has come.
absl::StatusOr<std::unique_ptr<Reader>> Attach(const Setting& setting,
                                               const std::string& name) {
  auto reader = std::make_unique<Reader>();
  corral::v1::StreamOutputRequest request;
  request.set_name(name);
  reader->stream =
      setting.corral.executions().StreamOutput(&reader->context, request);
  OutputEvent event;
  if (!reader->stream->Read(&event)) {
    return FromGrpc(reader->stream->Finish());
  }
  return reader;
}

void Add(const Setting& setting, const std::string& figure,
         const std::string& unit, double value, Goal goal,
         const std::string& note = "") {
  setting.report.Add({figure, unit, Samples(value), "", {}, goal, note});
}

void AddCosts(const Setting& setting, const Cost& before, const Cost& after) {
  const auto each = [](double first, double last) {
    return (last - first) / kExecutions;
  };
  const std::string figure = "an ended execution that printed a line, ";
  const std::string note = absl::StrCat("mean of ", kExecutions);
  Add(setting, figure + "corrald", "kB",
      each(before.server_kilobytes, after.server_kilobytes), Goal::AtMost(1),
      note);
  // Half of a page in a hundred executions is noise.
  Add(setting, figure + "supervisor", "kB",
      each(before.supervisor_kilobytes, after.supervisor_kilobytes),
      Goal::AtMost(0.02), "goal: none");
  Add(setting, figure + "disk", "kB",
      each(before.disk_kilobytes, after.disk_kilobytes), Goal::AtMost(8), note);
  Add(setting, figure + "its name on the disk", "kB",
      each(before.directory_kilobytes, after.directory_kilobytes), Goal::None(),
      note);
  Add(setting, figure + "inodes", "", each(before.inodes, after.inodes),
      Goal::AtMost(2), note);
}

// Measures the memory for each client that follows a running command.
absl::Status MeasureReaders(const Setting& setting,
                            const std::string& sandbox) {
  ASSIGN_OR_RETURN(const std::string running,
                   setting.corral.Start(sandbox, {"cat"}));
  ASSIGN_OR_RETURN(const double before,
                   ReadPrivateKilobytes(setting.server_pid));
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < kReaders; ++i) {
    ASSIGN_OR_RETURN(std::unique_ptr<Reader> reader, Attach(setting, running));
    readers.push_back(std::move(reader));
  }
  ASSIGN_OR_RETURN(const double after,
                   ReadPrivateKilobytes(setting.server_pid));
  Add(setting, "a stream that follows a command, corrald", "kB",
      (after - before) / kReaders, Goal::None(),
      absl::StrCat("mean of ", kReaders));
  RETURN_IF_ERROR(setting.corral.DeleteExecution(running));
  for (const std::unique_ptr<Reader>& reader : readers) {
    OutputEvent event;
    while (reader->stream->Read(&event)) {
    }
    RETURN_IF_ERROR(FromGrpc(reader->stream->Finish()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureRetainedExecution(const Setting& setting) {
  ASSIGN_OR_RETURN(const std::string sandbox,
                   setting.corral.CreateSandbox(setting.workspace,
                                                kWarmUp + kExecutions + 1));
  const auto run = [&](int count) -> absl::Status {
    for (int i = 0; i < count; ++i) {
      RETURN_IF_ERROR(
          setting.corral.RunCommand(sandbox, {"echo", "kept"}).status());
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(run(kWarmUp));
  ASSIGN_OR_RETURN(const Cost before, ReadCost(setting, sandbox));
  RETURN_IF_ERROR(run(kExecutions));
  ASSIGN_OR_RETURN(const Cost after, ReadCost(setting, sandbox));
  AddCosts(setting, before, after);
  RETURN_IF_ERROR(MeasureReaders(setting, sandbox));
  return setting.corral.DeleteSandbox(sandbox);
}

}  // namespace tests
