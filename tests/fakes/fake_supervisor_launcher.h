// A SupervisorLauncher of FakeSupervisors, on an event loop of its own as the
// real one.
//
// Thread-safe.

#ifndef TESTS_FAKES_FAKE_SUPERVISOR_LAUNCHER_H_
#define TESTS_FAKES_FAKE_SUPERVISOR_LAUNCHER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/client/supervisor_connection.h"
#include "sandbox/client/supervisor_launcher.h"
#include "tests/fakes/fake_supervisor.h"

namespace tests {

class FakeSupervisorLauncher : public sandbox::SupervisorLauncher {
 public:
  FakeSupervisorLauncher();
  // All sandboxes must have been destroyed.
  ~FakeSupervisorLauncher() override;

  std::unique_ptr<sandbox::SupervisorConnection> Create(
      const sandbox::wire::SandboxSpec& spec,
      sandbox::SupervisorObserver* observer, Created created) override;
  absl::StatusOr<std::unique_ptr<sandbox::SupervisorConnection>> Adopt(
      const sandbox::wire::SandboxSpec& spec,
      sandbox::SupervisorObserver* observer) override;

  // Creations fail with this from now on.
  void FailCreations(const absl::Status& status);

  // From now on, connecting to a supervisor fails with this; OK: it succeeds
  // for each that lives.
  void FailAdoptions(const absl::Status& status);

  // Calls `function` with every supervisor that is adopted from now on, before
  // the snapshot is taken.
  void OnAdoption(std::function<void(FakeSupervisor&)> function);

  // Calls `function` with the supervisor of a sandbox, on the event loop, and
  // returns when it has returned.
  void With(const std::string& sandbox,
            const std::function<void(FakeSupervisor&)>& function);

  // Shorthands of With, for an execution's name.
  void Write(const std::string& execution_name, sandbox::wire::Stream stream,
             const std::string& bytes);
  void Exit(const std::string& execution_name, int code);

 private:
  class Connection;

  void RunOnLoop(const std::function<void()>& function);

  const std::unique_ptr<sandbox::EventLoop> loop_;
  // The loop's thread only. By directory; they live on without a server.
  std::map<std::string, std::shared_ptr<FakeSupervisor>> supervisors_;
  absl::Status creation_error_;
  absl::Status adoption_error_;
  std::function<void(FakeSupervisor&)> on_adoption_ = [](FakeSupervisor&) {};
  std::thread thread_;
};

}  // namespace tests

#endif  // TESTS_FAKES_FAKE_SUPERVISOR_LAUNCHER_H_
