// The way out of a sandbox by name: the sockets in its network namespace, and
// the corral-egress that serves them from outside.
//
// The process is replaced when it ends; its connections break, and the
// addresses of names stay.
//
// Used on the thread of its loop only.

#ifndef SANDBOX_SUPERVISOR_WAY_OUT_H_
#define SANDBOX_SUPERVISOR_WAY_OUT_H_

#include <sys/types.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/egress/v1/egress.pb.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/egress_process.h"
#include "sandbox/egress/inner_sockets.h"
#include "sandbox/storage/network_log.h"
#include "sandbox/supervisor/construction.h"
#include "sandbox/supervisor/way_out_broker.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

class WayOut {
 public:
  // Opens the sockets in the sandbox `made`, before anything untrusted runs
  // there, names them in its /etc/resolv.conf, and starts the process as
  // `user`. The log of events is in `directory`. `seen`: the directories of the
  // host that commands see. `loop` must outlive the object. For a process with
  // one thread, in the host's network.
  static absl::StatusOr<std::unique_ptr<WayOut>> Open(
      EventLoop* loop, const Construction& made, uid_t user,
      const std::string& directory, const wire::Egress& egress,
      const std::vector<std::string>& seen);
  // Ends the process.
  ~WayOut();

  using Done = absl::AnyInvocable<void(absl::Status)>;

  // Adds the rules that are new, all or none. Calls `done` when look-ups and
  // connections to come obey them. Fails with EGRESS if there are too many
  // rules or ports, or a port is in use inside. The calling thread has entered
  // the sandbox's network meanwhile.
  void Allow(const wire::EgressRules& rules, Done done);
  // Returns all rules, those that were allowed later included.
  wire::EgressRules rules() const;

  bool Owns(pid_t pid) const {
    return process_.pidfd.valid() && pid == process_.pid;
  }
  // Reaps and replaces the process and returns true, if it is `pid`, which has
  // ended.
  bool ReapIfOwn(pid_t pid);

 private:
  // The delays before an ended process is replaced: the first one, doubled up
  // to the last one while new processes end soon.
  static constexpr absl::Duration kFirstDelay = absl::Milliseconds(20);
  static constexpr absl::Duration kLastDelay = absl::Seconds(10);

  WayOut(EventLoop* loop, NetworkLog log, UniqueFd names,
         const wire::Egress& egress, ::egress::InnerSockets inner,
         WayOutBroker broker);

  absl::Status Start();
  void AddSockets(::egress::InnerSockets inner);
  absl::Status TryAllow(const wire::EgressRules& rules);
  // Sends the policy and further listeners to the process, if there is one.
  void Send(const ::egress::InnerSockets& further);
  void AnswerOldest();
  void OnEvents();
  void OnReport(::corral::egress::v1::Report report);
  void OnEnd();
  void EndProcess();

  EventLoop* const loop_;
  NetworkLog log_;
  WayOutBroker broker_;
  ::corral::egress::v1::Start start_;
  // The sockets that start_ describes.
  std::vector<UniqueFd> sockets_;
  ::egress::EgressProcess process_;
  // Callers that wait for the reports of updates, the oldest first.
  std::deque<Done> waiting_;
  absl::Duration delay_ = kFirstDelay;
  Timer restart_;
  // Pending while a process counts as one that ends soon.
  Timer settled_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_WAY_OUT_H_
