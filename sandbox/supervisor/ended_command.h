// A command of which nothing runs and writes any more: its files, and the
// report that a later server gets. Kept until its files say all of that; see
// command_table.h.
//
// Used on the event loop's thread only. Not movable: the quota refers to it.

#ifndef SANDBOX_SUPERVISOR_ENDED_COMMAND_H_
#define SANDBOX_SUPERVISOR_ENDED_COMMAND_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/timer.h"
#include "sandbox/supervisor/command_host.h"
#include "sandbox/supervisor/input_channel.h"

namespace sandbox {

class EndedCommand {
 public:
  // `report` is the last one of a command whose logs, input and cgroup are
  // closed and whose end is on disk. From now on this object charges
  // `disk_bytes` to the quota, which may expire the logs. `synced`: its
  // files are synced. `host` outlives this.
  EndedCommand(CommandHost* host, const wire::ExecutionRecord& report,
               uint64_t disk_bytes, bool synced);
  ~EndedCommand();
  EndedCommand(const EndedCommand&) = delete;
  EndedCommand& operator=(const EndedCommand&) = delete;

  wire::ExecutionRecord report() const;

  void OnSynced() { synced_ = true; }
  // True if its files are synced and hold all that the report says.
  bool is_in_files() const;
  // Returns the bytes that are charged, and leaves them charged when this is
  // destroyed.
  uint64_t LeaveCharged() { return std::exchange(charged_, 0); }
  uint64_t charged() const { return charged_; }
  // Discards its output, and retries until the disk lets it. The quota calls
  // it, too.
  void Expire();

  // Answer as SupervisedCommand does when nothing runs any more.
  absl::Status Signal(const wire::Signal& signal) const;
  absl::Status Resize(uint32_t rows, uint32_t columns) const;
  void WriteInput(const wire::WriteInput& input, InputChannel::Done done) const;
  void Acknowledge(wire::Stream, uint64_t) {}

  // Removes its files. Returns false if something is left; then the storage
  // status fails.
  bool RemoveFiles();

 private:
  CommandHost* const host_;
  // Serialized, since the message takes several times as much.
  std::string report_;
  // The bytes of disk that are charged to the quota.
  uint64_t charged_;
  bool synced_;
  Timer expire_retry_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_ENDED_COMMAND_H_
