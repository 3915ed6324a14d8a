// The parts of the supervisor that all commands of one sandbox share.

#ifndef SANDBOX_SUPERVISOR_COMMAND_HOST_H_
#define SANDBOX_SUPERVISOR_COMMAND_HOST_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/timers.h"
#include "sandbox/supervisor/output_quota.h"
#include "sandbox/supervisor/record_sync.h"
#include "sandbox/supervisor/spare_parts.h"
#include "sandbox/supervisor/spawner.h"
#include "sandbox/supervisor/storage_status.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

// All pointers outlive the commands.
struct CommandHost {
  EventLoop* loop = nullptr;
  // The loop, except in tests.
  Timers* timers = nullptr;
  Spawner* spawner = nullptr;
  SpareParts* spares = nullptr;
  StorageStatus* storage = nullptr;
  OutputQuota* quota = nullptr;
  RecordSync* sync = nullptr;
  // The directory of the sandbox's devpts.
  int devpts = -1;
  // The first id of the sandbox, as the host sees it. Without it, the streams
  // of commands belong to this process.
  std::optional<uid_t> first_id;
  // The sandbox was made for one command.
  bool ephemeral = false;
  // See corral.v1.Limits.
  bool kill_all_on_oom = false;
  // 0: no limit.
  uint64_t file_bytes = 0;
  // A command's state has changed. Called for RUNNING, and for its end.
  std::function<void(const wire::ExecutionRecord&)> on_state;
  // The logs of a command have changed; see wire::OutputChange.
  std::function<void(wire::OutputChange)> on_output;
  // Returns true if init has ended or is about to, with all other processes.
  std::function<bool()> init_ends;
  // Returns false if the kernel's log says that the kernel killed another
  // process for lack of memory. Slow: a few milliseconds.
  std::function<bool(pid_t)> may_be_oom_victim;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_COMMAND_HOST_H_
