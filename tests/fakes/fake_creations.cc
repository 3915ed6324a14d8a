// How the fake server makes sandboxes and executions: with the rules of the
// real one for request ids and chosen ids.

#include <time.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"
#include "server/api/errors.h"
#include "server/api/names.h"
#include "server/api/request_identity.h"
#include "tests/fakes/fake_server.h"
#include "tests/fakes/request_rules.h"

namespace tests {
namespace {

using sandbox::MutexLock;

std::string RequestKey(const std::string& parent, const std::string& id) {
  return absl::StrCat(parent, " ", id);
}

}  // namespace

template <typename Resources>
absl::StatusOr<std::optional<typename Resources::mapped_type>>
FakeServer::FindMade(const std::string& key, const Identity& identity,
                     const Resources& resources) {
  const auto made = state_.requests.find(key);
  if (identity.request_id().empty() || made == state_.requests.end()) {
    return std::nullopt;
  }
  const auto resource = resources.find(made->second.name);
  if (resource == resources.end()) {
    return std::nullopt;
  }
  if (!server::AreSame(made->second.identity, identity)) {
    return server::RequestMismatch(identity.request_id(), made->second.name);
  }
  return resource->second;
}

absl::StatusOr<corral::v1::Sandbox> FakeServer::FindSandbox(
    const std::string& sandbox) {
  ASSIGN_OR_RETURN(const server::SandboxName name,
                   server::SandboxName::Parse("parent", sandbox));
  MutexLock lock(&mutex_);
  const auto found = state_.sandboxes.find(name.ToString());
  if (found == state_.sandboxes.end()) {
    return server::SandboxNotFound(sandbox);
  }
  return found->second;
}

absl::StatusOr<corral::v1::Sandbox> FakeServer::Create(
    const corral::v1::CreateSandboxRequest& request, const Identity& identity) {
  RETURN_IF_ERROR(CheckRequest(request));
  MutexLock lock(&mutex_);
  state_.creations.push_back(request);
  const std::string key = RequestKey(request.parent(), request.request_id());
  ASSIGN_OR_RETURN(const auto made, FindMade(key, identity, state_.sandboxes));
  if (made.has_value()) {
    return *made;
  }
  corral::v1::Sandbox sandbox = request.sandbox();
  sandbox.set_name(absl::StrCat("tenants/default/sandboxes/",
                                request.sandbox_id().empty()
                                    ? absl::StrCat("s", state_.next_id++)
                                    : request.sandbox_id()));
  // A request with a name of its own needs no request id to be repeated.
  const auto earlier = state_.named.find(sandbox.name());
  if (const auto found = state_.sandboxes.find(sandbox.name());
      found != state_.sandboxes.end()) {
    if (request.request_id().empty() && earlier != state_.named.end() &&
        server::AreSame(earlier->second, identity)) {
      return found->second;
    }
    return server::SandboxExists(sandbox.name());
  }
  state_.named[sandbox.name()] = identity;
  sandbox.set_state(corral::v1::Sandbox::READY);
  sandbox.mutable_create_time()->set_seconds(::time(nullptr));
  state_.requests[key] = {sandbox.name(), identity};
  state_.sandboxes[sandbox.name()] = sandbox;
  return sandbox;
}

absl::StatusOr<std::shared_ptr<FakeExecution>> FakeServer::Start(
    const std::string& parent, const std::string& id, const Identity& identity,
    const corral::v1::Command& command) {
  MutexLock lock(&mutex_);
  if (state_.sandboxes.count(parent) == 0) {
    return server::SandboxNotFound(parent);
  }
  const std::string key = RequestKey(parent, identity.request_id());
  ASSIGN_OR_RETURN(const auto made, FindMade(key, identity, state_.executions));
  if (made.has_value()) {
    return *made;
  }
  int number = 1;
  std::string name;
  do {
    name = absl::StrCat(parent, "/executions/",
                        id.empty() ? absl::StrCat("e", number++) : id);
  } while (id.empty() && state_.executions.count(name) > 0);
  if (state_.executions.count(name) > 0) {
    return server::ExecutionExists(name);
  }
  auto execution =
      std::make_shared<FakeExecution>(name, command, state_.failure, script_);
  state_.requests[key] = {name, identity};
  state_.executions[name] = execution;
  return execution;
}

void FakeServer::RefuseHost(const std::string& sandbox,
                            const std::string& host) {
  MutexLock lock(&mutex_);
  auto& events = state_.network_events[sandbox];
  corral::v1::NetworkEvent event;
  event.set_number(events.size() + 1);
  event.set_kind(corral::v1::NetworkEvent::NAME_REFUSED);
  event.set_reason(corral::v1::NetworkEvent::NAME_NOT_ALLOWED);
  event.set_host(host);
  events.push_back(event);
}

void FakeServer::ListNetworkEvents(
    const corral::v1::ListNetworkEventsRequest& request,
    corral::v1::ListNetworkEventsResponse& response) {
  MutexLock lock(&mutex_);
  ++state_.network_lists;
  for (const auto& event : state_.network_events[request.name()]) {
    if (event.number() > request.after()) {
      *response.add_events() = event;
    }
  }
}

std::vector<corral::v1::AllowHostsRequest> FakeServer::allowances() {
  MutexLock lock(&mutex_);
  return state_.allowances;
}

int FakeServer::network_lists() {
  MutexLock lock(&mutex_);
  return state_.network_lists;
}

}  // namespace tests
