#include "bridge/acp/sessions/workplaces.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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

std::string NormalizePath(const std::string& path) {
  std::string normal = std::filesystem::path(path).lexically_normal().string();
  // POSIX lets the system define "//x"; on Linux it is "/x".
  while (absl::StartsWith(normal, "//")) {
    normal.erase(0, 1);
  }
  if (normal.size() > 1 && absl::EndsWith(normal, "/")) {
    normal.pop_back();
  }
  return normal;
}

absl::StatusOr<Workplaces::Workplace> Workplaces::Find(
    const std::string& session_id, const std::string& cwd) {
  ASSIGN_OR_RETURN(std::string directory, SessionDirectory(session_id));
  directory = WithoutLinks(directory);
  const std::string workspace =
      options_.workspace.empty() ? directory : WithoutLinks(options_.workspace);
  if (!IsIn(directory, workspace)) {
    directory = workspace;
  }
  if (!cwd.empty()) {
    directory = WithoutLinks(NormalizePath(
        IsAbsolute(cwd) ? cwd : absl::StrCat(directory, "/", cwd)));
  }
  return Workplace{Sandbox(session_id, workspace), directory};
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

std::shared_ptr<SessionSandbox> Workplaces::Sandbox(
    const std::string& session_id, const std::string& workspace) {
  std::shared_ptr<SessionSandbox>& sandbox = sandboxes_[session_id];
  if (sandbox == nullptr) {
    corral::v1::Sandbox wanted;
    wanted.mutable_workspace()->set_path(workspace);
    wanted.mutable_workspace()->set_read_only(options_.read_only);
    *wanted.mutable_limits() = options_.limits;
    sandbox =
        std::make_shared<SessionSandbox>(calls_, deletions_, std::move(wanted));
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
