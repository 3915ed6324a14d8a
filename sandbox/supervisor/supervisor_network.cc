// Requests about the network of a sandbox.

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/inside_sockets.h"
#include "sandbox/supervisor/supervisor.h"

namespace sandbox {

void Supervisor::AllowHosts(uint64_t request_id,
                            const wire::EgressRules& rules) {
  if (way_out_ == nullptr) {
    Reply(request_id,
          MakeFailure(wire::Reply::EGRESS, "the sandbox has no way out"));
    return;
  }
  way_out_->Allow(rules, [this, request_id](const absl::Status& status) {
    wire::FromSupervisor message;
    *message.mutable_egress_rules() = way_out_->rules();
    control_.Send(std::move(message));
    Reply(request_id, status);
  });
}

void Supervisor::MakeSockets(uint64_t request_id) {
  if (state_ != State::kReady) {
    Reply(request_id, MakeFailure(wire::Reply::SANDBOX_NOT_READY,
                                  "the sandbox is not ready"));
    return;
  }
  // Confine() has brought this process into the sandbox's network.
  absl::StatusOr<std::vector<UniqueFd>> sockets = MakeTcpSockets();
  if (!sockets.ok()) {
    Reply(request_id, sockets.status());
    return;
  }
  wire::FromSupervisor message;
  message.mutable_reply()->set_request_id(request_id);
  control_.Send(std::move(message), *std::move(sockets));
}

}  // namespace sandbox
