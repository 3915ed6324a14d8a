#include "server/admin_service.h"

#include <cstddef>

#include "absl/status/status.h"
#include "corral/v1/admin.grpc.pb.h"
#include "server/activity.h"
#include "server/registry.h"
#include "server/session.h"
#include "server/unary_reply.h"

namespace server {

grpc::ServerUnaryReactor* AdminService::GetServerInfo(
    grpc::CallbackServerContext* context,
    const corral::v1::GetServerInfoRequest* /*request*/,
    corral::v1::ServerInfo* response) {
  const Activity::Call call = activity_->BeginCall();
  *response = fixed_;
  const auto sessions = registry_->List("", registry_->size());
  size_t executions = 0;
  for (const auto& session : sessions) {
    executions += session->execution_count();
  }
  response->set_sandboxes(sessions.size());
  response->set_executions(executions);
  response->set_draining(activity_->draining());
  response->set_storage_failure(storage_->failure());
  return Reply(context, absl::OkStatus());
}

}  // namespace server
