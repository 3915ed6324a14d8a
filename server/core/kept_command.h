// The part of a command that the server keeps in memory for each execution.
// The record of the start has the whole command; see ReadCommand in
// execution_records.h.

#ifndef SERVER_CORE_KEPT_COMMAND_H_
#define SERVER_CORE_KEPT_COMMAND_H_

#include "corral/v1/execution.pb.h"

namespace server {

class KeptCommand {
 public:
  // Bounds of the arguments that are kept; the bytes include one terminating
  // NUL for each argument.
  static constexpr size_t kMaxArguments = 64;
  static constexpr size_t kMaxArgumentBytes = 4096;

  // Implicit, so that a whole command can be passed as it is.
  KeptCommand(const corral::v1::Command& whole);  // NOLINT

  // The command without its environment. Arguments beyond the bounds are
  // missing, and the last one may be cut.
  const corral::v1::Command& command() const { return command_; }
  // True if nothing was left out.
  bool whole() const { return whole_; }

 private:
  corral::v1::Command command_;
  bool whole_ = true;
};

}  // namespace server

#endif  // SERVER_CORE_KEPT_COMMAND_H_
