// corral.v1.PortService.

#ifndef SERVER_PORTS_PORT_SERVICE_H_
#define SERVER_PORTS_PORT_SERVICE_H_

#include "corral/v1/port.grpc.pb.h"
#include "server/core/sandboxes.h"
#include "server/ports/forwarding_thread.h"
#include "server/ports/port_call.h"
#include "server/runtime/activity.h"

namespace server {

// Thread-safe: gRPC calls the methods on its threads. None of them blocks.
class PortService final : public corral::v1::PortService::CallbackService {
 public:
  // Both pointers must outlive the service, and all its calls must be over when
  // it is destroyed.
  PortService(Sandboxes* sandboxes, Activity* activity)
      : sandboxes_(sandboxes), activity_(activity) {}

  PortCall* ConnectPort(grpc::CallbackServerContext* context) override {
    return PortCall::Begin(thread_.loop(), sandboxes_, context,
                           activity_->BeginCall());
  }

 private:
  Sandboxes* const sandboxes_;
  Activity* const activity_;
  ForwardingThread thread_;
};

}  // namespace server

#endif  // SERVER_PORTS_PORT_SERVICE_H_
