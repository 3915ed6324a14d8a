#include "bridge/acp/sessions/workplaces.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bridge/acp/sessions/normal_path.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

bool IsAbsolute(const std::string& path) { return absl::StartsWith(path, "/"); }

bool IsIn(const std::string& path, const std::string& directory) {
  return path == directory || directory == "/" ||
         absl::StartsWith(path, absl::StrCat(directory, "/"));
}

// A workspace's path must have no symbolic links, but an editor may name a
// directory by one. What does not exist on this host keeps its name.
std::string WithoutLinks(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real =
      std::filesystem::weakly_canonical(path, error);
  return error ? path : real.string();
}

void KeepSmaller(const corral::v1::Limits& other, corral::v1::Limits& limits) {
  if (other.has_memory_bytes() &&
      (!limits.has_memory_bytes() ||
       other.memory_bytes() < limits.memory_bytes())) {
    limits.set_memory_bytes(other.memory_bytes());
  }
  if (other.has_pids() &&
      (!limits.has_pids() || other.pids() < limits.pids())) {
    limits.set_pids(other.pids());
  }
  if (other.has_cpu_millis() &&
      (!limits.has_cpu_millis() || other.cpu_millis() < limits.cpu_millis())) {
    limits.set_cpu_millis(other.cpu_millis());
  }
}

corral::v1::Sandbox Differing(corral::v1::Sandbox sandbox,
                              const corral::v1::Sandbox& differences) {
  KeepSmaller(differences.limits(), *sandbox.mutable_limits());
  if (differences.profile() != corral::v1::Sandbox::PROFILE_UNSPECIFIED) {
    sandbox.set_profile(differences.profile());
  }
  if (differences.network() != corral::v1::Sandbox::NETWORK_UNSPECIFIED) {
    sandbox.set_network(differences.network());
    *sandbox.mutable_egress_rules() = differences.egress_rules();
  }
  return sandbox;
}

constexpr char kMapAdvice[] =
    "; if the server has it elsewhere, give corral-acp --map LOCAL=REMOTE";

}  // namespace

Workplaces::Workplaces(ServerCalls* calls, Deletions* deletions,
                       const Sessions* sessions, WorkplaceOptions options,
                       OnMade on_made)
    : calls_(calls),
      deletions_(deletions),
      sessions_(sessions),
      options_(std::move(options)),
      on_made_(std::move(on_made)) {
  if (!options_.agent_sandbox.empty()) {
    agent_sandbox_ = std::make_shared<SessionSandbox>(
        calls_, deletions_, ToSandbox(options_, {options_.workspace, {}}));
    agent_sandbox_->Adopt(options_.agent_sandbox);
  }
}

absl::StatusOr<Workplaces::Workplace> Workplaces::Find(
    const std::string& session_id, const std::string& cwd) {
  ASSIGN_OR_RETURN(std::string directory, SessionDirectory(session_id));
  directory = ToServer(directory);
  const Places places = PlacesOf(session_id, directory);
  if (!IsIn(directory, places.workspace)) {
    directory = places.workspace;
  }
  if (!cwd.empty()) {
    directory =
        IsAbsolute(cwd)
            ? ToServer(NormalizePath(cwd))
            : WithoutLinks(NormalizePath(absl::StrCat(directory, "/", cwd)));
  }
  return Workplace{Sandbox(session_id, places), directory};
}

Workplaces::Places Workplaces::PlacesOf(const std::string& session_id,
                                        const std::string& directory) const {
  if (agent_sandbox_ != nullptr) {
    return {options_.workspace, {}};
  }
  std::vector<std::string> wanted = {options_.workspace.empty()
                                         ? directory
                                         : WithoutLinks(options_.workspace)};
  const Sessions::Session* const session = sessions_->Find(session_id);
  for (const std::string& path : session->additional_directories) {
    if (IsAbsolute(path)) {
      wanted.push_back(ToServer(NormalizePath(path)));
    }
  }
  Places places;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto covers = [&](const std::string& other) {
      const size_t j = &other - wanted.data();
      return IsIn(wanted[i], other) && (wanted[i] != other || j < i);
    };
    if (std::none_of(wanted.begin(), wanted.end(), covers)) {
      places.further.push_back(wanted[i]);
    }
  }
  const auto first = std::find_if(
      places.further.begin(), places.further.end(),
      [&](const std::string& place) { return IsIn(wanted.front(), place); });
  places.workspace = *first;
  places.further.erase(first);
  return places;
}

std::string Workplaces::ToServer(const std::string& path) const {
  const std::string mapped = options_.map.ToRemote(path);
  if (mapped != path) {
    return mapped;
  }
  const std::string real = WithoutLinks(path);
  return options_.map.ToRemote(real);
}

void Workplaces::PrepareInside(const std::string& session_id,
                               Prepared done) const {
  const absl::StatusOr<std::string> directory = SessionDirectory(session_id);
  if (!directory.ok()) {
    done(directory.status(), {});
    return;
  }
  const auto is_seen = [this](const std::string& path) {
    return IsIn(WithoutLinks(path), options_.workspace);
  };
  std::vector<std::string> missing;
  for (const std::string& path :
       sessions_->Find(session_id)->additional_directories) {
    if (!is_seen(NormalizePath(path))) {
      missing.push_back(
          absl::StrCat(path, ", which is outside of ", options_.workspace));
    }
  }
  done(is_seen(*directory)
           ? absl::OkStatus()
           : absl::InvalidArgumentError(absl::StrCat(
                 "its directory ", *directory, " is outside of ",
                 options_.workspace,
                 ", and the agent sees no other; start corral-acp in a "
                 "directory that contains both")),
       missing);
}

void Workplaces::Prepare(const std::string& session_id, Prepared done) {
  if (agent_sandbox_ != nullptr) {
    PrepareInside(session_id, std::move(done));
    return;
  }
  const absl::StatusOr<Workplace> workplace = Find(session_id, "");
  if (!workplace.ok()) {
    done(workplace.status(), {});
    return;
  }
  workplace->sandbox->WhenReady(
      [sandbox = workplace->sandbox, done = std::move(done)](
          const absl::StatusOr<std::string>& name) mutable {
        std::vector<std::string> missing = sandbox->missing();
        for (std::string& line : missing) {
          line += kMapAdvice;
        }
        done(name.status(), missing);
      });
}

absl::StatusOr<std::string> Workplaces::SessionDirectory(
    const std::string& session_id) const {
  const Sessions::Session* const known = sessions_->Find(session_id);
  if (known == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("no session \"", session_id, "\" is open"));
  }
  if (IsAbsolute(known->cwd)) {
    return NormalizePath(known->cwd);
  }
  if (!options_.workspace.empty()) {
    return options_.workspace;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the working directory of session \"", session_id, "\" is \"", known->cwd,
      "\", must be an absolute path; or give corral-acp a --workspace"));
}

corral::v1::Sandbox Workplaces::ToSandbox(const WorkplaceOptions& options,
                                          const Places& places) {
  corral::v1::Sandbox sandbox = options.sandbox;
  *sandbox.mutable_workspace() = options.protection;
  sandbox.mutable_workspace()->set_path(places.workspace);
  sandbox.mutable_workspace()->set_read_only(options.read_only);
  for (const std::string& path : places.further) {
    corral::v1::Workspace* const further = sandbox.add_further_workspaces();
    *further = options.protection;
    further->set_path(path);
    further->set_read_only(options.read_only);
  }
  return sandbox;
}

std::shared_ptr<SessionSandbox> Workplaces::Sandbox(
    const std::string& session_id, const Places& places) {
  std::shared_ptr<SessionSandbox>& sandbox = sandboxes_[session_id][""];
  if (sandbox == nullptr) {
    sandbox = agent_sandbox_;
  }
  if (sandbox == nullptr) {
    sandbox = std::make_shared<SessionSandbox>(
        calls_, deletions_, ToSandbox(options_, places),
        sessions_->Find(session_id)->sandbox_id);
    sandbox->Announce([this, session_id](const std::string& name) {
      on_made_(session_id, name);
    });
  }
  return sandbox;
}

std::shared_ptr<SessionSandbox> Workplaces::SandboxOfRule(
    const std::string& session_id, const std::string& rule,
    const corral::v1::Sandbox& differences) {
  const auto found = sandboxes_.find(session_id);
  if (found == sandboxes_.end()) {
    return nullptr;
  }
  const std::shared_ptr<SessionSandbox>& own = found->second[""];
  std::shared_ptr<SessionSandbox>& sandbox = found->second[rule];
  if (sandbox == nullptr) {
    sandbox = std::make_shared<SessionSandbox>(
        calls_, deletions_, Differing(own->wanted(), differences), "");
  }
  return sandbox;
}

void Workplaces::Revive(const std::string& session_id) {
  const auto found = sandboxes_.find(session_id);
  if (found != sandboxes_.end()) {
    found->second[""]->Revive();
  }
}

void Workplaces::Close(const std::string& session_id) {
  if (const auto node = sandboxes_.extract(session_id); !node.empty()) {
    for (const auto& [rule, sandbox] : node.mapped()) {
      if (sandbox != agent_sandbox_) {
        sandbox->Delete();
      }
    }
  }
}

void Workplaces::CloseAgent() {
  if (agent_sandbox_ != nullptr) {
    agent_sandbox_->Delete();
  }
}

void Workplaces::CloseAll() {
  while (!sandboxes_.empty()) {
    Close(std::string(sandboxes_.begin()->first));
  }
}

}  // namespace bridge
