// The program corral as a child process of a test.

#ifndef BRIDGE_CLI_COMMANDS_CORRAL_PROCESS_H_
#define BRIDGE_CLI_COMMANDS_CORRAL_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "sandbox/base/unique_fd.h"

namespace bridge {

// Input, output and error are pipes, or one terminal of 30 x 100.
class CorralProcess {
 public:
  enum class Io { kPipes, kTerminal };

  // `server` is an address. An empty `program` means corral, or
  // corral_under_test if the test has that.
  CorralProcess(const std::string& server, std::vector<std::string> arguments,
                Io io = Io::kPipes, const std::string& program = "");
  ~CorralProcess();  // kills it

  CorralProcess(const CorralProcess&) = delete;
  CorralProcess& operator=(const CorralProcess&) = delete;

  // The test's ends of the pipes; or of the terminal, where both are one.
  int input() const { return input_.get(); }
  int output() const { return output_.get(); }
  // The program's side of the terminal, to look at its mode.
  int terminal() const { return terminal_.get(); }

  void Write(absl::string_view data);
  void CloseInput() { input_.Reset(); }
  void CloseOutput() { output_.Reset(); }

  // Reads output up to and including `text`, and returns it.
  std::string ReadUntil(absl::string_view text);
  std::string ReadOutput();  // to its end
  std::string ReadError();   // to its end

  void Signal(int number);
  // The exit status as a shell has it, 1000+n for a signal.
  int Wait();

  // The highest so far, in bytes. Call it before Wait().
  size_t PeakMemory();

 private:
  pid_t pid_ = -1;
  sandbox::UniqueFd input_;
  sandbox::UniqueFd output_;
  sandbox::UniqueFd error_;
  sandbox::UniqueFd terminal_;
};

}  // namespace bridge

#endif  // BRIDGE_CLI_COMMANDS_CORRAL_PROCESS_H_
