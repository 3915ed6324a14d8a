// The keys that leave a command which goes on.

#ifndef BRIDGE_CLI_ATTACH_DETACH_KEYS_H_
#define BRIDGE_CLI_ATTACH_DETACH_KEYS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bridge {

// Looks for them in what is typed. Not thread-safe.
class DetachKeys {
 public:
  // Never found.
  DetachKeys() = default;

  // "ctrl-p,ctrl-q": characters and ctrl-X, with X of a-z, @, [, \, ], ^ and _,
  // separated by commas; empty: none. The error (InvalidArgument) says what is
  // allowed, and not what was given.
  static absl::StatusOr<DetachKeys> Parse(absl::string_view text);

  // What of `typed` is to be passed on: all of it but the keys and what comes
  // after them. A beginning of the keys is held back until it is known to be
  // none.
  std::string Filter(absl::string_view typed);

  // They were typed.
  bool found() const { return found_; }

 private:
  std::string keys_;
  std::string held_;
  bool found_ = false;
};

}  // namespace bridge

#endif  // BRIDGE_CLI_ATTACH_DETACH_KEYS_H_
