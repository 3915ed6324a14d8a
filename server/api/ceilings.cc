#include "server/api/ceilings.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "corral/config/v1/server_config.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/message.h"
#include "server/api/egress_rules.h"
#include "server/api/errors.h"
#include "server/api/validation.h"

namespace server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr uint64_t kNanosPerSecond = 1'000'000'000;

// A field of a request and the field of Ceilings that bounds it, each as a path
// of field names. A ceiling called ..._seconds bounds a Duration.
struct Bound {
  const char* field;
  const char* ceiling;
};

constexpr Bound kSandboxBounds[] = {
    {"limits.memory_bytes", "limits.memory_bytes"},
    {"limits.pids", "limits.pids"},
    {"limits.cpu_millis", "limits.cpu_millis"},
    {"limits.output_bytes", "limits.output_bytes"},
    {"limits.file_bytes", "limits.file_bytes"},
    {"limits.disk_bytes_per_second", "limits.disk_bytes_per_second"},
    {"limits.disk_operations_per_second", "limits.disk_operations_per_second"},
    {"limits.disk_bytes", "limits.disk_bytes"},
    {"limits.disk_inodes", "limits.disk_inodes"},
    {"lifetime.max_age", "max_age_seconds"},
    {"lifetime.idle_timeout", "idle_timeout_seconds"},
    {"retention.max_ended_executions", "max_ended_executions"},
    {"retention.max_ended_age", "max_ended_age_seconds"},
};

constexpr Bound kCommandBounds[] = {
    {"wall_timeout", "wall_timeout_seconds"},
    {"cpu_timeout", "cpu_timeout_seconds"},
    {"kill_grace", "kill_grace_seconds"},
    {"drain_timeout", "drain_timeout_seconds"},
    {"output.retain_bytes", "retain_bytes"},
    {"output.keep_after_end", "keep_after_end_seconds"},
};

// A field of a message, found once: a look-up by name takes longer than all
// other checks of a request.
class FieldPath {
 public:
  FieldPath(const Descriptor* type, absl::string_view path) {
    for (const absl::string_view name : absl::StrSplit(path, '.')) {
      fields_.push_back(type->FindFieldByName(std::string(name)));
      type = fields_.back()->message_type();
    }
  }

  // Returns the value, a Duration in nanoseconds; nothing if it is absent.
  std::optional<uint64_t> Read(const Message& message) const {
    const Message* parent = &message;
    for (const FieldDescriptor* field : fields_) {
      const auto* reflection = parent->GetReflection();
      if (!reflection->HasField(*parent, field)) {
        return std::nullopt;
      }
      switch (field->cpp_type()) {
        case FieldDescriptor::CPPTYPE_UINT32:
          return reflection->GetUInt32(*parent, field);
        case FieldDescriptor::CPPTYPE_UINT64:
          return reflection->GetUInt64(*parent, field);
        default:  // a message: CPPTYPE_MESSAGE
          parent = &reflection->GetMessage(*parent, field);
      }
    }
    const auto& duration =
        static_cast<const google::protobuf::Duration&>(*parent);
    return duration.seconds() * kNanosPerSecond + duration.nanos();
  }

 private:
  std::vector<const FieldDescriptor*> fields_;
};

struct Check {
  Bound bound;
  FieldPath field;
  FieldPath ceiling;
};

// Returns the checks of messages of one type.
template <typename Bounds>
std::vector<Check> MakeChecks(const Bounds& bounds, const Descriptor* type) {
  std::vector<Check> checks;
  for (const Bound& bound : bounds) {
    checks.push_back({bound, FieldPath(type, bound.field),
                      FieldPath(Ceilings::descriptor(), bound.ceiling)});
  }
  return checks;
}

absl::Status Run(const Check& check, const Ceilings& ceilings,
                 absl::string_view field, const Message& message) {
  const std::optional<uint64_t> ceiling = check.ceiling.Read(ceilings);
  const std::optional<uint64_t> value = check.field.Read(message);
  const Bound& bound = check.bound;
  const bool is_time = absl::EndsWith(bound.ceiling, "_seconds");
  if (!ceiling.has_value() || !value.has_value() ||
      *value <= *ceiling * (is_time ? kNanosPerSecond : 1)) {
    return absl::OkStatus();
  }
  return InvalidField(absl::StrCat(field, ".", bound.field),
                      is_time ? absl::FormatDuration(absl::Nanoseconds(
                                    static_cast<int64_t>(*value)))
                              : absl::StrCat(*value),
                      absl::StrCat("at most ", *ceiling, is_time ? " s" : "",
                                   ", the server's ceilings.", bound.ceiling));
}

absl::Status CheckProfile(const Ceilings& ceilings, absl::string_view field,
                          corral::v1::Sandbox::Profile wanted) {
  const corral::v1::Sandbox::Profile profile =
      std::max(wanted, corral::v1::Sandbox::DEFAULT);
  const std::string& name = corral::v1::Sandbox::Profile_Name(profile);
  std::vector<std::string> allowed(ceilings.profiles().begin(),
                                   ceilings.profiles().end());
  if (allowed.empty()) {
    allowed = {"DEFAULT", "STRICT", "DEBUG"};
  }
  if (absl::c_linear_search(allowed, name)) {
    return absl::OkStatus();
  }
  return InvalidField(absl::StrCat(field, ".profile"), name,
                      absl::StrCat(absl::StrJoin(allowed, ", "),
                                   ", the server's ceilings.profiles"));
}

}  // namespace

absl::Status CheckCeilings(const Ceilings& ceilings, absl::string_view field,
                           const corral::v1::Sandbox& sandbox) {
  static const auto& checks = *new std::vector<Check>(
      MakeChecks(kSandboxBounds, corral::v1::Sandbox::descriptor()));
  absl::Status status;
  for (const Check& check : checks) {
    status.Update(Run(check, ceilings, field, sandbox));
  }
  if (ceilings.has_egress()) {
    status.Update(CheckEgressCeiling(ceilings.egress(),
                                     absl::StrCat(field, ".egress_rules"),
                                     sandbox.egress_rules()));
  }
  status.Update(CheckProfile(ceilings, field, sandbox.profile()));
  return status;
}

absl::Status CheckCeilings(const Ceilings& ceilings, absl::string_view field,
                           const corral::v1::Command& command) {
  static const auto& checks = *new std::vector<Check>(
      MakeChecks(kCommandBounds, corral::v1::Command::descriptor()));
  absl::Status status;
  for (const Check& check : checks) {
    status.Update(Run(check, ceilings, field, command));
  }
  return status;
}

void FillFromCeilings(const Ceilings& ceilings, corral::v1::Command* command) {
  if (ceilings.has_wall_timeout_seconds() && !command->has_wall_timeout()) {
    command->mutable_wall_timeout()->set_seconds(
        ceilings.wall_timeout_seconds());
  }
  if (ceilings.has_cpu_timeout_seconds() && !command->has_cpu_timeout()) {
    command->mutable_cpu_timeout()->set_seconds(ceilings.cpu_timeout_seconds());
  }
  if (ceilings.has_kill_grace_seconds() && !command->has_kill_grace() &&
      absl::Seconds(ceilings.kill_grace_seconds()) < kDefaultKillGrace) {
    command->mutable_kill_grace()->set_seconds(ceilings.kill_grace_seconds());
  }
  if (ceilings.has_drain_timeout_seconds() && !command->has_drain_timeout() &&
      absl::Seconds(ceilings.drain_timeout_seconds()) < kDefaultDrainTimeout) {
    command->mutable_drain_timeout()->set_seconds(
        ceilings.drain_timeout_seconds());
  }
  const corral::v1::OutputPolicy& output = command->output();
  if (ceilings.has_retain_bytes() && !output.has_retain_bytes() &&
      ceilings.retain_bytes() < kDefaultRetainBytes) {
    command->mutable_output()->set_retain_bytes(ceilings.retain_bytes());
  }
  if (ceilings.has_keep_after_end_seconds() && !output.has_keep_after_end()) {
    command->mutable_output()->mutable_keep_after_end()->set_seconds(
        ceilings.keep_after_end_seconds());
  }
}

}  // namespace server
