#include "bridge/acp/sessions/path_map.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bridge/acp/sessions/normal_path.h"

namespace bridge {
namespace {

// Returns true if the character continues a name in a path. Spaces and quotes
// can be part of a name, but in most texts they end the path.
bool IsOfName(char c) {
  return absl::ascii_isalnum(c) || absl::StrContains("_-.+@%~", c) ||
         (static_cast<unsigned char>(c) & 0x80) != 0;
}

}  // namespace

absl::Status PathMap::Add(absl::string_view text) {
  const size_t equals = text.find('=');
  if (equals == text.npos || !absl::StartsWith(text, "/") ||
      !absl::StartsWith(text.substr(equals + 1), "/")) {
    return absl::InvalidArgumentError(
        "allowed is LOCAL=REMOTE with two absolute paths");
  }
  entries_.emplace_back(
      NormalizePath(static_cast<std::string>(text.substr(0, equals))),
      NormalizePath(static_cast<std::string>(text.substr(equals + 1))));
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const auto& a, const auto& b) {
                     return a.first.size() > b.first.size();
                   });
  return absl::OkStatus();
}

std::string PathMap::ToRemote(const std::string& path) const {
  for (const auto& [local, remote] : entries_) {
    if (path == local) {
      return remote;
    }
    const std::string prefix = local == "/" ? local : absl::StrCat(local, "/");
    if (absl::StartsWith(path, prefix)) {
      return NormalizePath(
          absl::StrCat(remote, "/", path.substr(prefix.size())));
    }
  }
  return path;
}

std::string PathMap::ReplaceIn(const std::string& text) const {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const bool begins = text[at] == '/' && (at == 0 || !IsOfName(text[at - 1]));
    const auto entry =
        std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) {
          const size_t end = at + e.first.size();
          return begins && text.compare(at, e.first.size(), e.first) == 0 &&
                 (end >= text.size() || !IsOfName(text[end]));
        });
    if (entry == entries_.end()) {
      result.push_back(text[at++]);
    } else {
      result.append(entry->second);
      at += entry->first.size();
    }
  }
  return result;
}

}  // namespace bridge
