// Standard input of this process, written to a command by a thread of its own.

#ifndef BRIDGE_CLI_ATTACH_INPUT_FORWARDER_H_
#define BRIDGE_CLI_ATTACH_INPUT_FORWARDER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "bridge/client/connection.h"
#include "bridge/client/retry.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/status.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/unique_fd.h"

namespace bridge {

class InputForwarder {
 public:
  // The command's input, and what happens at the end of ours.
  enum class Target {
    // A pipe that nobody else writes to: closed at the end.
    kPipe,
    // A terminal. Others may type too, so data is appended to what the terminal
    // has taken. If the server goes away during a write, the offset of the
    // input says how much of the data was taken; what others typed since the
    // write before is mistaken for our data. At the end Ctrl-D is typed.
    kTerminal,
    // The same; the end is not passed on.
    kSharedTerminal,
  };

  struct Filtered {
    std::string data;
    // Called after `data` was taken; no input is read after that. Empty: more
    // input is read.
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
  enum class Outcome { kTaken, kNoMoreWanted };

  void Run();
  // Empty: the end of the input, or this object is being destroyed.
  std::string Read();
  bool WaitForInput();
  void WriteEnd();
  Outcome Write(std::string data, bool eof) ABSL_LOCKS_EXCLUDED(mutex_);
  // After a write that broke off: removes from `data` what a terminal has
  // taken.
  Outcome SkipTaken(std::string& data);
  // One attempt.
  grpc::Status WriteOnce(const corral::v1::WriteInputRequest& request,
                         client::Retry& retry, corral::v1::InputState* state)
      ABSL_LOCKS_EXCLUDED(mutex_);
  client::Retry MakeRetry();
  bool stopped() ABSL_LOCKS_EXCLUDED(mutex_);

  client::Connection& connection_;
  const std::string name_;
  const Target target_;
  const Filter filter_;
  sandbox::UniqueFd input_;  // empty: the descriptor 0 itself
  sandbox::UniqueFd stop_;   // an eventfd
  uint64_t offset_;
  char last_ = '\n';  // of the data that was written

  sandbox::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<grpc::ClientContext> context_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace bridge

#endif  // BRIDGE_CLI_ATTACH_INPUT_FORWARDER_H_
