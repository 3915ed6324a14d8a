// Reads the reports of many executions that have ended, for a server that has
// connected. In the background, since a disk may be slow, fail or hang; what
// cannot be read is read again until it can: a server must never take an
// execution that has no report for one that does not exist.
//
// Used on the event loop's thread only.

#ifndef SANDBOX_SUPERVISOR_ENDED_READING_H_
#define SANDBOX_SUPERVISOR_ENDED_READING_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/timers.h"
#include "sandbox/supervisor/background.h"
#include "sandbox/supervisor/storage_status.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

class EndedReading {
 public:
  using MakeBackground = std::function<std::unique_ptr<Background>()>;
  using Done = std::function<void(wire::Snapshot)>;

  // `make_background` is called for each reading. All pointers outlive this.
  EndedReading(EventLoop* loop, Timers* timers, StorageStatus* storage,
               MakeBackground make_background);
  ~EndedReading();
  EndedReading(const EndedReading&) = delete;
  EndedReading& operator=(const EndedReading&) = delete;

  // The executions to be read.
  struct Wanted {
    std::string directory;
    // Those of ForgottenExecutions::Hashes().
    std::vector<uint32_t> hashes;
    // Ids that are not wanted, though their hash may be among those.
    std::set<std::string> others;
  };

  // Calls `done` with the reports of all executions that are wanted, once all
  // are read. Files that are removed meanwhile are left out, or are not. Call
  // it only while not busy().
  void Read(Wanted wanted, Done done);
  bool busy() const { return background_ != nullptr; }
  // Ends the reading: `done` is not called.
  void Stop();

 private:
  struct Job {
    Wanted wanted;
    bool listed = false;
    // Those still to be read, once they are listed.
    std::vector<std::string> ids;
    wire::Snapshot reports;
    // Why something could not be read.
    absl::Status failure;
  };

  void HandOver(std::shared_ptr<Job> job);
  void OnDone(const std::shared_ptr<Job>& job);
  // Run in the background. Return early once `stop` is true.
  static void Run(const std::atomic<bool>& stop, Job* job);
  static void ListIds(Job* job);

  EventLoop* const loop_;
  Timers* const timers_;
  StorageStatus* const storage_;
  const MakeBackground make_background_;
  Done done_;
  Timer retry_;
  // Belongs to the present reading.
  std::shared_ptr<std::atomic<bool>> stop_;
  // Null while nothing is read.
  std::unique_ptr<Background> background_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_ENDED_READING_H_
