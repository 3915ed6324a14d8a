#include "server/rpc/admin_service.h"

#include <cstddef>

#include "absl/status/status.h"
#include "corral/v1/admin.grpc.pb.h"
#include "server/api/ascii_text.h"
#include "server/core/registry.h"
#include "server/core/sandbox.h"
#include "server/rpc/unary_reply.h"
#include "server/runtime/activity.h"

namespace server {

grpc::ServerUnaryReactor* AdminService::GetServerInfo(
    grpc::CallbackServerContext* context,
    const corral::v1::GetServerInfoRequest* /*request*/,
    corral::v1::ServerInfo* response) {
  const Activity::Call call = activity_->BeginCall();
  *response = fixed_;
  const auto sandboxes = registry_->List("", registry_->size());
  size_t executions = 0;
  for (const auto& sandbox : sandboxes) {
    executions += sandbox->execution_count();
  }
  response->set_sandboxes(sandboxes.size());
  response->set_executions(executions);
  response->set_draining(activity_->draining());
  response->set_storage_failure(AsciiText(storage_->failure()));
  return Reply(context, absl::OkStatus());
}

}  // namespace server
