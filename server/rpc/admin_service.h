// corral.v1.AdminService.

#ifndef SERVER_RPC_ADMIN_SERVICE_H_
#define SERVER_RPC_ADMIN_SERVICE_H_

#include <utility>

#include "corral/v1/admin.grpc.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "server/core/registry.h"
#include "server/core/storage_health.h"
#include "server/runtime/activity.h"

namespace server {

// Thread-safe: gRPC calls the methods on its threads. None of them blocks.
class AdminService final : public corral::v1::AdminService::CallbackService {
 public:
  // `fixed` has the fields that do not change while the server runs. The
  // pointers must outlive the service.
  AdminService(corral::v1::ServerInfo fixed, const Registry* registry,
               const StorageHealth* storage, Activity* activity)
      : fixed_(std::move(fixed)),
        registry_(registry),
        storage_(storage),
        activity_(activity) {}

  grpc::ServerUnaryReactor* GetServerInfo(
      grpc::CallbackServerContext* context,
      const corral::v1::GetServerInfoRequest* request,
      corral::v1::ServerInfo* response) override;

 private:
  const corral::v1::ServerInfo fixed_;
  const Registry* const registry_;
  const StorageHealth* const storage_;
  Activity* const activity_;
};

}  // namespace server

#endif  // SERVER_RPC_ADMIN_SERVICE_H_
