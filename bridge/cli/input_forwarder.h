// Standard input from here to a command, on a thread of its own.

#ifndef BRIDGE_CLI_INPUT_FORWARDER_H_
#define BRIDGE_CLI_INPUT_FORWARDER_H_

#include <cstdint>
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
  // Reads standard input until its end, until the command takes no more, or
  // until the destructor, which leaves at once even if nothing comes and
  // nothing is taken. `terminal`: the command's input is a terminal, where an
  // end is typed. The connection must outlive this object.
  InputForwarder(client::Connection& connection, std::string execution_name,
                 bool terminal);
  ~InputForwarder();

  InputForwarder(const InputForwarder&) = delete;
  InputForwarder& operator=(const InputForwarder&) = delete;

 private:
  void Run();
  // Empty: the end of the input, or to be stopped.
  std::string Read();
  bool WaitForInput();
  // False: the command takes no more.
  bool Write(const std::string& data, bool eof) ABSL_LOCKS_EXCLUDED(mutex_);
  grpc::Status WriteOnce(const corral::v1::WriteInputRequest& request,
                         corral::v1::InputState* state)
      ABSL_LOCKS_EXCLUDED(mutex_);
  bool stopped() ABSL_LOCKS_EXCLUDED(mutex_);

  client::Connection& connection_;
  const std::string name_;
  const bool terminal_;
  sandbox::UniqueFd input_;  // empty: the descriptor 0 itself
  sandbox::UniqueFd stop_;   // an eventfd
  uint64_t offset_ = 0;
  char last_ = '\n';  // of what was written

  sandbox::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<grpc::ClientContext> context_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace bridge

#endif  // BRIDGE_CLI_INPUT_FORWARDER_H_
