// The keys that detach from a command without ending it.

#ifndef BRIDGE_CLI_ATTACH_DETACH_KEYS_H_
#define BRIDGE_CLI_ATTACH_DETACH_KEYS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bridge {

// Finds the keys in typed input. Not thread-safe.
class DetachKeys {
 public:
  // Has no keys, so found() stays false.
  DetachKeys() = default;

  // "ctrl-p,ctrl-q": characters and ctrl-X, separated by commas. X is a-z, @,
  // [, \, ], ^ or _. Empty: no keys. The error (InvalidArgument) says what is
  // allowed; the caller adds option and value.
  static absl::StatusOr<DetachKeys> Parse(absl::string_view text);

  // Returns the part of `typed` to pass on: everything but the keys and what
  // follows them. Input that may be the beginning of the keys is held back
  // until the next input decides.
  std::string Filter(absl::string_view typed);

  // True once the keys were typed.
  bool found() const { return found_; }

 private:
  std::string keys_;
  std::string held_;
  bool found_ = false;
};

}  // namespace bridge

#endif  // BRIDGE_CLI_ATTACH_DETACH_KEYS_H_
