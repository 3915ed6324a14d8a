// File names of output logs in the directory of their execution.

#ifndef SANDBOX_STORAGE_LOG_NAMES_H_
#define SANDBOX_STORAGE_LOG_NAMES_H_

#include "corral/supervisor/v1/supervisor.pb.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

// All names; an execution has some of them.
inline constexpr const char* kLogNames[] = {"stdout", "stderr", "terminal"};

inline const char* LogName(wire::Stream stream) {
  switch (stream) {
    case wire::STDERR:
      return "stderr";
    case wire::TERMINAL:
      return "terminal";
    default:  // STDOUT, and the sentinels of protobuf's open enums
      return "stdout";
  }
}

}  // namespace sandbox

#endif  // SANDBOX_STORAGE_LOG_NAMES_H_
