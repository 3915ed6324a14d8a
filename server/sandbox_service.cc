#include "server/sandbox_service.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/sandbox.h"
#include "server/activity.h"
#include "server/errors.h"
#include "server/names.h"
#include "server/registry.h"
#include "server/request_identity.h"
#include "server/sandboxes.h"
#include "server/session.h"
#include "server/unary_reply.h"
#include "server/validation.h"

namespace server {
namespace {

absl::Status CheckCreate(const corral::v1::CreateSandboxRequest& request) {
  RETURN_IF_ERROR(CheckTenantName("parent", request.parent()));
  RETURN_IF_ERROR(CheckChosenId("sandbox_id", request.sandbox_id()));
  RETURN_IF_ERROR(CheckRequestId("request_id", request.request_id()));
  return CheckSandbox("sandbox", request.sandbox());
}

absl::StatusOr<std::shared_ptr<Session>> FindSandbox(const Registry& registry,
                                                     const std::string& name) {
  ASSIGN_OR_RETURN(const std::string id, ParseSandboxName("name", name));
  std::shared_ptr<Session> session = registry.Find(id);
  if (session == nullptr) {
    return SandboxNotFound(name);
  }
  session->lifetime().Touch();
  return session;
}

absl::Status List(const Registry& registry,
                  const corral::v1::ListSandboxesRequest& request,
                  corral::v1::ListSandboxesResponse* response) {
  RETURN_IF_ERROR(CheckTenantName("parent", request.parent()));
  RETURN_IF_ERROR(CheckChosenId("page_token", request.page_token()));
  ASSIGN_OR_RETURN(const size_t size,
                   CheckPageSize("page_size", request.page_size()));
  const std::vector<std::shared_ptr<Session>> sessions =
      registry.List(request.page_token(), size + 1);
  for (size_t i = 0; i < sessions.size(); ++i) {
    if (i == size) {
      response->set_next_page_token(sessions[i]->id());
    } else {
      *response->add_sandboxes() = sessions[i]->Describe();
    }
  }
  return absl::OkStatus();
}

}  // namespace

grpc::ServerUnaryReactor* SandboxService::CreateSandbox(
    grpc::CallbackServerContext* context,
    const corral::v1::CreateSandboxRequest* request,
    corral::v1::Sandbox* response) {
  Activity::Call call = activity_->BeginCall();
  absl::Status status = CheckCreate(*request);
  status.Update(activity_->AdmitWork());
  if (!status.ok()) {
    return Reply(context, status);
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  sandboxes_->Create(
      {request->sandbox(), request->sandbox_id(),
       Identify(*request, request->request_id()), /*ephemeral=*/false},
      [response, reply = ReplyLater(reactor, std::move(call))](
          const absl::StatusOr<std::shared_ptr<Session>>& session) mutable {
        if (session.ok()) {
          *response = (*session)->Describe();
        }
        reply(session.status());
      });
  return reactor;
}

grpc::ServerUnaryReactor* SandboxService::GetSandbox(
    grpc::CallbackServerContext* context,
    const corral::v1::GetSandboxRequest* request,
    corral::v1::Sandbox* response) {
  const Activity::Call call = activity_->BeginCall();
  const absl::StatusOr<std::shared_ptr<Session>> session =
      FindSandbox(sandboxes_->registry(), request->name());
  if (session.ok()) {
    *response = (*session)->Describe();
  }
  return Reply(context, session.status());
}

grpc::ServerUnaryReactor* SandboxService::ListSandboxes(
    grpc::CallbackServerContext* context,
    const corral::v1::ListSandboxesRequest* request,
    corral::v1::ListSandboxesResponse* response) {
  const Activity::Call call = activity_->BeginCall();
  return Reply(context, List(sandboxes_->registry(), *request, response));
}

grpc::ServerUnaryReactor* SandboxService::DeleteSandbox(
    grpc::CallbackServerContext* context,
    const corral::v1::DeleteSandboxRequest* request,
    google::protobuf::Empty* /*response*/) {
  Activity::Call call = activity_->BeginCall();
  const absl::StatusOr<std::shared_ptr<Session>> session =
      FindSandbox(sandboxes_->registry(), request->name());
  if (!session.ok()) {
    return Reply(context, session.status());
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  (*session)->Delete(sandbox::wire::ExitRecord::SANDBOX_DELETED,
                     ReplyLater(reactor, std::move(call)));
  return reactor;
}

}  // namespace server
