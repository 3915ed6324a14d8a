#ifndef BRIDGE_ACP_SESSIONS_PATH_MAP_H_
#define BRIDGE_ACP_SESSIONS_PATH_MAP_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace bridge {

// Directories that have one path for the editor and its agent, and another one
// on the server. Not thread-safe.
class PathMap {
 public:
  // `text` is LOCAL=REMOTE, two absolute paths. If a LOCAL is added twice, the
  // first one counts. Fails with InvalidArgument.
  absl::Status Add(absl::string_view text);

  bool empty() const { return entries_.empty(); }

  // Maps `path`, which is absolute and normal, by the longest LOCAL that
  // contains it.
  std::string ToRemote(const std::string& path) const;

  // Replaces every LOCAL path in a text, such as an argument of a command,
  // where it stands as a whole path or in front of a slash.
  std::string ReplaceIn(const std::string& text) const;

 private:
  // LOCAL and REMOTE, the longest LOCAL first.
  std::vector<std::pair<std::string, std::string>> entries_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_SESSIONS_PATH_MAP_H_
