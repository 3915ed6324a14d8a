// corral-egress: lets one sandbox reach the hosts that its policy names. Its
// supervisor starts it; descriptor 3 is their socket, see
// proto/corral/egress/v1/egress.proto.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/egress/v1/egress.pb.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/confinement.h"
#include "sandbox/egress/journal.h"
#include "sandbox/egress/packets.h"
#include "sandbox/egress/proxy.h"
#include "sandbox/egress/supervisor_link.h"

namespace {

constexpr int kSupervisor = 3;

absl::Status Serve() {
  corral::egress::v1::Start start;
  ASSIGN_OR_RETURN(std::vector<sandbox::UniqueFd> descriptors,
                   egress::ReceiveMessage(kSupervisor, &start));
  ASSIGN_OR_RETURN(const std::unique_ptr<sandbox::EventLoop> loop,
                   sandbox::EventLoop::Create());
  egress::Journal journal(egress::PacketSink(kSupervisor));
  ASSIGN_OR_RETURN(const std::unique_ptr<egress::Proxy> proxy,
                   egress::Proxy::Create(loop.get(), &journal, start,
                                         std::move(descriptors)));
  RETURN_IF_ERROR(egress::Confine());
  const egress::SupervisorLink link(loop.get(), kSupervisor, proxy.get(),
                                    [](const absl::Status& end) {
                                      if (absl::IsCancelled(end)) {
                                        std::_Exit(EXIT_SUCCESS);
                                      }
                                      LOG(ERROR) << end.ToString();
                                      std::_Exit(EXIT_FAILURE);
                                    });
  loop->Run();
  return absl::OkStatus();
}

}  // namespace

int main() {
  // Sets the name that ps shows. Without it, that would be a number.
  ::prctl(PR_SET_NAME, "corral-egress");
  ::signal(SIGPIPE, SIG_IGN);
  const absl::Status served = Serve();
  LOG(ERROR) << served.ToString();
  return EXIT_FAILURE;
}
