// corral.v1.SandboxService.

#ifndef SERVER_RPC_SANDBOX_SERVICE_H_
#define SERVER_RPC_SANDBOX_SERVICE_H_

#include <utility>

#include "corral/v1/sandbox.grpc.pb.h"
#include "server/api/ceilings.h"
#include "server/core/disk_reads.h"
#include "server/core/sandboxes.h"
#include "server/runtime/activity.h"

namespace server {

// Thread-safe: gRPC calls the methods on its threads. None of them blocks.
class SandboxService final
    : public corral::v1::SandboxService::CallbackService {
 public:
  // All pointers must outlive the service.
  SandboxService(Sandboxes* sandboxes, DiskReads* reads, Activity* activity,
                 Ceilings ceilings)
      : sandboxes_(sandboxes),
        reads_(reads),
        activity_(activity),
        ceilings_(std::move(ceilings)) {}

  grpc::ServerUnaryReactor* CreateSandbox(
      grpc::CallbackServerContext* context,
      const corral::v1::CreateSandboxRequest* request,
      corral::v1::Sandbox* response) override;
  grpc::ServerUnaryReactor* GetSandbox(
      grpc::CallbackServerContext* context,
      const corral::v1::GetSandboxRequest* request,
      corral::v1::Sandbox* response) override;
  grpc::ServerUnaryReactor* ListSandboxes(
      grpc::CallbackServerContext* context,
      const corral::v1::ListSandboxesRequest* request,
      corral::v1::ListSandboxesResponse* response) override;
  grpc::ServerUnaryReactor* DeleteSandbox(
      grpc::CallbackServerContext* context,
      const corral::v1::DeleteSandboxRequest* request,
      google::protobuf::Empty* response) override;
  grpc::ServerUnaryReactor* ListNetworkEvents(
      grpc::CallbackServerContext* context,
      const corral::v1::ListNetworkEventsRequest* request,
      corral::v1::ListNetworkEventsResponse* response) override;
  grpc::ServerUnaryReactor* AllowHosts(
      grpc::CallbackServerContext* context,
      const corral::v1::AllowHostsRequest* request,
      corral::v1::Sandbox* response) override;

 private:
  Sandboxes* const sandboxes_;
  DiskReads* const reads_;
  Activity* const activity_;
  const Ceilings ceilings_;
};

}  // namespace server

#endif  // SERVER_RPC_SANDBOX_SERVICE_H_
