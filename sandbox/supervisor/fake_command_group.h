// A CommandGroup that records what is asked of it and signals nobody.
//
// Used by one thread only.

#ifndef SANDBOX_SUPERVISOR_FAKE_COMMAND_GROUP_H_
#define SANDBOX_SUPERVISOR_FAKE_COMMAND_GROUP_H_

#include <fcntl.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/supervisor/command_group.h"

namespace sandbox {

class FakeCommandGroup final : public CommandGroup {
 public:
  // Belongs to the test and outlives the group.
  struct State {
    // "limit ", "signal 15 ", "signal 15 to 7 ", "kill ", "recycle ",
    // "remove ", in order.
    std::string calls;
    // The processes that live in the group.
    std::vector<pid_t> pids;
    // True: Kill() leaves processes behind.
    bool survives = false;
    // True: Recycle() succeeds when no process lives in the group.
    bool recyclable = false;
    CgroupVersion version = CgroupVersion::kV2;
    // The limits that were set last.
    CgroupLimits limits;
    // The result of SetLimits().
    absl::Status limited;
    // The events that OomEvents() returns copies of; invalid: those of v2.
    UniqueFd oom_events;
    CgroupUsage usage;
    absl::StatusOr<absl::Duration> cpu_time = absl::ZeroDuration();
    // Called by Kill(), if it is set.
    std::function<void()> killing;
  };

  explicit FakeCommandGroup(State* state) : state_(state) {}

  CgroupVersion version() const override { return state_->version; }
  absl::Status SetLimits(const CgroupLimits& limits) override {
    absl::StrAppend(&state_->calls, "limit ");
    state_->limits = limits;
    return state_->limited;
  }
  std::vector<int> EntryFds() const override { return {0}; }
  std::vector<pid_t> Pids() const override { return state_->pids; }
  void Signal(int signal) override {
    absl::StrAppend(&state_->calls, "signal ", signal, " ");
  }
  void SignalProcessGroup(int signal, pid_t process_group) override {
    absl::StrAppend(&state_->calls, "signal ", signal, " to ", process_group,
                    " ");
  }
  bool Kill() override {
    absl::StrAppend(&state_->calls, "kill ");
    if (state_->killing) {
      state_->killing();
    }
    if (!state_->survives) {
      state_->pids.clear();
    }
    return !state_->survives;
  }
  absl::StatusOr<UniqueFd> OomEvents() const override {
    return UniqueFd(::fcntl(state_->oom_events.get(), F_DUPFD_CLOEXEC, 0));
  }
  CgroupUsage Usage() const override { return state_->usage; }
  uint64_t OomKills() const override { return state_->usage.oom_kills; }
  absl::StatusOr<absl::Duration> CpuTime() const override {
    return state_->cpu_time;
  }
  absl::Status Recycle() override {
    if (!state_->pids.empty()) {
      return absl::FailedPreconditionError("a process lives in the group");
    }
    absl::StrAppend(&state_->calls, state_->recyclable ? "recycle " : "");
    return state_->recyclable ? absl::OkStatus()
                              : absl::UnimplementedError("not recyclable");
  }
  absl::Status Remove() override {
    if (!state_->pids.empty()) {
      return absl::FailedPreconditionError("a process lives in the group");
    }
    absl::StrAppend(&state_->calls, "remove ");
    return absl::OkStatus();
  }

 private:
  State* const state_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_FAKE_COMMAND_GROUP_H_
