// Measures a take-over. Writes the records of ended executions, whose number is
// the first argument (100000), in sandboxes, whose number is the second (100).
// Prints how long Recover() holds up serving, how long it takes until all
// records are read, and how much memory that takes. No sandbox has a
// supervisor.

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "sandbox/base/log.h"
#include "sandbox/client/supervisor_connection.h"
#include "sandbox/client/supervisor_launcher.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/storage/record_file.h"
#include "server/core/execution_records.h"
#include "server/core/lanes.h"
#include "server/core/sandboxes.h"
#include "server/core/state_directory.h"
#include "server/core/storage_health.h"
#include "server/runtime/activity.h"
#include "server/runtime/heap_trim.h"
#include "server/runtime/thread_timer_queue.h"

namespace server {
namespace {

namespace wire = sandbox::wire;

// Finds no supervisor.
class NoLauncher : public sandbox::SupervisorLauncher {
 public:
  std::unique_ptr<sandbox::SupervisorConnection> Create(
      const wire::SandboxSpec& /*spec*/,
      sandbox::SupervisorObserver* /*observer*/, Created /*created*/) override {
    return nullptr;
  }
  absl::StatusOr<std::unique_ptr<sandbox::SupervisorConnection>> Adopt(
      const wire::SandboxSpec& spec,
      sandbox::SupervisorObserver* /*observer*/) override {
    return absl::NotFoundError(spec.directory());
  }
};

void WriteExecution(const std::string& path, const std::string& id) {
  corral::v1::Command command;
  command.add_argv("/bin/true");
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

void WriteSandbox(const StateDirectory& state, const std::string& id,
                  int executions) {
  wire::SandboxSpec spec;
  spec.set_id(id);
  spec.set_name(absl::StrCat("tenants/default/sandboxes/", id));
  spec.set_directory(state.SandboxPath(id));
  spec.set_boot_id(state.boot_id());
  const absl::Status written = state.WriteSpec(spec);
  CHECK(written.ok()) << written.message();
  for (int i = 0; i < executions; ++i) {
    const std::string execution = absl::StrCat("job-", i);
    WriteExecution(ExecutionPath(spec.directory(), execution), execution);
  }
  std::ofstream(absl::StrCat(spec.directory(), "/control.sock"));
}

int64_t ResidentMiB() {
  std::ifstream status("/proc/self/statm");
  int64_t size = 0;
  int64_t resident = 0;
  status >> size >> resident;
  return resident * 4096 / (1 << 20);
}

void Measure(int executions, int sandboxes) {
  const std::string path = absl::StrCat(
      std::filesystem::temp_directory_path().string(), "/recovery_benchmark");
  std::filesystem::remove_all(path);
  const auto state = StateDirectory::Open(path).value();
  for (int i = 0; i < sandboxes; ++i) {
    WriteSandbox(*state, absl::StrCat("box-", i), executions / sandboxes);
  }
  NoLauncher launcher;
  StorageHealth storage;
  ThreadTimerQueue timers;
  Activity activity(&timers, {absl::ZeroDuration(), /*max_lasting_calls=*/1});
  Lanes lanes;
  HeapTrim heap(&timers, &lanes.removals);
  Sandboxes::Options options;
  options.max_sandboxes = sandboxes;
  options.max_executions_per_sandbox = executions;
  options.max_ended_executions = executions;
  Sandboxes server({&launcher, state.get(), &storage, &activity, &timers,
                    &lanes, nullptr, nullptr, &heap},
                   options);
  const int64_t before = ResidentMiB();
  const absl::Time begin = absl::Now();
  const absl::Status recovered = server.Recover();
  CHECK(recovered.ok()) << recovered.message();
  const absl::Time serves = absl::Now();
  lanes.descriptions.AwaitIdle();
  lanes.launches.AwaitIdle();
  lanes.records.AwaitIdle();
  const absl::Time done = absl::Now();
  size_t known = 0;
  for (const auto& sandbox : server.registry().List("", sandboxes)) {
    known += sandbox->execution_count();
  }
  std::cout << "serves after " << absl::FormatDuration(serves - begin)
            << ", all " << known << " records read after "
            << absl::FormatDuration(done - begin) << ", +"
            << ResidentMiB() - before << " MiB" << std::endl;
  timers.Stop();
  lanes.Stop();
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace server

int main(int argc, char** argv) {
  server::Measure(argc > 1 ? std::atoi(argv[1]) : 100'000,
                  argc > 2 ? std::atoi(argv[2]) : 100);
}
