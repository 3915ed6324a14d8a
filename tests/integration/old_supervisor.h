// A supervisor of another version (Snapshot.schema_version 0), as an upgraded
// server finds it: it sends fields and messages that this version does not
// know, and its records are not sealed. It runs nothing.

#ifndef TESTS_INTEGRATION_OLD_SUPERVISOR_H_
#define TESTS_INTEGRATION_OLD_SUPERVISOR_H_

#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/base/unique_fd.h"

namespace tests {

// Serves tenants/default/sandboxes/old. In it the execution "run" runs, takes
// input and has written kOutput. Further executions end as soon as they start.
class OldSupervisor {
 public:
  static constexpr char kSandbox[] = "tenants/default/sandboxes/old";
  static constexpr char kExecution[] =
      "tenants/default/sandboxes/old/executions/run";
  static constexpr char kOutput[] = "of another age\n";

  // `state_directory`: of a server that does not run.
  explicit OldSupervisor(const std::string& state_directory);
  // Waits for the deletion of the sandbox.
  ~OldSupervisor();

  OldSupervisor(const OldSupervisor&) = delete;
  OldSupervisor& operator=(const OldSupervisor&) = delete;

  // The starts that it was asked for.
  std::vector<corral::supervisor::v1::StartExecution> starts();

 private:
  void WriteRecords() const;
  void Serve();
  // Returns false if the sandbox is deleted.
  bool Answer(const corral::supervisor::v1::ToSupervisor& request);
  void Start(const corral::supervisor::v1::StartExecution& start);
  void Send(const corral::supervisor::v1::FromSupervisor& message);

  const std::string directory_;
  sandbox::UniqueFd listener_;
  sandbox::PacketSocket connection_;
  sandbox::Mutex mutex_;
  std::vector<corral::supervisor::v1::StartExecution> starts_
      ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace tests

#endif  // TESTS_INTEGRATION_OLD_SUPERVISOR_H_
