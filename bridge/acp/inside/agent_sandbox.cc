#include "bridge/acp/inside/agent_sandbox.h"

#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bridge/acp/sessions/session_sandbox.h"
#include "bridge/client/call.h"
#include "bridge/client/request_id.h"
#include "bridge/client/resource_name.h"
#include "corral/v1/mount.pb.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

// The PATH that the server gives to commands.
constexpr char kPath[] =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

}  // namespace

std::vector<std::string> ShownDirectories(const corral::v1::Sandbox& sandbox) {
  std::vector<std::string> shown;
  if (sandbox.has_workspace()) {
    shown.push_back(sandbox.workspace().path());
  }
  for (const corral::v1::Mount& mount : sandbox.mounts()) {
    if (mount.target().empty() || mount.target() == mount.source()) {
      shown.push_back(mount.source());
    }
  }
  return shown;
}

void AddRuntime(const AgentRuntime& runtime, corral::v1::Sandbox& sandbox) {
  for (const std::string& directory : runtime.directories) {
    sandbox.add_mounts()->set_source(directory);
  }
}

absl::StatusOr<std::string> CreateAgentSandbox(
    const client::ConnectOptions& server, corral::v1::Sandbox wanted) {
  ASSIGN_OR_RETURN(const std::unique_ptr<client::Connection> connection,
                   client::Connection::Open(server));
  SessionSandbox::SetLease(wanted);
  corral::v1::CreateSandboxRequest request;
  request.set_parent(client::kTenant);
  request.set_request_id(client::NewRequestId());
  *request.mutable_sandbox() = std::move(wanted);
  ASSIGN_OR_RETURN(
      const corral::v1::Sandbox created,
      client::Call(*connection,
                   &corral::v1::SandboxService::StubInterface::CreateSandbox,
                   request));
  return created.name();
}

std::vector<std::string> VariablesInside(
    const AgentRuntime& runtime, const std::vector<std::string>& variables) {
  std::vector<std::string> path = runtime.path;
  path.emplace_back(kPath);
  std::vector<std::string> all = {
      absl::StrCat("PATH=", absl::StrJoin(path, ":"))};
  all.insert(all.end(), variables.begin(), variables.end());
  return all;
}

std::vector<std::string> CommandInside(const std::vector<std::string>& corral,
                                       const std::string& sandbox,
                                       const AgentRuntime& runtime,
                                       const std::vector<std::string>& agent,
                                       const InsideOptions& options) {
  std::vector<std::string> words = corral;
  words.insert(words.end(), {"exec", "--no-tty"});
  for (const std::string& variable :
       VariablesInside(runtime, options.variables)) {
    words.insert(words.end(), {"--env", variable});
  }
  for (const client::PublishedPort& port : options.ports) {
    words.insert(words.end(),
                 {"--publish", absl::StrCat(port.inside, ":", port.local)});
  }
  words.insert(words.end(), {sandbox, "--", runtime.program});
  words.insert(words.end(), std::next(agent.begin()), agent.end());
  return words;
}

}  // namespace bridge
