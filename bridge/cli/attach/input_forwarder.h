// Standard input of this process, written to a command by a thread of its own.

#ifndef BRIDGE_CLI_ATTACH_INPUT_FORWARDER_H_
#define BRIDGE_CLI_ATTACH_INPUT_FORWARDER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "bridge/client/connection.h"
#include "bridge/client/input_writer.h"
#include "sandbox/base/unique_fd.h"

namespace bridge {

class InputForwarder {
 public:
  // The command's input, and what happens at the end of ours.
  enum class Target {
    // A pipe that nobody else writes to: closed at the end.
    kPipe,
    // A terminal, into which others may type too: see InputWriter. At the end
    // Ctrl-D is typed.
    kTerminal,
    // The same; the end is not passed on.
    kSharedTerminal,
  };

  struct Filtered {
    std::string data;
    // Called after `data` was taken; no input is read after that. If it is
    // empty, more input is read.
    std::function<void()> then = nullptr;
  };
  // Returns the part of the input to pass on. Called by the thread.
  using Filter = std::function<Filtered(const std::string& data)>;

  // Reads standard input until its end, until the command takes no more, or
  // until this object is destroyed, which takes effect at once even if nothing
  // is read or taken. `accepted_offset`: what the command's input has taken so
  // far. The connection must outlive this object.
  InputForwarder(client::Connection& connection, std::string execution_name,
                 Target target, uint64_t accepted_offset, Filter filter);
  ~InputForwarder();

  InputForwarder(const InputForwarder&) = delete;
  InputForwarder& operator=(const InputForwarder&) = delete;

 private:
  void Run();
  // Returns an empty string at the end of the input, and when this object is
  // being destroyed.
  std::string Read();
  bool WaitForInput();
  void WriteEnd();
  // Returns false if no more input can be written.
  bool Write(std::string data, bool eof);

  const Target target_;
  const Filter filter_;
  sandbox::UniqueFd input_;  // empty: the descriptor 0 itself
  sandbox::UniqueFd stop_;   // an eventfd
  client::InputWriter writer_;
  char last_ = '\n';  // of the data that was written
  std::thread thread_;
};

}  // namespace bridge

#endif  // BRIDGE_CLI_ATTACH_INPUT_FORWARDER_H_
