// A command that a test scripts, with the output, input and signals of a
// corral.v1 execution. There is no process: the script is a function on its own
// thread. See fake_server.h.
//
// Thread-safe.

#ifndef TESTS_FAKES_FAKE_EXECUTION_H_
#define TESTS_FAKES_FAKE_EXECUTION_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "absl/strings/string_view.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "grpcpp/support/status.h"
#include "sandbox/base/mutex.h"

namespace tests {

class FakeExecution {
 public:
  using Script = std::function<void(FakeExecution&)>;
  using Cursors = std::map<corral::v1::Stream, uint64_t>;

  // With a `failure`, the execution is FAILED_TO_START and no script runs.
  FakeExecution(std::string name, const corral::v1::Command& command,
                std::optional<corral::v1::StartFailure> failure, Script script);
  ~FakeExecution();  // kills the script

  FakeExecution(const FakeExecution&) = delete;
  FakeExecution& operator=(const FakeExecution&) = delete;

  // The calls of a script. When the script returns, the command ends: with code
  // 0 if the script set no exit, or by a signal that came and was not caught.
  const corral::v1::Command& command() const { return command_; }
  // Writes to a stream; waits while the overflow policy blocks the writer.
  // Returns false if the command was killed.
  bool Write(corral::v1::Stream stream, absl::string_view data);
  // The same as Write() to TERMINAL if there is a terminal, else to STDOUT.
  bool Print(absl::string_view data);
  // Waits for input and returns at most `size` bytes. Empty: the input ended,
  // or the command was killed.
  std::string ReadInput(size_t size);
  void CloseInput();
  // From now on, WaitForSignal() delivers signals other than SIGKILL.
  void CatchSignals();
  int WaitForSignal();
  // Waits for a ResizeTerminal that was not returned yet. Returns 0x0 if the
  // command was killed.
  corral::v1::TerminalSize WaitForResize();
  // Waits until the command is killed.
  void Hang();
  // Sets how the command will end.
  void SetExit(int code, corral::v1::ExitStatus::Cause cause =
                             corral::v1::ExitStatus::NORMAL);
  void SetSignalled(int signal, corral::v1::ExitStatus::Cause cause);
  void SetLost();
  // Drops all output, as when keep_after_end is over.
  void Expire();

  // The calls of the services. Those that wait return false when they are
  // interrupted.
  const std::string& name() const { return name_; }
  corral::v1::Execution Snapshot();
  bool WaitUntilEnded();
  // Waits until this much of the stream was written.
  void WaitForOutput(corral::v1::Stream stream, uint64_t end_offset);
  // Waits for the next event for these cursors. `event` gets no value if
  // `no_follow` is set and there is nothing more. Returns false if the wait was
  // interrupted.
  bool NextEvent(Cursors& cursors, bool no_follow,
                 std::optional<corral::v1::OutputEvent>& event);
  corral::v1::ReadOutputResponse Read(const corral::v1::ReadOutputRequest&);
  void Acknowledge(corral::v1::Stream stream, uint64_t offset);
  grpc::Status WriteInput(const corral::v1::WriteInputRequest& request,
                          corral::v1::InputState* state);
  grpc::Status Signal(int signal, corral::v1::ExitStatus::Cause cause =
                                      corral::v1::ExitStatus::CLIENT_SIGNAL);
  grpc::Status Resize(const corral::v1::TerminalSize& size);
  // While set, calls that wait return at once.
  void Interrupt(bool interrupted);

 private:
  struct Log {
    uint64_t begin = 0;
    bool expired = false;
    std::string data;
    uint64_t end() const { return begin + data.size(); }
  };

  void Run(const Script& script);
  bool HasEnded() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  corral::v1::Execution SnapshotLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<corral::v1::OutputEvent> Advance(Cursors& cursors)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string name_;
  const corral::v1::Command command_;

  sandbox::Mutex mutex_;
  corral::v1::Execution state_ ABSL_GUARDED_BY(mutex_);
  std::map<corral::v1::Stream, Log> logs_ ABSL_GUARDED_BY(mutex_);
  std::string input_ ABSL_GUARDED_BY(mutex_);  // what the pipe holds
  uint64_t input_accepted_ ABSL_GUARDED_BY(mutex_) = 0;
  bool input_ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool input_closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool catching_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<int> signals_ ABSL_GUARDED_BY(mutex_);
  std::deque<corral::v1::TerminalSize> sizes_ ABSL_GUARDED_BY(mutex_);
  std::optional<corral::v1::ExitStatus> killed_ ABSL_GUARDED_BY(mutex_);
  std::optional<corral::v1::ExitStatus> exit_ ABSL_GUARDED_BY(mutex_);
  bool lost_ ABSL_GUARDED_BY(mutex_) = false;
  bool interrupted_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace tests

#endif  // TESTS_FAKES_FAKE_EXECUTION_H_
