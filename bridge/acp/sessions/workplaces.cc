#include "bridge/acp/sessions/workplaces.h"

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

}  // namespace

absl::StatusOr<Workplaces::Workplace> Workplaces::Find(
    const std::string& session_id, const std::string& cwd) {
  ASSIGN_OR_RETURN(std::string directory, SessionDirectory(session_id));
  directory = ToServer(directory);
  const std::string workspace =
      options_.workspace.empty() ? directory : WithoutLinks(options_.workspace);
  if (!IsIn(directory, workspace)) {
    directory = workspace;
  }
  if (!cwd.empty()) {
    directory =
        IsAbsolute(cwd)
            ? ToServer(NormalizePath(cwd))
            : WithoutLinks(NormalizePath(absl::StrCat(directory, "/", cwd)));
  }
  return Workplace{Sandbox(session_id, workspace), directory};
}

std::string Workplaces::ToServer(const std::string& path) const {
  const std::string mapped = options_.map.ToRemote(path);
  if (mapped != path) {
    return mapped;
  }
  const std::string real = WithoutLinks(path);
  return options_.map.ToRemote(real);
}

void Workplaces::Prepare(const std::string& session_id,
                         absl::AnyInvocable<void(const absl::Status&)> done) {
  const absl::StatusOr<Workplace> workplace = Find(session_id, "");
  if (!workplace.ok()) {
    done(workplace.status());
    return;
  }
  workplace->sandbox->WhenReady(
      [done =
           std::move(done)](const absl::StatusOr<std::string>& name) mutable {
        done(name.status());
      });
}

absl::StatusOr<std::string> Workplaces::SessionDirectory(
    const std::string& session_id) const {
  const std::optional<std::string> known = sessions_->Cwd(session_id);
  if (!known.has_value()) {
    return absl::NotFoundError(
        absl::StrCat("no session \"", session_id, "\" is open"));
  }
  if (IsAbsolute(*known)) {
    return NormalizePath(*known);
  }
  if (!options_.workspace.empty()) {
    return options_.workspace;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the working directory of session \"", session_id, "\" is \"", *known,
      "\", must be an absolute path; or give corral-acp a --workspace"));
}

corral::v1::Sandbox Workplaces::ToSandbox(const WorkplaceOptions& options,
                                          const std::string& workspace) {
  corral::v1::Sandbox sandbox;
  sandbox.mutable_workspace()->set_path(workspace);
  sandbox.mutable_workspace()->set_read_only(options.read_only);
  *sandbox.mutable_limits() = options.limits;
  return sandbox;
}

std::shared_ptr<SessionSandbox> Workplaces::Sandbox(
    const std::string& session_id, const std::string& workspace) {
  std::shared_ptr<SessionSandbox>& sandbox = sandboxes_[session_id];
  if (sandbox == nullptr) {
    sandbox = std::make_shared<SessionSandbox>(calls_, deletions_,
                                               ToSandbox(options_, workspace));
  }
  return sandbox;
}

void Workplaces::Close(const std::string& session_id) {
  if (const auto node = sandboxes_.extract(session_id); !node.empty()) {
    node.mapped()->Delete();
  }
}

void Workplaces::CloseAll() {
  for (const auto& [session_id, sandbox] : std::exchange(sandboxes_, {})) {
    sandbox->Delete();
  }
}

}  // namespace bridge
