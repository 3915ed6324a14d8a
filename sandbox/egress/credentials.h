// Asks the supervisor for the values of services' headers. Only the requests
// that need a value keep it.

#ifndef SANDBOX_EGRESS_CREDENTIALS_H_
#define SANDBOX_EGRESS_CREDENTIALS_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "corral/egress/v1/egress.pb.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/timers.h"
#include "sandbox/base/unique_fd.h"

namespace egress {

// Used on the thread of its loop only.
class Credentials {
 public:
  // Unavailable: there is no value now; the message has the reason, and no
  // secret.
  using Done = std::function<void(const absl::StatusOr<std::string>&)>;

  // `socket`: see corral.egress.v1.Descriptor.CREDENTIALS; an invalid one fails
  // each request. `loop` and `timers` must outlive the object.
  Credentials(sandbox::EventLoop* loop, sandbox::Timers* timers,
              sandbox::UniqueFd socket);
  ~Credentials();

  // Calls `done` later, or before it returns.
  void Get(const std::string& service, Done done);

  // The upstream refused the last value: the next Get() makes the supervisor
  // read it again.
  void Refuse(const std::string& service) { refused_.insert(service); }

  // Longer than the supervisor takes.
  static constexpr absl::Duration kPatience = absl::Seconds(15);

 private:
  // The requests that wait for one answer.
  struct Question {
    std::vector<Done> waiting;
    sandbox::Timer timeout;
  };

  bool Ask(const std::string& service);
  void OnSocket();
  void Answer(const std::string& service,
              const absl::StatusOr<std::string>& value);

  sandbox::EventLoop* const loop_;
  sandbox::Timers* const timers_;
  sandbox::UniqueFd socket_;
  std::map<std::string, Question> questions_;
  std::set<std::string> refused_;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_CREDENTIALS_H_
