#include "sandbox/supervisor/spec_mounts.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"

namespace sandbox {

std::vector<WorkspaceMount> WorkspacesOf(const wire::SandboxSpec& spec,
                                         uint32_t first_id) {
  std::vector<WorkspaceMount> workspaces;
  if (!spec.workspace().empty()) {
    workspaces.push_back(
        {spec.workspace(), spec.workspace_read_only(), first_id});
    workspaces.back().read_only_paths.assign(spec.read_only_paths().begin(),
                                             spec.read_only_paths().end());
  }
  for (const wire::SandboxSpec::FurtherWorkspace& further :
       spec.further_workspaces()) {
    workspaces.push_back({further.path(), further.read_only(), first_id});
    workspaces.back().read_only_paths.assign(further.read_only_paths().begin(),
                                             further.read_only_paths().end());
  }
  for (const wire::SandboxSpec::Mount& mount : spec.mounts()) {
    workspaces.push_back(
        {mount.source(), !mount.writable(), first_id, mount.target()});
  }
  return workspaces;
}

std::vector<std::string> DirectoriesOf(const wire::SandboxSpec& spec) {
  std::vector<std::string> directories;
  for (const WorkspaceMount& mount : WorkspacesOf(spec, 0)) {
    directories.push_back(mount.path);
  }
  return directories;
}

std::vector<ReadOnlyPaths> PathsOf(
    const std::vector<WorkspaceMount>& workspaces, std::vector<UniqueFd> mounts,
    uint32_t user) {
  std::vector<ReadOnlyPaths> paths;
  for (size_t i = 0; i < workspaces.size(); ++i) {
    const WorkspaceMount& workspace = workspaces[i];
    if (!workspace.read_only && !workspace.read_only_paths.empty()) {
      paths.emplace_back(std::move(mounts[i]), workspace.path,
                         workspace.read_only_paths, user);
    }
  }
  return paths;
}

absl::StatusOr<std::vector<DirectoryQuota>> LimitSpace(
    const std::vector<WorkspaceMount>& workspaces,
    const std::vector<UniqueFd>& mounts, const SpaceLimits& limits) {
  std::vector<DirectoryQuota> quotas;
  for (size_t i = 0; i < workspaces.size() && limits.limited(); ++i) {
    const WorkspaceMount& workspace = workspaces[i];
    if (!workspace.read_only) {
      ASSIGN_OR_RETURN(
          DirectoryQuota quota,
          DirectoryQuota::Impose(
              mounts[i].get(),
              absl::StrCat(workspace.target.empty() ? "workspace " : "mount ",
                           workspace.path),
              limits));
      quotas.push_back(std::move(quota));
    }
  }
  return quotas;
}

}  // namespace sandbox
