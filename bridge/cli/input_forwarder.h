// Standard input from here to a command, on a thread of its own.

#ifndef BRIDGE_CLI_INPUT_FORWARDER_H_
#define BRIDGE_CLI_INPUT_FORWARDER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "bridge/client/connection.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/unique_fd.h"

namespace bridge {

class InputForwarder {
 public:
  struct Options {
    // The command's input is a terminal, where an end is typed. Others may type
    // too: data is appended to what it has taken. If the server goes away
    // during a write, what was taken of it is told by the input's offset: what
    // another has typed since the write before is mistaken for it.
    bool terminal = false;
    // Otherwise an end of the input is not passed on.
    bool pass_end = true;
    // What it has taken so far.
    uint64_t accepted_offset = 0;
  };
  struct Passed {
    std::string data;
    // Run when that was taken, and nothing more is to be passed on; empty: more
    // is.
    std::function<void()> then = nullptr;
  };
  // What to pass on of what was read; called on the thread.
  using Filter = std::function<Passed(const std::string& data)>;

  // Reads standard input until its end, until the command takes no more, or
  // until the destructor, which leaves at once even if nothing comes and
  // nothing is taken. The connection must outlive this object.
  InputForwarder(client::Connection& connection, std::string execution_name,
                 const Options& options, Filter filter);
  ~InputForwarder();

  InputForwarder(const InputForwarder&) = delete;
  InputForwarder& operator=(const InputForwarder&) = delete;

 private:
  void Run();
  // Empty: the end of the input, or to be stopped.
  std::string Read();
  bool WaitForInput();
  void WriteEnd();
  // False: the command takes no more.
  bool Write(std::string data, bool eof) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for the server, if the write broke off because it went away.
  bool MayRepeat(const grpc::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // After a write that broke off. False: there is nothing left to write to.
  bool SkipTaken(std::string& data);
  grpc::Status WriteOnce(const corral::v1::WriteInputRequest& request,
                         corral::v1::InputState* state)
      ABSL_LOCKS_EXCLUDED(mutex_);
  bool stopped() ABSL_LOCKS_EXCLUDED(mutex_);

  client::Connection& connection_;
  const std::string name_;
  const Options options_;
  const Filter filter_;
  sandbox::UniqueFd input_;  // empty: the descriptor 0 itself
  sandbox::UniqueFd stop_;   // an eventfd
  uint64_t offset_;
  char last_ = '\n';  // of what was written

  sandbox::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<grpc::ClientContext> context_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace bridge

#endif  // BRIDGE_CLI_INPUT_FORWARDER_H_
