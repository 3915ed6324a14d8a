// Absolute paths as texts. Nothing here looks at the disk.

#ifndef SANDBOX_BASE_PATHS_H_
#define SANDBOX_BASE_PATHS_H_

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace sandbox {

// Returns true if `path` is `directory` or lies below it. `directory` has no
// slash at its end, unless it is "/".
inline bool IsWithin(absl::string_view path, absl::string_view directory) {
  return directory == "/" || path == directory ||
         absl::StartsWith(path, absl::StrCat(directory, "/"));
}

// Returns `path` without the slashes at its end; "/" stays.
inline absl::string_view StripTrailingSlashes(absl::string_view path) {
  while (path.size() > 1 && path.back() == '/') {
    path.remove_suffix(1);
  }
  return path;
}

}  // namespace sandbox

#endif  // SANDBOX_BASE_PATHS_H_
