#include "server/core/workspace_checks.h"

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "sandbox/base/log.h"
#include "sandbox/base/mutex.h"
#include "server/api/errors.h"

namespace server {
namespace {

// How soon a client may ask again for a directory that could not be checked.
constexpr absl::Duration kRetry = absl::Seconds(5);

// The result of one check, which its thread and its timer compete to give.
class Result {
 public:
  explicit Result(WorkspaceChecks::Done done) : done_(std::move(done)) {}

  // Only the first call has an effect. Returns true if this was the first.
  bool Give(const absl::Status& status) {
    if (given_.exchange(true)) {
      return false;
    }
    WorkspaceChecks::Done done = std::move(done_);
    done(status);
    return true;
  }

 private:
  std::atomic<bool> given_ = false;
  WorkspaceChecks::Done done_;
};

}  // namespace

void WorkspaceChecks::Run(const std::string& sandbox, const std::string& path,
                          bool read_only, Done done) {
  bool admitted;
  {
    sandbox::MutexLock lock(&mutex_);
    admitted = checks_ < kMaxChecks;
    checks_ += admitted ? 1 : 0;
  }
  if (!admitted) {
    done(SandboxUnavailable(
        sandbox,
        absl::StrCat("directory ", path, " cannot be checked now: ", kMaxChecks,
                     " checks wait for file systems that do not answer"),
        kRetry));
    return;
  }
  const auto result = std::make_shared<Result>(std::move(done));
  const TimerQueue::Id timer =
      timers_->RunAfter(kPatience, [result, sandbox, path] {
        if (result->Give(SandboxUnavailable(
                sandbox,
                absl::StrCat("directory ", path,
                             ": its file system has not answered for ",
                             absl::FormatDuration(kPatience)),
                kRetry))) {
          LOG(WARNING) << "the check of directory " << path << " hangs";
        }
      });
  lane_->Run(path, [this, result, path, read_only, timer] {
    const absl::Status checked = check_(path, read_only);
    timers_->Cancel(timer);
    {
      sandbox::MutexLock lock(&mutex_);
      --checks_;
    }
    result->Give(checked);
  });
}

}  // namespace server
