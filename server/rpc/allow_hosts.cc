#include "server/rpc/allow_hosts.h"

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/egress/v1/egress.pb.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/error_reason.pb.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/client/supervisor_connection.h"
#include "sandbox/egress/policy.h"
#include "server/api/egress_rules.h"
#include "server/api/errors.h"
#include "server/core/state_directory.h"

namespace server {
namespace {

constexpr char kField[] = "egress_rules";

using Done = absl::AnyInvocable<void(absl::Status)>;

absl::Status Unavailable(const Sandbox& sandbox, absl::string_view why) {
  const std::string& name = sandbox.spec().name();
  return Error(absl::StatusCode::kFailedPrecondition,
               corral::v1::EGRESS_UNAVAILABLE, absl::StrCat(name, ": ", why),
               {{"name", name}});
}

absl::StatusOr<wire::EgressRules> ToRules(
    const Sandbox& sandbox, const corral::v1::AllowHostsRequest& request,
    const Ceilings& ceilings) {
  if (request.egress_rules().empty()) {
    return InvalidField(kField, "", "at least one rule");
  }
  RETURN_IF_ERROR(CheckEgressRules(kField, request.egress_rules()));
  if (ceilings.has_egress()) {
    RETURN_IF_ERROR(
        CheckEgressCeiling(ceilings.egress(), kField, request.egress_rules()));
  }
  const wire::SandboxSpec spec = sandbox.PresentSpec();
  if (!spec.has_egress()) {
    return Unavailable(sandbox,
                       "its network is NONE, which is chosen at its creation");
  }
  const corral::egress::v1::Policy further = ToPolicy(request.egress_rules());
  const absl::Status fits =
      egress::WithRules(spec.egress().policy(), further).status();
  if (!fits.ok()) {
    return RefusedField(
        kField, absl::StrCat("with the rules in force: ", fits.message()));
  }
  wire::EgressRules rules;
  *rules.mutable_rules() = further.rules();
  return rules;
}

absl::Status ToError(const Sandbox& sandbox, const absl::Status& status) {
  switch (sandbox::FailureOf(status)) {
    case wire::Reply::NONE:
      return absl::OkStatus();
    case wire::Reply::UNKNOWN_REQUEST:
      return Unavailable(
          sandbox, "its supervisor is of a version that cannot add rules");
    case wire::Reply::EGRESS:
      return Unavailable(sandbox, status.message());
    case wire::Reply::SUPERVISOR_GONE:
      return SandboxNotReady(
          sandbox.spec().name(),
          corral::v1::Sandbox::State_Name(corral::v1::Sandbox::FAILED));
    default:
      return ServerFault(sandbox.spec().name(), status);
  }
}

// Later calls write later, since jobs of one sandbox run one after another.
void Record(const std::shared_ptr<Sandbox>& sandbox, DiskReads* disk,
            Done reply) {
  disk->Run(sandbox->id(), [sandbox, reply = std::move(reply)]() mutable {
    const absl::Status written =
        StateDirectory::ReplaceSpec(sandbox->PresentSpec());
    if (absl::IsNotFound(written)) {
      reply(SandboxNotFound(sandbox->spec().name()));
    } else if (!written.ok()) {
      // The rules are in force, so the failure must not say that nothing was
      // changed.
      reply(ServerFault("record of the rules", written));
    } else {
      reply(absl::OkStatus());
    }
  });
}

void Ask(const std::shared_ptr<Sandbox>& sandbox, wire::EgressRules rules,
         DiskReads* disk, Done reply) {
  const auto supervisor = sandbox->supervisor();
  const corral::v1::Sandbox::State state = sandbox->Describe().state();
  if (state != corral::v1::Sandbox::READY || supervisor == nullptr) {
    reply(SandboxNotReady(sandbox->spec().name(),
                          corral::v1::Sandbox::State_Name(state)));
    return;
  }
  supervisor->AllowHosts(std::move(rules),
                         [sandbox, disk, reply = std::move(reply)](
                             const absl::Status& status) mutable {
                           if (status.ok()) {
                             Record(sandbox, disk, std::move(reply));
                           } else {
                             reply(ToError(*sandbox, status));
                           }
                         });
}

}  // namespace

void AllowHosts(const std::shared_ptr<Sandbox>& sandbox,
                const corral::v1::AllowHostsRequest& request,
                const Ceilings& ceilings, DiskReads* disk, Done reply) {
  absl::StatusOr<wire::EgressRules> rules =
      ToRules(*sandbox, request, ceilings);
  if (!rules.ok()) {
    reply(rules.status());
    return;
  }
  sandbox->AwaitKnown(
      [sandbox, rules = *std::move(rules), disk,
       reply = std::move(reply)](const absl::Status& known) mutable {
        if (known.ok()) {
          Ask(sandbox, std::move(rules), disk, std::move(reply));
        } else {
          reply(known);
        }
      });
}

}  // namespace server
