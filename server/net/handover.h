// Lets a server give way to its successor, which serves the same state
// directory. They exchange one packet each way over <state>/handover.sock
// (SOCK_SEQPACKET, mode 0600, the same user only):
//
//   successor:   "corrald-handover 1 VERSION"
//   predecessor: "corrald-handover 1 VERSION", with its listening sockets
//                (SCM_RIGHTS), after it has released everything else
//
// A predecessor that closes the connection instead has ended, or has another
// successor.

#ifndef SERVER_NET_HANDOVER_H_
#define SERVER_NET_HANDOVER_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/unique_fd.h"

namespace server {

// The predecessor's side. Thread-safe.
class Handover {
 public:
  // Awaits successors in `state_directory`, whose lock the caller holds. Calls
  // `on_successor` on a thread of its own when a successor comes and no other
  // one waits.
  static absl::StatusOr<std::unique_ptr<Handover>> Listen(
      const std::string& state_directory, std::function<void()> on_successor);
  // Closes the connection of a waiting successor.
  ~Handover();

  // Returns true while a successor waits. If it has gone, another one may come.
  bool successor_waits();

  // Hands the sockets to the waiting successor. Fails if it has gone.
  absl::Status Send(const std::vector<int>& sockets);

 private:
  Handover(sandbox::UniqueFd listener, sandbox::UniqueFd stop,
           std::function<void()> on_successor);
  void Run();
  void Welcome(sandbox::UniqueFd connection);

  const sandbox::UniqueFd listener_;
  // Becomes readable when the thread must end.
  const sandbox::UniqueFd stop_;
  const std::function<void()> on_successor_;
  sandbox::Mutex mutex_;
  sandbox::UniqueFd successor_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

// The successor's side: asks the server of `state_directory` to give way, and
// returns its listening sockets after it has. Fails with NotFound if there is
// no server that awaits successors, or it ended meanwhile. Blocks.
//
// Calls `prepare` before it asks. If that fails, the server is not asked, and
// its error is returned.
absl::StatusOr<std::vector<sandbox::UniqueFd>> TakeOver(
    const std::string& state_directory,
    absl::FunctionRef<absl::Status()> prepare = absl::OkStatus);

}  // namespace server

#endif  // SERVER_NET_HANDOVER_H_
