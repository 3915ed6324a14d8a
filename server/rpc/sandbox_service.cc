#include "server/rpc/sandbox_service.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/client/supervisor_connection.h"
#include "sandbox/storage/network_log.h"
#include "server/api/ceilings.h"
#include "server/api/egress_rules.h"
#include "server/api/errors.h"
#include "server/api/names.h"
#include "server/api/request_identity.h"
#include "server/api/validation.h"
#include "server/core/registry.h"
#include "server/core/sandbox.h"
#include "server/core/sandboxes.h"
#include "server/rpc/allow_hosts.h"
#include "server/rpc/unary_reply.h"
#include "server/runtime/activity.h"

namespace server {
namespace {

absl::Status CheckCreate(const Ceilings& ceilings,
                         const corral::v1::CreateSandboxRequest& request) {
  RETURN_IF_ERROR(CheckTenantName("parent", request.parent()));
  RETURN_IF_ERROR(CheckChosenId("sandbox_id", request.sandbox_id()));
  RETURN_IF_ERROR(CheckRequestId("request_id", request.request_id()));
  RETURN_IF_ERROR(CheckSandbox("sandbox", request.sandbox()));
  return CheckCeilings(ceilings, "sandbox", request.sandbox());
}

absl::StatusOr<std::shared_ptr<Sandbox>> FindSandbox(const Registry& registry,
                                                     const std::string& name) {
  ASSIGN_OR_RETURN(const SandboxName parsed, SandboxName::Parse("name", name));
  ASSIGN_OR_RETURN(std::shared_ptr<Sandbox> sandbox, registry.Get(parsed));
  sandbox->lifetime().Touch();
  return sandbox;
}

absl::Status List(const Registry& registry,
                  const corral::v1::ListSandboxesRequest& request,
                  corral::v1::ListSandboxesResponse* response) {
  RETURN_IF_ERROR(CheckTenantName("parent", request.parent()));
  RETURN_IF_ERROR(CheckChosenId("page_token", request.page_token()));
  ASSIGN_OR_RETURN(const size_t size,
                   CheckPageSize("page_size", request.page_size()));
  const std::vector<std::shared_ptr<Sandbox>> sandboxes =
      registry.List(request.page_token(), size + 1);
  for (size_t i = 0; i < sandboxes.size(); ++i) {
    if (i == size) {
      response->set_next_page_token(sandboxes[i]->id());
    } else {
      *response->add_sandboxes() = sandboxes[i]->Describe();
    }
  }
  if (request.page_token().empty()) {
    for (const std::string& id : registry.Unreadable()) {
      response->add_unreachable(SandboxName(id).ToString());
    }
  }
  return absl::OkStatus();
}

absl::Status ReadEvents(const Sandbox& sandbox, uint64_t after, size_t most,
                        corral::v1::ListNetworkEventsResponse* response) {
  const auto events =
      sandbox::ReadNetworkLog(sandbox.spec().directory(), after, most);
  if (!events.ok()) {
    return StorageFailed("network events", events.status());
  }
  for (const corral::egress::v1::Event& event : *events) {
    *response->add_events() = FromEvent(event);
  }
  return absl::OkStatus();
}

}  // namespace

grpc::ServerUnaryReactor* SandboxService::CreateSandbox(
    grpc::CallbackServerContext* context,
    const corral::v1::CreateSandboxRequest* request,
    corral::v1::Sandbox* response) {
  Activity::Call call = activity_->BeginCall();
  absl::Status status = CheckCreate(ceilings_, *request);
  status.Update(activity_->AdmitWork());
  if (!status.ok()) {
    return Reply(context, status);
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  sandboxes_->Create(
      {request->sandbox(), request->sandbox_id(),
       Identify(*request, request->request_id()), /*ephemeral=*/false},
      [response, reply = ReplyLater(reactor, std::move(call))](
          const absl::StatusOr<std::shared_ptr<Sandbox>>& sandbox) mutable {
        if (sandbox.ok()) {
          *response = (*sandbox)->Describe();
        }
        reply(sandbox.status());
      });
  return reactor;
}

grpc::ServerUnaryReactor* SandboxService::GetSandbox(
    grpc::CallbackServerContext* context,
    const corral::v1::GetSandboxRequest* request,
    corral::v1::Sandbox* response) {
  const Activity::Call call = activity_->BeginCall();
  const absl::StatusOr<std::shared_ptr<Sandbox>> sandbox =
      FindSandbox(sandboxes_->registry(), request->name());
  if (sandbox.ok()) {
    *response = (*sandbox)->Describe();
  }
  return Reply(context, sandbox.status());
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
  const absl::StatusOr<std::shared_ptr<Sandbox>> sandbox =
      FindSandbox(sandboxes_->registry(), request->name());
  if (!sandbox.ok()) {
    return Reply(context, sandbox.status());
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  (*sandbox)->Delete(sandbox::wire::ExitRecord::SANDBOX_DELETED,
                     ReplyLater(reactor, std::move(call)));
  return reactor;
}

grpc::ServerUnaryReactor* SandboxService::ListNetworkEvents(
    grpc::CallbackServerContext* context,
    const corral::v1::ListNetworkEventsRequest* request,
    corral::v1::ListNetworkEventsResponse* response) {
  Activity::Call call = activity_->BeginCall();
  const absl::StatusOr<std::shared_ptr<Sandbox>> sandbox =
      FindSandbox(sandboxes_->registry(), request->name());
  const absl::StatusOr<size_t> size =
      CheckPageSize("page_size", request->page_size());
  if (!sandbox.ok() || !size.ok()) {
    return Reply(context, sandbox.ok() ? size.status() : sandbox.status());
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reads_->Run((*sandbox)->id(),
              [sandbox = *sandbox, size = *size, request, response,
               reply = ReplyLater(reactor, std::move(call))]() mutable {
                reply(ReadEvents(*sandbox, request->after(), size, response));
              });
  return reactor;
}

grpc::ServerUnaryReactor* SandboxService::AllowHosts(
    grpc::CallbackServerContext* context,
    const corral::v1::AllowHostsRequest* request,
    corral::v1::Sandbox* response) {
  Activity::Call call = activity_->BeginCall();
  const absl::StatusOr<std::shared_ptr<Sandbox>> sandbox =
      FindSandbox(sandboxes_->registry(), request->name());
  if (!sandbox.ok()) {
    return Reply(context, sandbox.status());
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  server::AllowHosts(*sandbox, *request, ceilings_, reads_,
                     [sandbox = *sandbox, response,
                      reply = ReplyLater(reactor, std::move(call))](
                         const absl::Status& allowed) mutable {
                       if (allowed.ok()) {
                         *response = sandbox->Describe();
                       }
                       reply(allowed);
                     });
  return reactor;
}

}  // namespace server
