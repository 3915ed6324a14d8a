// A process beside the supervisor that does for a way out what takes the rights
// of root and the host's network: it starts corral-egress, opens files of
// services, and reads their credentials, which the supervisor never sees.
//
// Used on one thread only.

#ifndef SANDBOX_SUPERVISOR_WAY_OUT_BROKER_H_
#define SANDBOX_SUPERVISOR_WAY_OUT_BROKER_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/egress/v1/egress.pb.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/egress_process.h"
#include "sandbox/supervisor/credential_server.h"
#include "sandbox/supervisor/side_process.h"

namespace sandbox {

class WayOutBroker {
 public:
  // `user` is that of corral-egress. `sources` and `seen` are those of
  // CredentialServer. For a process with one thread.
  static absl::StatusOr<WayOutBroker> Start(
      uid_t user, const CredentialServer::Sources& sources,
      const std::vector<std::string>& seen,
      absl::Duration patience = kPatience);

  // A corral-egress that waits for its Start message.
  struct Started {
    // A child of the process that has started the broker.
    ::egress::EgressProcess process;
    // For the services: to be sent with the message, which describes them.
    std::vector<UniqueFd> descriptors;
    google::protobuf::RepeatedPtrField<::corral::egress::v1::Descriptor>
        descriptions;
  };

  // Starts a corral-egress, which gets the credentials in place of the last
  // one. Fails with Unavailable if the broker does not answer within
  // `patience`, or has ended. A failure leaves no process that serves.
  absl::StatusOr<Started> StartEgress();

  static constexpr absl::Duration kPatience = absl::Seconds(10);

 private:
  explicit WayOutBroker(SideProcess process) : process_(std::move(process)) {}

  SideProcess process_;
  // The number of the last request.
  uint32_t request_ = 0;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_WAY_OUT_BROKER_H_
