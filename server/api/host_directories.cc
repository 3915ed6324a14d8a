#include "server/api/host_directories.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "sandbox/base/paths.h"
#include "sandbox/base/status_macros.h"
#include "server/api/errors.h"

namespace server {
namespace {

constexpr size_t kMaxPathBytes = 4095;
constexpr int kMaxFurtherWorkspaces = 16;
constexpr int kMaxMounts = 16;

// A mount may cover neither these directories nor anything below them: programs
// and settings that every sandbox has. /var/run is a link.
constexpr const char* kOwnTrees[] = {"/bin",   "/dev",   "/etc",    "/lib",
                                     "/lib32", "/lib64", "/libx32", "/proc",
                                     "/sbin",  "/sys",   "/usr",    "/var/run"};
// A mount may not cover these themselves, but may lie below them.
constexpr const char* kOwnDirectories[] = {"/",    "/home", "/run",
                                           "/tmp", "/var",  "/var/tmp"};
constexpr char kAllowedTarget[] =
    "a place that covers nothing that a sandbox needs: not at or below /bin, "
    "/dev, /etc, /lib, /lib32, /lib64, /libx32, /proc, /sbin, /sys, /usr and "
    "/var/run, and not /, /home, /run, /tmp, /var or /var/tmp";

std::string Join(absl::string_view field, absl::string_view part) {
  return absl::StrCat(field, ".", part);
}

// `path` is that of a workspace or the source of a mount.
absl::Status CheckSource(absl::string_view field, absl::string_view path) {
  RETURN_IF_ERROR(CheckPath(field, path));
  path = sandbox::StripTrailingSlashes(path);
  for (const char* system : {"/proc", "/sys", "/dev", "/etc"}) {
    if (sandbox::IsWithin(path, system)) {
      return InvalidField(field, path,
                          "a directory not below /proc, /sys, /dev or /etc");
    }
  }
  if (path == "/") {
    return InvalidField(field, path, "a directory below the root");
  }
  return absl::OkStatus();
}

// `target` has no slash at its end.
absl::Status CheckTarget(absl::string_view field, absl::string_view target) {
  RETURN_IF_ERROR(CheckPath(field, target));
  const bool covers =
      std::any_of(std::begin(kOwnTrees), std::end(kOwnTrees),
                  [target](const char* tree) {
                    return sandbox::IsWithin(target, tree);
                  }) ||
      std::find(std::begin(kOwnDirectories), std::end(kOwnDirectories),
                target) != std::end(kOwnDirectories);
  return covers ? InvalidField(field, target, kAllowedTarget)
                : absl::OkStatus();
}

// The places in the sandbox that are taken, without slashes at their ends.
using Places = std::vector<absl::string_view>;

// Adds a place. A directory inside another one would appear twice, perhaps with
// different rights, so it is refused. `allowed` is the rule, for the error.
absl::Status Take(absl::string_view field, absl::string_view path,
                  absl::string_view allowed, Places& places) {
  path = sandbox::StripTrailingSlashes(path);
  for (const absl::string_view other : places) {
    if (sandbox::IsWithin(path, other) || sandbox::IsWithin(other, path)) {
      return InvalidField(field, path, allowed);
    }
  }
  places.push_back(path);
  return absl::OkStatus();
}

absl::Status CheckFurtherWorkspaces(absl::string_view field,
                                    const corral::v1::Sandbox& sandbox,
                                    Places& places) {
  const auto& further = sandbox.further_workspaces();
  if (further.size() > kMaxFurtherWorkspaces) {
    return InvalidField(field, absl::StrCat(further.size()), "at most 16");
  }
  if (!further.empty() && !sandbox.has_workspace()) {
    return InvalidField(field, further[0].path(), "none without a workspace");
  }
  for (int i = 0; i < further.size(); ++i) {
    const std::string path_field = absl::StrCat(field, "[", i, "].path");
    RETURN_IF_ERROR(CheckSource(path_field, further[i].path()));
    RETURN_IF_ERROR(Take(path_field, further[i].path(),
                         "no directory at, above or below another workspace",
                         places));
  }
  return absl::OkStatus();
}

absl::Status CheckMounts(absl::string_view field,
                         const corral::v1::Sandbox& sandbox, Places& places) {
  const auto& mounts = sandbox.mounts();
  if (mounts.size() > kMaxMounts) {
    return InvalidField(field, absl::StrCat(mounts.size()), "at most 16");
  }
  for (int i = 0; i < mounts.size(); ++i) {
    const corral::v1::Mount& mount = mounts[i];
    const std::string element = absl::StrCat(field, "[", i, "]");
    RETURN_IF_ERROR(CheckSource(Join(element, "source"), mount.source()));
    const std::string target_field = Join(element, "target");
    RETURN_IF_ERROR(CheckTarget(target_field, TargetOf(mount)));
    RETURN_IF_ERROR(Take(
        target_field, TargetOf(mount),
        "no place at, above or below a workspace or another mount", places));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPath(absl::string_view field, absl::string_view path) {
  if (absl::StrContains(path, '\0')) {
    return InvalidField(field, path, "no NUL byte");
  }
  if (path.size() > kMaxPathBytes) {
    return InvalidField(field, path, "at most 4095 bytes");
  }
  if (!absl::StartsWith(path, "/")) {
    return InvalidField(field, path, "an absolute path");
  }
  for (const absl::string_view part :
       absl::StrSplit(sandbox::StripTrailingSlashes(path).substr(1), '/')) {
    if (part == "." || part == ".." || (part.empty() && path != "/")) {
      return InvalidField(field, path,
                          "a path without \".\", \"..\" and \"//\"");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckHostDirectories(absl::string_view field,
                                  const corral::v1::Sandbox& sandbox) {
  Places places;
  if (sandbox.has_workspace()) {
    const absl::string_view path = sandbox.workspace().path();
    RETURN_IF_ERROR(CheckSource(Join(field, "workspace.path"), path));
    places.push_back(sandbox::StripTrailingSlashes(path));
  }
  RETURN_IF_ERROR(CheckFurtherWorkspaces(Join(field, "further_workspaces"),
                                         sandbox, places));
  return CheckMounts(Join(field, "mounts"), sandbox, places);
}

absl::string_view TargetOf(const corral::v1::Mount& mount) {
  return sandbox::StripTrailingSlashes(mount.target().empty() ? mount.source()
                                                              : mount.target());
}

}  // namespace server
