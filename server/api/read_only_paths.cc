#include "server/api/read_only_paths.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "sandbox/base/status_macros.h"
#include "server/api/errors.h"

namespace server {
namespace {

using corral::v1::Sandbox;
using corral::v1::Workspace;

constexpr size_t kMaxPaths = 64;
constexpr size_t kMaxPathBytes = 255;
constexpr size_t kMaxParts = 16;

absl::Status CheckPath(absl::string_view field, absl::string_view path) {
  if (absl::StrContains(path, '\0')) {
    return InvalidField(field, path, "no NUL byte");
  }
  if (path.size() > kMaxPathBytes) {
    return InvalidField(field, path, "at most 255 bytes");
  }
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  if (parts.size() > kMaxParts) {
    return InvalidField(field, path, "at most 16 parts");
  }
  const bool is_normal =
      std::none_of(parts.begin(), parts.end(), [](absl::string_view part) {
        return part.empty() || part == "." || part == "..";
      });
  return is_normal
             ? absl::OkStatus()
             : InvalidField(field, path,
                            "a path relative to the workspace, without \".\", "
                            "\"..\", \"//\" and a slash at its end");
}

absl::Status CheckWorkspace(absl::string_view field, const Workspace& workspace,
                            Sandbox::Profile profile) {
  const std::string paths_field = absl::StrCat(field, ".read_only_paths");
  for (int i = 0; i < workspace.read_only_paths_size(); ++i) {
    RETURN_IF_ERROR(CheckPath(absl::StrCat(paths_field, "[", i, "]"),
                              workspace.read_only_paths(i)));
  }
  const std::vector<std::string> paths = ReadOnlyPathsOf(workspace);
  if (paths.size() > kMaxPaths) {
    return InvalidField(paths_field, absl::StrCat(paths.size()),
                        "at most 64, those of protect_host_tools included");
  }
  if (profile != Sandbox::NESTED || workspace.read_only() || paths.empty()) {
    return absl::OkStatus();
  }
  constexpr char kWhy[] =
      " with profile NESTED, whose programs could move the paths in namespaces "
      "of their own";
  return workspace.protect_host_tools()
             ? InvalidField(absl::StrCat(field, ".protect_host_tools"), "true",
                            absl::StrCat("false", kWhy))
             : InvalidField(paths_field, paths.front(),
                            absl::StrCat("none", kWhy));
}

}  // namespace

std::vector<std::string> ReadOnlyPathsOf(const Workspace& workspace) {
  std::set<std::string> paths(workspace.read_only_paths().begin(),
                              workspace.read_only_paths().end());
  if (workspace.protect_host_tools()) {
    paths.insert(std::begin(kHostToolPaths), std::end(kHostToolPaths));
  }
  return {paths.begin(), paths.end()};
}

absl::Status CheckReadOnlyPaths(absl::string_view field,
                                const Sandbox& sandbox) {
  RETURN_IF_ERROR(CheckWorkspace(absl::StrCat(field, ".workspace"),
                                 sandbox.workspace(), sandbox.profile()));
  for (int i = 0; i < sandbox.further_workspaces_size(); ++i) {
    RETURN_IF_ERROR(
        CheckWorkspace(absl::StrCat(field, ".further_workspaces[", i, "]"),
                       sandbox.further_workspaces(i), sandbox.profile()));
  }
  return absl::OkStatus();
}

}  // namespace server
