// The real sandboxes: each is served by a corral-supervisor process, which this
// starts or finds.

#ifndef SANDBOX_SUPERVISOR_CLIENT_H_
#define SANDBOX_SUPERVISOR_CLIENT_H_

#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/event_loop.h"
#include "sandbox/sandbox.h"

namespace sandbox {

// Owns the event loop's thread, on which all callbacks of its sandboxes run.
// The sandboxes must be destroyed before it.
//
// Create() starts a process, which takes about a millisecond: not for a gRPC
// reaction.
class SupervisorClientFactory : public SandboxFactory {
 public:
  static absl::StatusOr<std::unique_ptr<SupervisorClientFactory>> Create();
  ~SupervisorClientFactory() override;

  std::unique_ptr<Sandbox> Create(const wire::SandboxSpec& spec,
                                  SandboxObserver* observer,
                                  Created created) override;
  absl::StatusOr<std::unique_ptr<Sandbox>> Adopt(
      const wire::SandboxSpec& spec, SandboxObserver* observer) override;

 private:
  SupervisorClientFactory(std::unique_ptr<EventLoop> loop, UniqueFd image);
  // Starts a supervisor whose control socket is `control`, and reaps it when it
  // ends.
  absl::Status StartSupervisor(const UniqueFd& control);

  const std::unique_ptr<EventLoop> loop_;
  // The supervisor's program. A memfd: an upgrade that replaces files does not
  // mix versions.
  const UniqueFd image_;
  std::thread thread_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_CLIENT_H_
