// corral.v1.PortService.

#ifndef SERVER_PORTS_PORT_SERVICE_H_
#define SERVER_PORTS_PORT_SERVICE_H_

#include "absl/time/time.h"
#include "corral/v1/port.grpc.pb.h"
#include "server/core/sandboxes.h"
#include "server/ports/forwarding_thread.h"
#include "server/ports/loopback_dial.h"
#include "server/ports/port_call.h"
#include "server/runtime/activity.h"

namespace server {

// Thread-safe: gRPC calls the methods on its threads. None of them blocks.
class PortService final : public corral::v1::PortService::CallbackService {
 public:
  // Both pointers must outlive the service, and all its calls must be over when
  // it is destroyed. A server in a sandbox must accept within `patience`.
  PortService(Sandboxes* sandboxes, Activity* activity,
              absl::Duration patience = LoopbackDial::kPatience)
      : sandboxes_(sandboxes), activity_(activity), patience_(patience) {}

  PortCall* ConnectPort(grpc::CallbackServerContext* context) override {
    return PortCall::Begin(thread_.loop(), sandboxes_, patience_, context,
                           activity_->BeginCall());
  }

 private:
  Sandboxes* const sandboxes_;
  Activity* const activity_;
  const absl::Duration patience_;
  ForwardingThread thread_;
};

}  // namespace server

#endif  // SERVER_PORTS_PORT_SERVICE_H_
