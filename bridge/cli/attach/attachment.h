// Connects the input, output, signals and terminal of this process to a
// command.

#ifndef BRIDGE_CLI_ATTACH_ATTACHMENT_H_
#define BRIDGE_CLI_ATTACH_ATTACHMENT_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bridge/cli/attach/detach_keys.h"
#include "bridge/cli/attach/execution_control.h"
#include "bridge/cli/attach/input_forwarder.h"
#include "bridge/cli/attach/output_writer.h"
#include "bridge/cli/attach/question_filter.h"
#include "bridge/cli/attach/replay_guard.h"
#include "bridge/cli/attach/signal_catcher.h"
#include "bridge/cli/attach/terminal.h"
#include "bridge/client/connection.h"
#include "bridge/client/output_reader.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"

namespace bridge {

// At most one exists in a process. While it exists, signals sent to this
// process go to the command, and the terminal is raw. Belongs to one thread.
class Attachment {
 public:
  // Attaches to a command that is started here: signals, and the end of the
  // input, are passed on.
  Attachment(client::Connection& connection,
             const corral::v1::RunExecutionRequest& request,
             DetachKeys detach_keys);
  // Attaches to a command that exists, and to which others may be attached as
  // well. Input goes to a terminal only, because a pipe belongs to the client
  // that started the command. Its end is not passed on; a signal detaches.
  // `questions`: whether our terminal receives, and so answers, the questions
  // that the program asks its terminal.
  enum class Questions { kShown, kAnsweredElsewhere };
  Attachment(client::Connection& connection,
             const corral::v1::StreamOutputRequest& request,
             const corral::v1::Command& command, Questions questions,
             DetachKeys detach_keys);

  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  // `opened` gets the name in Run(), as soon as it is known and again when the
  // server sends it again.
  void OnOpened(std::function<void(const std::string& name)> opened) {
    opened_ = std::move(opened);
  }

  // The execution as it ended, after all of its output was written. Fails with
  // Cancelled if it is detached(), or if there is an undelivered_signal().
  absl::StatusOr<corral::v1::Execution> Run();

  // True if the user detached, by keys or by a signal.
  bool detached() const { return detached_; }
  // Why output could not be written. A command that was started here was killed
  // for that.
  const absl::Status& write_status() const { return write_status_; }
  // A signal that could not be passed on; 0: none.
  int undelivered_signal() { return control_.undelivered_signal(); }
  // The full name, once it is known.
  const std::string& name() const { return name_; }

 private:
  // The owner of the command: this process alone, or others as well.
  enum class Owner { kThisProcess, kShared };

  absl::StatusOr<corral::v1::Execution> Follow();
  void Prepare(const corral::v1::OutputPolicy& policy);
  void OnSignal(int signal);
  void OnEvent(const corral::v1::OutputEvent& event);
  void Open(const corral::v1::Execution& opened);
  void BeginReplay(const corral::v1::Execution& opened);
  void ForwardInput(uint64_t accepted_offset);
  void Write(corral::v1::OutputEvent event);
  InputForwarder::Filtered FilterInput(const std::string& typed);
  void Detach();
  // Ends Run(), even while it writes.
  void Cancel();

  client::Connection& connection_;
  const Owner owner_;
  const bool has_terminal_;
  // Has no value if input is not passed on.
  const std::optional<InputForwarder::Target> input_target_;
  DetachKeys detach_keys_;
  // Has no value if our terminal sees the questions.
  std::optional<QuestionFilter> question_filter_;
  ReplayGuard replay_guard_;
  // The offset at which the replay ends; without a value: there is none, or it
  // is over.
  std::optional<uint64_t> replay_end_;
  std::string name_;
  std::function<void(const std::string&)> opened_ = [](const std::string&) {};
  absl::Status write_status_;
  std::atomic<bool> detached_ = false;
  // Members are destroyed in reverse order: the terminal is restored last.
  std::optional<RawTerminal> raw_terminal_;
  client::OutputReader reader_;
  OutputWriter writer_;
  ExecutionControl control_;
  SignalCatcher catcher_;
  std::unique_ptr<InputForwarder> input_;
};

}  // namespace bridge

#endif  // BRIDGE_CLI_ATTACH_ATTACHMENT_H_
