// The part of a command that the server keeps in memory for each execution,
// serialized, since thousands are kept and the message takes several times as
// much. The record of the start has the whole command; see ReadCommand in
// execution_records.h.

#ifndef SERVER_CORE_KEPT_COMMAND_H_
#define SERVER_CORE_KEPT_COMMAND_H_

#include <cstddef>
#include <string>

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
  corral::v1::Command command() const;
  // True if nothing was left out.
  bool whole() const { return whole_; }

 private:
  std::string command_;
  bool whole_;
};

}  // namespace server

#endif  // SERVER_CORE_KEPT_COMMAND_H_
