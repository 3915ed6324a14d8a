// The cgroup of one command. An interface, since there are hosts without (see
// marked_group.h), and so that a test of SupervisedCommand needs no cgroups of
// its host. See Cgroup for what each function guarantees.
//
// Not thread-safe.

#ifndef SANDBOX_SUPERVISOR_COMMAND_GROUP_H_
#define SANDBOX_SUPERVISOR_COMMAND_GROUP_H_

#include <sys/types.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/init/exchange.h"
#include "sandbox/kernel/cgroup.h"

namespace sandbox {

class CommandGroup {
 public:
  virtual ~CommandGroup() = default;

  virtual CgroupVersion version() const = 0;
  virtual absl::Status SetLimits(const CgroupLimits& limits) = 0;
  // How the spawner uses the descriptors of EntryFds().
  virtual SpawnGroup spawn_group() const {
    return version() == CgroupVersion::kV2 ? SpawnGroup::kDirectory
                                           : SpawnGroup::kTasks;
  }
  virtual std::vector<int> EntryFds() const = 0;
  // Called right before the spawner makes the command's process. Returns 0 or
  // an errno.
  virtual int BeginStart() { return 0; }
  virtual std::vector<pid_t> Pids() const = 0;
  virtual void Signal(int signal) = 0;
  virtual void SignalProcessGroup(int signal, pid_t process_group) = 0;
  virtual bool Kill() = 0;
  virtual absl::StatusOr<UniqueFd> OomEvents() const = 0;
  // Called when the command was reaped: if the group is empty then, it must
  // stay so until Recycle().
  virtual CgroupUsage Usage() const = 0;
  virtual uint64_t OomKills() const = 0;
  virtual absl::StatusOr<absl::Duration> CpuTime() const = 0;
  virtual absl::Status Recycle() = 0;
  virtual absl::Status Remove() = 0;
};

class KernelCommandGroup final : public CommandGroup {
 public:
  explicit KernelCommandGroup(Cgroup cgroup) : cgroup_(std::move(cgroup)) {}

  CgroupVersion version() const override { return cgroup_.version(); }
  absl::Status SetLimits(const CgroupLimits& limits) override {
    return cgroup_.SetLimits(limits);
  }
  std::vector<int> EntryFds() const override { return cgroup_.EntryFds(); }
  std::vector<pid_t> Pids() const override { return cgroup_.Pids(); }
  void Signal(int signal) override { cgroup_.Signal(signal); }
  void SignalProcessGroup(int signal, pid_t process_group) override {
    cgroup_.SignalProcessGroup(signal, process_group);
  }
  bool Kill() override { return cgroup_.Kill(); }
  absl::StatusOr<UniqueFd> OomEvents() const override {
    return cgroup_.OomEvents();
  }
  CgroupUsage Usage() const override { return cgroup_.Usage(); }
  uint64_t OomKills() const override { return cgroup_.OomKills(); }
  absl::StatusOr<absl::Duration> CpuTime() const override {
    return cgroup_.CpuTime();
  }
  absl::Status Recycle() override { return cgroup_.Recycle(); }
  absl::Status Remove() override { return cgroup_.Remove(); }

 private:
  Cgroup cgroup_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_COMMAND_GROUP_H_
