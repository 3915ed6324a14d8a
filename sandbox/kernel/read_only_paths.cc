#include "sandbox/kernel/read_only_paths.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/kernel/mount_api.h"
#include "sandbox/kernel/path_part.h"

namespace sandbox {
namespace {

// How often a path is tried whose parts others move meanwhile.
constexpr int kTries = 5;

// Files of a .git directory. Git fails if one of them is a directory; with
// these contents they change nothing. A commondir leads to another directory
// with configuration and hooks, here to the same.
constexpr struct {
  const char* name;
  const char* content;
} kGitFiles[] = {{"commondir", ".\n"}, {"config", ""}, {"config.worktree", ""}};

// The content of the placeholder for the part `i` of a path; null: it is a
// directory, which git does not show and does not add.
const char* ContentOf(const std::vector<std::string>& names, size_t i) {
  if (i > 0 && i + 1 == names.size() && names[i - 1] == ".git") {
    for (const auto& file : kGitFiles) {
      if (names[i] == file.name) {
        return file.content;
      }
    }
  }
  return nullptr;
}

bool IsMissing(int directory, const std::string& name) {
  struct stat status;
  return ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) !=
             0 &&
         errno == ENOENT;
}

}  // namespace

ReadOnlyPaths::ReadOnlyPaths(UniqueFd workspace, std::string name,
                             std::vector<std::string> paths, uint32_t user)
    : workspace_(std::move(workspace)),
      name_(std::move(name)),
      paths_(std::move(paths)),
      user_(user) {}

absl::StatusOr<int> ReadOnlyPaths::Cover(int moves) {
  int mounts = 0;
  for (const std::string& path : paths_) {
    absl::Status covered = CoverPath(path, moves, &mounts);
    for (int tries = 1; tries < kTries && !covered.ok(); ++tries) {
      covered = CoverPath(path, moves, &mounts);
    }
    if (!covered.ok()) {
      return MakeFailure(wire::Reply::READ_ONLY_PATH,
                         absl::StrCat("workspace ", name_, ": read-only path ",
                                      path, ": ", covered.message()));
    }
  }
  return mounts;
}

void ReadOnlyPaths::Uncover() const {
  for (const auto& [place, placeholder] : placeholders_) {
    placeholder.Uncover();
  }
}

bool ReadOnlyPaths::MayBeMissing(const std::vector<std::string>& names,
                                 size_t i, const std::string& place) const {
  return names[i] == ".git" && i + 1 < names.size() &&
         repositories_.count(place) == 0;
}

bool ReadOnlyPaths::IsPlaceholder(const std::string& place, int directory,
                                  const std::string& name) const {
  const auto [first, last] = placeholders_.equal_range(place);
  return std::any_of(first, last, [&](const auto& each) {
    return each.second.IsAt(directory, name);
  });
}

void ReadOnlyPaths::ForgetReplaced(const std::string& place) {
  const auto [first, last] = placeholders_.equal_range(place);
  for (auto each = first; each != last;) {
    each =
        each->second.IsInPlace() ? std::next(each) : placeholders_.erase(each);
  }
}

absl::StatusOr<bool> ReadOnlyPaths::Fill(int directory,
                                         const std::string& place,
                                         const std::string& name,
                                         const char* content) {
  ForgetReplaced(place);
  struct stat status;
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    if (!IsPlaceholder(place, directory, name)) {
      std::optional<Placeholder> found = Placeholder::Find(directory, name);
      if (found.has_value()) {
        placeholders_.emplace(place, *std::move(found));
      }
    }
    return true;
  }
  struct statvfs system;
  if (errno != ENOENT || ::fstat(directory, &status) != 0 ||
      ::fstatvfs(directory, &system) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("stat ", place));
  }
  // Nobody can make anything in a directory that was removed.
  if ((system.f_flag & ST_RDONLY) != 0 || status.st_nlink == 0) {
    return false;
  }
  absl::StatusOr<Placeholder> made =
      Placeholder::Make(directory, name, content, user_);
  // Commands can change the rights of their own directories only.
  if (absl::IsPermissionDenied(made.status()) && status.st_uid != user_) {
    return false;
  }
  RETURN_IF_ERROR(made.status());
  placeholders_.emplace(place, *std::move(made));
  return true;
}

absl::StatusOr<bool> ReadOnlyPaths::Exists(
    const std::vector<std::string>& names, size_t i, const std::string& place,
    int directory) {
  if (MayBeMissing(names, i, place) && IsMissing(directory, names[i])) {
    return false;
  }
  ASSIGN_OR_RETURN(const bool exists,
                   Fill(directory, place, names[i], ContentOf(names, i)));
  if (exists && names[i] == ".git") {
    repositories_.insert(place);
  }
  return exists;
}

absl::StatusOr<UniqueFd> ReadOnlyPaths::CoverPart(
    const std::vector<std::string>& names, size_t i, const std::string& place,
    int directory, int moves, int* mounts) {
  ASSIGN_OR_RETURN(const bool exists, Exists(names, i, place, directory));
  if (!exists) {
    return UniqueFd();
  }
  if (moves >= 0) {
    RETURN_IF_ERROR(WatchMoves(moves, directory, names[i]));
  }
  ASSIGN_OR_RETURN(PathPart part, OpenPart(directory, names[i]));
  if (part.is_mount_point && part.is_read_only) {
    return UniqueFd();
  }
  RETURN_IF_ERROR(CheckCoverable(part, place));
  // A file or a placeholder on the way is protected in place of what could be
  // below it. Only the opened part can tell: since Exists(), another process
  // may have replaced the placeholder by a repository.
  const bool leads_on = i + 1 < names.size() && S_ISDIR(part.mode) &&
                        !IsPlaceholder(place, part.fd.get(), "");
  if (leads_on && part.is_mount_point) {
    return std::move(part.fd);
  }
  ASSIGN_OR_RETURN(UniqueFd mounted,
                   MountOnItself(directory, names[i], part,
                                 leads_on ? MountAccess::kWritable
                                          : MountAccess::kReadOnly));
  ++*mounts;
  return leads_on ? std::move(mounted) : UniqueFd();
}

absl::Status ReadOnlyPaths::CoverPath(const std::string& path, int moves,
                                      int* mounts) {
  const std::vector<std::string> names =
      absl::StrSplit(path, '/', absl::SkipEmpty());
  ASSIGN_OR_RETURN(UniqueFd at, OpenBeneath(workspace_.get(), "."));
  std::string place;
  for (size_t i = 0; i < names.size() && at.valid(); ++i) {
    absl::StrAppend(&place, place.empty() ? "" : "/", names[i]);
    ASSIGN_OR_RETURN(at, CoverPart(names, i, place, at.get(), moves, mounts));
  }
  return absl::OkStatus();
}

}  // namespace sandbox
