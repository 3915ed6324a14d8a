// The processes of one command where the host gives no control groups.
//
// Each has a mark that its children inherit and that it cannot change: its hard
// limit of core dumps. The system call filters of all profiles make changes of
// that limit succeed without an effect, and the soft one stays 1; see
// SetResourceLimits().
//
// Unlike a control group, this finds the processes by looking at all of the
// host, can prevent no new ones, and counts neither memory nor CPU time.
//
// Not thread-safe.

#ifndef SANDBOX_SUPERVISOR_MARKED_GROUP_H_
#define SANDBOX_SUPERVISOR_MARKED_GROUP_H_

#include <dirent.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/init/exchange.h"
#include "sandbox/supervisor/command_group.h"

namespace sandbox {

// The marks of one sandbox. Those of others differ: they contain the number of
// the pid namespace.
class Marks {
 public:
  // `init` is PID 1 of the sandbox; `spawner` returns the pid of the process
  // whose children are commands. Fails with ISOLATION if the hard limit of core
  // dumps of this process does not leave room for marks.
  static absl::StatusOr<std::shared_ptr<Marks>> Create(
      pid_t init, std::function<pid_t()> spawner);

  // Gives the spawner the next mark, which its next child inherits. Sets errno
  // and returns 0 on failure. Marks fall: the kernel lets nobody raise them.
  uint64_t MarkSpawner();

  // Returns the processes with this mark that have not ended, except for the
  // spawner.
  std::vector<pid_t> Find(uint64_t mark);
  // True if the process has the mark.
  static bool Has(pid_t pid, uint64_t mark);

 private:
  struct Close {
    void operator()(DIR* directory) const { ::closedir(directory); }
  };
  using Directory = std::unique_ptr<DIR, Close>;

  Marks(uint64_t last, std::function<pid_t()> spawner, Directory proc)
      : last_(last), spawner_(std::move(spawner)), proc_(std::move(proc)) {}

  uint64_t last_;
  const std::function<pid_t()> spawner_;
  // Kept open, so that a lack of descriptors hides no process.
  const Directory proc_;
};

class MarkedGroup final : public CommandGroup {
 public:
  explicit MarkedGroup(std::shared_ptr<Marks> marks)
      : marks_(std::move(marks)) {}

  CgroupVersion version() const override { return CgroupVersion::kV1; }
  // Does nothing: see LimitProcesses().
  absl::Status SetLimits(const CgroupLimits&) override {
    return absl::OkStatus();
  }
  SpawnGroup spawn_group() const override { return SpawnGroup::kNone; }
  std::vector<int> EntryFds() const override { return {}; }
  int BeginStart() override;
  std::vector<pid_t> Pids() const override;
  void Signal(int signal) override { SignalProcessGroup(signal, 0); }
  // With `process_group` 0, signals all processes.
  void SignalProcessGroup(int signal, pid_t process_group) override;
  bool Kill() override;
  absl::StatusOr<UniqueFd> OomEvents() const override { return UniqueFd(); }
  CgroupUsage Usage() const override { return {}; }
  uint64_t OomKills() const override { return 0; }
  // Fails.
  absl::StatusOr<absl::Duration> CpuTime() const override;
  // Fails: the next command needs another mark.
  absl::Status Recycle() override;
  // Fails with FailedPrecondition if a process lives.
  absl::Status Remove() override;

 private:
  const std::shared_ptr<Marks> marks_;
  // 0: the command has not been started.
  uint64_t mark_ = 0;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_MARKED_GROUP_H_
