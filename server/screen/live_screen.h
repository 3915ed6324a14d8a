// The screen of one execution: an emulator process, which is fed from the
// output log and replaced when it dies or the terminal is resized.

#ifndef SERVER_SCREEN_LIVE_SCREEN_H_
#define SERVER_SCREEN_LIVE_SCREEN_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "corral/v1/screen_service.pb.h"
#include "sandbox/base/unique_fd.h"
#include "server/core/execution.h"
#include "server/screen/emulator_process.h"
#include "server/screen/screen_marks.h"

namespace server {

// Not thread-safe. Calls block: on the disk, and on the emulator.
class LiveScreen {
 public:
  // `image` must outlive this object. All calls must name the same execution,
  // which has a terminal.
  explicit LiveScreen(const sandbox::UniqueFd* image) : image_(image) {}

  // Fills in the screen and the answers. An emulator that dies or hangs is
  // replaced, and the caller does not notice. Fails with SCREEN_UNAVAILABLE if
  // every emulator dies or hangs, and with the errors of ReadOutput if the log
  // cannot be read.
  absl::Status Get(Execution& execution,
                   const corral::v1::GetScreenRequest& request,
                   corral::v1::GetScreenResponse* response);

  // Clears the screen at the present end of the output.
  absl::Status Clear(Execution& execution);

  // Ends the process and closes the log. The next Get() starts another one.
  void EndEmulator() {
    emulator_.reset();
    log_.reset();
  }

  // Removes the file of marks, after the execution was deleted.
  void RemoveMarks();

  // For tests. Returns 0 if no emulator runs.
  pid_t emulator_pid() const {
    return emulator_ == nullptr ? 0 : emulator_->pid();
  }

  // A screen is made of at most this much output.
  static constexpr uint64_t kMaxOutput = 64 << 20;

 private:
  using View = EmulatorProcess::View;

  // Returns the size of the terminal, also if a server before this one has
  // resized it.
  corral::v1::TerminalSize SizeOf(const Execution& execution);
  ScreenMarks& MarksOf(const Execution& execution);
  // Returns the next clear to apply, or no value if all were applied.
  std::optional<uint64_t> NextClear() const;
  // Opens the log, if there is one, and sets end_.
  absl::Status LookAtLog(Execution& execution);
  // Starts an emulator unless one of the right size runs. The emulator gets at
  // most the last `output` bytes.
  absl::Status EnsureEmulator(const Execution& execution, uint64_t output);
  // Passes the log up to end_ to the emulator.
  absl::Status CatchUp(Execution& execution);
  absl::StatusOr<View> TryGet(Execution& execution,
                              const corral::v1::GetScreenRequest& request,
                              uint64_t output);
  // Reads at position_. Returns 0 if the position moved behind a gap instead.
  absl::StatusOr<size_t> Read(Execution& execution, char* buffer, size_t size);

  const sandbox::UniqueFd* const image_;
  Execution::LogReader log_;
  // The output that was written when the current call began.
  uint64_t end_ = 0;
  std::unique_ptr<EmulatorProcess> emulator_;
  corral::v1::TerminalSize size_;
  // The last size among the first `times_read_` times of the terminal.
  corral::v1::TerminalSize resized_;
  uint64_t times_read_ = 0;
  // The emulator has seen the output [begin_, position_).
  uint64_t begin_ = 0;
  uint64_t position_ = 0;
  // Has no value until the first call.
  std::optional<ScreenMarks> marks_;
  // The clears up to this offset were applied. One at the begin, where nothing
  // is shown, has no effect.
  uint64_t cleared_ = 0;
};

}  // namespace server

#endif  // SERVER_SCREEN_LIVE_SCREEN_H_
