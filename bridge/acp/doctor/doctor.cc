#include "bridge/acp/doctor/doctor.h"

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "bridge/acp/doctor/inside_checks.h"
#include "bridge/acp/doctor/way_out_check.h"
#include "bridge/client/call.h"
#include "bridge/client/error_details.h"
#include "bridge/client/request_id.h"
#include "bridge/client/resource_name.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using corral::v1::AdminService;
using corral::v1::Execution;
using corral::v1::Sandbox;
using corral::v1::SandboxService;

Finding CheckAgent(const std::vector<std::string>& agent) {
  const std::string& program = agent.front();
  if (absl::StrContains(program, '/')) {
    if (::access(program.c_str(), X_OK) != 0) {
      return absl::NotFoundError(absl::StrCat(
          program, " is not an executable file; give the path of the agent"));
    }
    return program;
  }
  const char* path = std::getenv("PATH");
  for (const absl::string_view directory :
       absl::StrSplit(path == nullptr ? "" : path, ':')) {
    const std::string candidate = absl::StrCat(directory, "/", program);
    if (::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  return absl::NotFoundError(absl::StrCat(
      program,
      " is not in PATH; install it, or give its absolute path: editors "
      "often start programs with a shorter PATH than a shell has"));
}

Finding CheckIsolation(client::Connection& connection) {
  ASSIGN_OR_RETURN(
      const corral::v1::ServerInfo info,
      client::Call(connection, &AdminService::StubInterface::GetServerInfo,
                   corral::v1::GetServerInfoRequest()));
  std::vector<std::string> missing;
  for (const corral::v1::IsolationFeature& feature : info.isolation()) {
    if (feature.required() && !feature.enforced()) {
      missing.push_back(
          absl::StrCat(feature.name(), " (", feature.detail(), ")"));
    }
  }
  if (!missing.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the server's host lacks: ", absl::StrJoin(missing, ", "),
                     "; `corral info` shows more"));
  }
  return absl::StrCat("enforced, kernel ", info.kernel());
}

// Says what to do about a field of the sandbox that the server refuses.
const char* AdviceOn(const std::string& field) {
  const std::pair<const char*, const char*> advices[] = {
      {"sandbox.workspace",
       "; if the server has the files elsewhere, give --map LOCAL=REMOTE or "
       "--workspace"},
      {"sandbox.mounts", "; mount_roots of its configuration allows more"},
      {"sandbox.egress_rules",
       "; ceilings of its configuration allow more, --network none and "
       "--agent-profile none ask for less"},
      {"sandbox.egress_services", "; `corral info` lists those that there are"},
  };
  for (const auto& [prefix, advice] : advices) {
    if (absl::StartsWith(field, prefix)) {
      return advice;
    }
  }
  return "";
}

absl::StatusOr<Sandbox> CreateSandbox(client::Connection& connection,
                                      const Sandbox& wanted) {
  corral::v1::CreateSandboxRequest request;
  request.set_parent(client::kTenant);
  request.set_request_id(client::NewRequestId());
  *request.mutable_sandbox() = wanted;
  // The sandbox must not stay if this program is killed.
  request.mutable_sandbox()->mutable_lifetime()->mutable_max_age()->set_seconds(
      60);
  absl::StatusOr<Sandbox> created = client::Call(
      connection, &SandboxService::StubInterface::CreateSandbox, request);
  if (created.ok()) {
    return created;
  }
  return absl::Status(
      created.status().code(),
      absl::StrCat(created.status().message(),
                   AdviceOn(client::GetField(created.status()))));
}

Finding CheckCommand(client::Connection& connection, const Sandbox& sandbox) {
  ASSIGN_OR_RETURN(
      const Execution ended,
      Run(connection, sandbox.name(),
          {{"/bin/sh", "-c",
            sandbox.workspace().read_only() ? "test -r ." : "test -w ."}}));
  if (!Succeeded(ended)) {
    return absl::PermissionDeniedError(
        absl::StrCat("a command has no access to ", sandbox.workspace().path(),
                     "; commands run as the owner of that directory"));
  }
  return absl::StrCat("runs, and has access to ", sandbox.workspace().path());
}

class Examination {
 public:
  explicit Examination(absl::FunctionRef<void(absl::string_view)> print)
      : print_(print) {}

  // Returns true if the check passed.
  bool Add(absl::string_view name, const Finding& finding) {
    if (finding.ok()) {
      print_(absl::StrCat("ok    ", name, ": ", *finding));
    } else {
      print_(
          absl::StrCat("FAIL  ", name, ": ",
                       static_cast<std::string>(finding.status().message())));
      healthy_ = false;
    }
    return finding.ok();
  }

  bool healthy() const { return healthy_; }

 private:
  absl::FunctionRef<void(absl::string_view)> print_;
  bool healthy_ = true;
};

// `sandbox` is the name of a sandbox that was made from `wanted`.
void ExamineInside(client::Connection& connection, const std::string& sandbox,
                   const Sandbox& wanted, const Trial& agent,
                   Examination& examination) {
  for (const corral::v1::Mount& mount : wanted.mounts()) {
    examination.Add("mount", CheckMount(connection, sandbox, mount));
  }
  for (const corral::v1::EgressRule& rule : wanted.egress_rules()) {
    if (!absl::StartsWith(rule.host(), "*")) {
      examination.Add(absl::StrCat("host ", rule.host()),
                      CheckWayOut(connection, sandbox, rule));
    }
  }
  examination.Add("agent inside", CheckVersion(connection, sandbox, agent));
}

void ExamineServer(client::Connection& connection, const Checkup& checkup,
                   Examination& examination) {
  if (!examination.Add("isolation", CheckIsolation(connection))) {
    return;
  }
  const absl::StatusOr<Sandbox> sandbox =
      CreateSandbox(connection, checkup.sandbox);
  if (!examination.Add("sandbox", sandbox.ok() ? Finding(sandbox->name())
                                               : sandbox.status())) {
    return;
  }
  examination.Add("command", CheckCommand(connection, *sandbox));
  if (checkup.inside.has_value()) {
    ExamineInside(connection, sandbox->name(), checkup.sandbox, *checkup.inside,
                  examination);
  }
  corral::v1::DeleteSandboxRequest request;
  request.set_name(sandbox->name());
  const absl::Status deleted = client::Delete(
      connection, &SandboxService::StubInterface::DeleteSandbox, request);
  if (!deleted.ok()) {
    examination.Add("deletion", deleted);
  }
}

}  // namespace

bool Examine(const Checkup& checkup,
             absl::FunctionRef<void(absl::string_view line)> print) {
  Examination examination(print);
  if (!checkup.agent.empty()) {
    examination.Add("agent", CheckAgent(checkup.agent));
  }
  if (checkup.attach.empty()) {
    print(
        "note  display: no `corral` stands next to corral-acp, so no editor "
        "can run `corral attach` in its terminals");
  }
  const auto connection = client::Connection::Open(checkup.server);
  const Finding server = connection.ok()
                             ? Finding((*connection)->address())
                             : absl::UnavailableError(absl::StrCat(
                                   connection.status().message(),
                                   "; start corrald there, or give --server"));
  if (examination.Add("server", server)) {
    ExamineServer(**connection, checkup, examination);
  }
  return examination.healthy();
}

}  // namespace bridge
