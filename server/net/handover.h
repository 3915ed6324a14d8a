// How a server gives way to its successor, which serves the same state
// directory: over <state>/handover.sock (SOCK_SEQPACKET, mode 0600, the same
// user only), with one packet each way.
//
//   successor:   "corrald-handover 1 VERSION"
//   predecessor: "corrald-handover 1 VERSION", with its listening sockets
//                (SCM_RIGHTS), when it has let go of everything else
//
// A predecessor that hangs up instead has ended, or serves another successor.

#ifndef SERVER_NET_HANDOVER_H_
#define SERVER_NET_HANDOVER_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/unique_fd.h"

namespace server {

// The predecessor's side. Thread-safe.
class Handover {
 public:
  // Awaits successors in `state_directory`, whose lock the caller holds.
  // `on_successor` is called on a thread of this object's own for each that
  // comes, unless one waits already.
  static absl::StatusOr<std::unique_ptr<Handover>> Listen(
      const std::string& state_directory, std::function<void()> on_successor);
  // Hangs up on a successor that waits.
  ~Handover();

  // One waits still. If not, another one may come.
  bool successor_waits();

  // Hands the sockets to the one that waits. An error: it is gone.
  absl::Status Send(const std::vector<int>& sockets);

 private:
  Handover(sandbox::UniqueFd listener, sandbox::UniqueFd stop,
           std::function<void()> on_successor);
  void Run();
  void Welcome(sandbox::UniqueFd connection);

  const sandbox::UniqueFd listener_;
  // Becomes readable when the thread is to end.
  const sandbox::UniqueFd stop_;
  const std::function<void()> on_successor_;
  sandbox::Mutex mutex_;
  sandbox::UniqueFd successor_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

// The successor's side: asks the server that serves `state_directory` to give
// way, and returns its listening sockets when it has. NotFound: there is none,
// or it ended meanwhile. Blocks.
absl::StatusOr<std::vector<sandbox::UniqueFd>> TakeOver(
    const std::string& state_directory);

}  // namespace server

#endif  // SERVER_NET_HANDOVER_H_
