// Requests of clients, as they come from the wire.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "sandbox/base/log.h"
#include "server/api/conversion.h"
#include "server/api/read_only_paths.h"
#include "server/api/validation.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  corral::v1::Sandbox sandbox;
  if (!sandbox.ParseFromArray(data, static_cast<int>(size)) ||
      !server::CheckSandbox("sandbox", sandbox).ok()) {
    return 0;
  }
  // An allowed request is kept, and described as it was made.
  const corral::supervisor::v1::SandboxSpec spec =
      server::ToSpec(sandbox, server::SandboxDefaults());
  corral::v1::Sandbox described = server::FromSpec(spec);
  CHECK(described.profile() == sandbox.profile() ||
        sandbox.profile() == corral::v1::Sandbox::PROFILE_UNSPECIFIED);
  CHECK(described.workspace().read_only() == sandbox.workspace().read_only());
  CHECK(server::ReadOnlyPathsOf(described.workspace()) ==
        server::ReadOnlyPathsOf(sandbox.workspace()));
  // There are no defaults here.
  described.clear_retention();
  const absl::Status again = server::CheckSandbox("sandbox", described);
  CHECK(again.ok()) << again;
  return 0;
}
