// One emulator process, as corrald holds it.

#ifndef SERVER_SCREEN_EMULATOR_PROCESS_H_
#define SERVER_SCREEN_EMULATOR_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/screen.pb.h"
#include "sandbox/base/unique_fd.h"
#include "server/screen/emulator/frames.h"

namespace server {

// The program of emulators as a memfd.
absl::StatusOr<sandbox::UniqueFd> MakeEmulatorImage();

// Not thread-safe. Calls block, but never for long: an emulator that does not
// take or give data for 5 s counts as failed. After an error, destroy the
// object. Data from an emulator is checked, since a program may control it.
class EmulatorProcess {
 public:
  struct View {
    corral::v1::Screen screen;
    std::string answers;
  };

  // HasScreen(size) must be true. `offset` is the offset of the first byte in
  // the execution's output. Takes about a millisecond.
  static absl::StatusOr<std::unique_ptr<EmulatorProcess>> Start(
      const sandbox::UniqueFd& image, const corral::v1::TerminalSize& size,
      uint64_t offset);
  // Kills the process.
  ~EmulatorProcess();
  EmulatorProcess(const EmulatorProcess&) = delete;
  EmulatorProcess& operator=(const EmulatorProcess&) = delete;

  absl::Status Write(absl::string_view output);
  // So many bytes of output are missing before the next.
  absl::Status Skip(uint64_t bytes);
  absl::Status Clear();
  // `answers_from`: answers to questions from this offset on.
  absl::StatusOr<View> Get(uint32_t scrollback_lines, bool styles,
                           uint64_t answers_from);

  pid_t pid() const { return pid_; }

 private:
  EmulatorProcess(pid_t pid, sandbox::UniqueFd socket);

  absl::Status Send(const screen::Request& request,
                    absl::string_view output = "");
  // Returns the error for a process whose socket is closed.
  absl::Status WhyEnded() const;
  absl::Status SendAll(absl::string_view bytes);
  absl::Status Receive(char* buffer, size_t size);

  const pid_t pid_;
  const sandbox::UniqueFd socket_;
};

// True if an emulator has memory for a terminal of this size.
bool HasScreen(const corral::v1::TerminalSize& size);

}  // namespace server

#endif  // SERVER_SCREEN_EMULATOR_PROCESS_H_
