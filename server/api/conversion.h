// Converts between corral.v1 and the messages of supervisors. Requests were
// validated before.

#ifndef SERVER_API_CONVERSION_H_
#define SERVER_API_CONVERSION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "sandbox/storage/output_log.h"

namespace server {

namespace wire = ::corral::supervisor::v1;

// The version of supervisor.proto that supervisors of this server speak.
inline constexpr uint32_t kSchemaVersion = 1;

// Values for the fields that the creator of a sandbox left absent. A field that
// is absent here too stands for "no limit"; `retention` is complete. `egress`:
// what every way out has, without rules.
struct SandboxDefaults {
  corral::v1::Limits limits;
  corral::v1::Lifetime lifetime;
  corral::v1::Retention retention;
  wire::Egress egress;
};

// Returns a new sandbox's spec without its directory, id, name, time and
// request.
wire::SandboxSpec ToSpec(const corral::v1::Sandbox& wanted,
                         const SandboxDefaults& defaults);

// Describes a sandbox, without its state and failure.
corral::v1::Sandbox FromSpec(const wire::SandboxSpec& spec);

// Adds the supervisor's steps of the creation, if there are any.
void AddTrace(const wire::SandboxTrace& trace, corral::v1::Sandbox* sandbox);

// The same as in validation.h.
std::vector<absl::string_view> WorkspacesOf(const wire::SandboxSpec& spec);

// `workspace` is the path of the sandbox's first workspace; empty if it has
// none.
wire::CommandSpec ToCommandSpec(const corral::v1::Command& command,
                                absl::string_view workspace);

// Replaces the state, times, end, input and trace of `execution` by those of
// `record`.
void MergeRecord(const wire::ExecutionRecord& record,
                 corral::v1::Execution* execution);

corral::v1::StreamState ToStreamState(corral::v1::Stream stream,
                                      const sandbox::OutputLogState& state);

// Returns the streams for which a command has output logs.
std::vector<corral::v1::Stream> StreamsOf(const corral::v1::Command& command);

wire::Stream ToWire(corral::v1::Stream stream);
corral::v1::InputState FromWire(const wire::InputState& input);
wire::Signal::Scope ToWire(corral::v1::SignalExecutionRequest::Scope scope);

// Returns true if the state is EXITED, FAILED_TO_START or LOST.
bool IsEnd(corral::v1::Execution::State state);

}  // namespace server

#endif  // SERVER_API_CONVERSION_H_
