// One execution as the server knows it: what the supervisor last said of it,
// its output logs, and who watches it.
//
// Thread-safe. Watchers are called on the thread that changed the execution,
// without a lock held.

#ifndef SERVER_CORE_EXECUTION_H_
#define SERVER_CORE_EXECUTION_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "sandbox/base/mutex.h"
#include "sandbox/storage/output_log.h"
#include "server/core/input_queue.h"

namespace server {

class ExecutionWatcher {
 public:
  virtual ~ExecutionWatcher() = default;

  // The execution or its output is not what it was. Must not block.
  virtual void OnChange() = 0;
};

class Execution {
 public:
  using LogReader = std::shared_ptr<const sandbox::OutputLogReader>;

  // `directory` holds the output logs. STARTING, created now.
  Execution(std::string name, std::string directory,
            corral::v1::Command command,
            corral::supervisor::v1::RequestIdentity request = {});

  const std::string& name() const { return name_; }
  const std::string& directory() const { return directory_; }
  const corral::v1::Command& command() const { return command_; }
  // Of the request that made it.
  const corral::supervisor::v1::RequestIdentity& request() const {
    return request_;
  }
  bool has_stream(corral::v1::Stream stream) const;
  bool takes_input() const {
    return command_.stdin() || command_.has_terminal();
  }

  corral::v1::Execution::State state() const;
  bool ended() const;

  // All of it, its output's state included.
  corral::v1::Execution Describe() const;

  corral::v1::InputState input() const;

  // The log of a stream that the command has. NotFound: it was never made, or
  // is deleted.
  absl::StatusOr<LogReader> OpenLog(corral::v1::Stream stream) const;

  // The state is now what `record` says, unless it ended before. True: this is
  // its end.
  bool Update(const corral::supervisor::v1::ExecutionRecord& record);
  // True: it had not ended, and now is LOST.
  bool MarkLost(const corral::v1::Loss& why);
  void UpdateInput(const corral::v1::InputState& input);
  InputQueue& input_queue() { return input_queue_; }

  // Absent: it has not ended, or its output does not expire.
  std::optional<google::protobuf::Timestamp> output_expire_time() const;
  // The logs do not hold what they held, before or after the end.
  void OnOutput();

  // Calls every watcher.
  void Notify();

  // A watcher that is gone need not be removed.
  void Watch(std::weak_ptr<ExecutionWatcher> watcher);
  void Unwatch(const ExecutionWatcher* watcher);

 private:
  struct Watching {
    const ExecutionWatcher* key;
    std::weak_ptr<ExecutionWatcher> watcher;
  };

  std::vector<corral::v1::StreamState> StreamStates(
      corral::v1::Execution::State state) const;

  void SetExpireTime() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string name_;
  const std::string directory_;
  const corral::v1::Command command_;
  const corral::supervisor::v1::RequestIdentity request_;
  const std::vector<corral::v1::Stream> streams_;
  InputQueue input_queue_;

  mutable sandbox::Mutex mutex_;
  // Without name, command and streams.
  corral::v1::Execution record_ ABSL_GUARDED_BY(mutex_);
  std::vector<Watching> watchers_ ABSL_GUARDED_BY(mutex_);
  // What the logs of an ended execution say, once that cannot change: a list of
  // thousands opens no file.
  mutable std::vector<corral::v1::StreamState> final_streams_
      ABSL_GUARDED_BY(mutex_);
  // Counts what may have changed them.
  uint64_t output_changes_ ABSL_GUARDED_BY(mutex_) = 0;
  // By stream: the log while somebody reads it. Readers share one, so that many
  // cost no more descriptors than one.
  mutable std::array<std::weak_ptr<const sandbox::OutputLogReader>,
                     corral::v1::Stream_ARRAYSIZE>
      logs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace server

#endif  // SERVER_CORE_EXECUTION_H_
