// One execution as the server knows it: the supervisor's last record, what its
// output logs hold, and its watchers. Small, since thousands of ended ones are
// kept: what only some need is made when they need it.
//
// Thread-safe. Nothing here waits for a disk, unless said otherwise. Watchers
// are called on the thread that changed the execution, without a lock held.

#ifndef SERVER_CORE_EXECUTION_H_
#define SERVER_CORE_EXECUTION_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "google/protobuf/duration.pb.h"
#include "sandbox/base/mutex.h"
#include "sandbox/storage/output_log.h"
#include "server/api/names.h"
#include "server/core/input_queue.h"
#include "server/core/kept_command.h"
#include "server/core/kept_record.h"
#include "server/core/output_state.h"

namespace server {

class ExecutionWatcher {
 public:
  virtual ~ExecutionWatcher() = default;

  // The execution or its output has changed. Must not block.
  virtual void OnChange() = 0;
};

// The place of the executions of a sandbox, which share it.
struct ExecutionHome {
  SandboxName sandbox;
  // The sandbox's directory.
  std::string directory;
};

class Execution {
 public:
  using LogReader = std::shared_ptr<const sandbox::OutputLogReader>;
  using StreamReports =
      google::protobuf::RepeatedPtrField<corral::supervisor::v1::StreamState>;

  // The state is STARTING, the create time is now. `received_ns` is when this
  // server received the request, by the monotonic clock: with it, a trace gets
  // its last two moments. 0: not known.
  Execution(std::shared_ptr<const ExecutionHome> home, std::string id,
            KeptCommand command,
            corral::supervisor::v1::RequestIdentity request = {},
            int64_t received_ns = 0);

  std::string name() const { return ExecutionName(sandbox(), id()).ToString(); }
  const std::string& id() const { return id_; }
  const SandboxName& sandbox() const { return home_->sandbox; }
  // Returns the path of the file, or directory, with the records and the output
  // logs.
  std::string path() const;
  // The command, as far as it is kept in memory.
  corral::v1::Command command() const { return command_.command(); }
  bool has_whole_command() const { return command_.whole(); }
  // The identity of the request that made the execution.
  const corral::supervisor::v1::RequestIdentity& request() const {
    return request_;
  }
  bool has_stream(corral::v1::Stream stream) const;
  bool takes_input() const { return takes_input_; }

  corral::v1::Execution::State state() const;
  bool ended() const;

  // The size of the terminal: the command's, until a resize has succeeded on
  // this server. Empty without a terminal.
  corral::v1::TerminalSize terminal_size() const;
  void SetTerminalSize(const corral::v1::TerminalSize& size);

  // Returns everything that is known, with the command as far as it is kept. A
  // trace is answered now.
  corral::v1::Execution Describe() const;

  corral::v1::InputState input() const;

  // Returns what the log of a stream holds. Absent: there is no log, or none is
  // known.
  std::optional<sandbox::OutputLogState> output(
      corral::v1::Stream stream) const;

  // Returns the log of a stream if somebody has it open, else null.
  LogReader FindLog(corral::v1::Stream stream) const;
  // Opens the log of a stream and updates the stream's state from its header,
  // without calling watchers. All readers share one LogReader, and so one
  // descriptor. Fails with NotFound if the log was never made, or is deleted.
  // Blocks on the disk.
  absl::StatusOr<LogReader> OpenLog(corral::v1::Stream stream);
  // Updates the stream's state from the header of an open log. Blocks on the
  // disk.
  absl::Status ReadLog(corral::v1::Stream stream,
                       const sandbox::OutputLogReader& log);
  // Updates the states of all streams from the headers of their logs, and
  // notes when the logs were last written. Returns an error if at least one log
  // could not be read; its stream keeps the state that is known. Blocks on the
  // disk.
  absl::Status ReadLogs();

  // Replaces the record by `record`, unless the execution has ended before. The
  // states of the streams are updated in any case. Returns true if this is the
  // end.
  bool Update(const corral::supervisor::v1::ExecutionRecord& record);
  // Makes an execution that has not ended LOST. Returns true if this is the
  // end.
  bool MarkLost(const corral::v1::Loss& why);
  void UpdateInput(const corral::v1::InputState& input);
  // Lives as long as the execution.
  InputQueue& input_queue();

  // Returns no value if it has not ended, or if its output does not expire.
  std::optional<google::protobuf::Timestamp> output_expire_time() const;
  // Updates the states of the streams from a report of the supervisor, before
  // or after the end, and calls the watchers.
  void OnOutput(const StreamReports& reports);

  // Returns the time of the creation: the supervisor's, once it is known.
  absl::Time create_time() const;
  // Returns the time of the end. If that is unknown, the time of the creation.
  absl::Time end_time() const;

  // True while somebody streams its output or waits for its end.
  bool watched() const;

  // Calls every watcher.
  void Notify();

  // A watcher that is destroyed need not be removed.
  void Watch(std::weak_ptr<ExecutionWatcher> watcher);
  void Unwatch(const ExecutionWatcher* watcher);

 private:
  struct Watching {
    const ExecutionWatcher* key;
    std::weak_ptr<ExecutionWatcher> watcher;
  };

  // The place of a stream's log. An execution has a terminal or the other
  // streams.
  static size_t LogOf(corral::v1::Stream stream) {
    return stream == corral::v1::STDERR ? 1 : 0;
  }
  void Merge(const StreamReports& reports)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns true if this server knows when the trace in `record` begins.
  bool TimesTrace(const corral::v1::Execution& record) const {
    return received_ns_ != 0 && record.has_trace();
  }
  // The time since the server received the request.
  google::protobuf::Duration SinceReceived() const;

  const std::shared_ptr<const ExecutionHome> home_;
  const std::string id_;
  const KeptCommand command_;
  const bool takes_input_;
  const corral::supervisor::v1::RequestIdentity request_;
  const int64_t received_ns_;

  mutable sandbox::Mutex mutex_;
  // Null before the first input.
  std::unique_ptr<InputQueue> input_queue_ ABSL_GUARDED_BY(mutex_);
  // Has no name, command and streams.
  KeptRecord record_ ABSL_GUARDED_BY(mutex_);
  OutputState output_ ABSL_GUARDED_BY(mutex_);
  // The size of the terminal.
  uint32_t rows_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t columns_ ABSL_GUARDED_BY(mutex_) = 0;
  // The time at which a log was last written, in seconds since 1970, as far as
  // ReadLogs() has found out.
  int64_t last_written_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Watching> watchers_ ABSL_GUARDED_BY(mutex_);
  // The logs by stream, while somebody reads them; see LogOf().
  std::array<std::weak_ptr<const sandbox::OutputLogReader>, 2> logs_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace server

#endif  // SERVER_CORE_EXECUTION_H_
