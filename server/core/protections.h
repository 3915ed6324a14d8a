// Knows what the server's host enforces, for sandboxes that demand it.
//
// Thread-safe.

#ifndef SERVER_CORE_PROTECTIONS_H_
#define SERVER_CORE_PROTECTIONS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "corral/v1/admin.pb.h"
#include "corral/v1/sandbox.pb.h"

namespace server {

class Protections {
 public:
  using Feature = corral::v1::IsolationFeature;

  // Knows none.
  Protections() = default;
  explicit Protections(const std::vector<Feature>& features);

  // Fails with INVALID_FIELD for a name that is not known, and with
  // ISOLATION_UNAVAILABLE and a PreconditionFailure if a protection that the
  // sandbox demands is not in state ENFORCED.
  absl::Status Check(const corral::v1::Sandbox& wanted) const;

 private:
  std::map<std::string, Feature> by_name_;
};

}  // namespace server

#endif  // SERVER_CORE_PROTECTIONS_H_
