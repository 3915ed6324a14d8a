#include "tests/fakes/request_rules.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/v1/error_reason.pb.h"
#include "sandbox/base/status_macros.h"
#include "server/api/errors.h"
#include "server/api/names.h"
#include "server/api/validation.h"

namespace tests {
namespace {

using corral::v1::Execution;
using corral::v1::StreamCursor;
using google::protobuf::RepeatedPtrField;

constexpr uint32_t kMaxWindow = 2 << 20;
constexpr size_t kMaxInputBytes = 1 << 20;
constexpr int kMaxCursors = 3;
constexpr int kLastSignal = 64;

absl::Status Precondition(corral::v1::ErrorReason reason,
                          const Execution& execution, absl::string_view what) {
  return server::Error(absl::StatusCode::kFailedPrecondition, reason,
                       absl::StrCat(execution.name(), what),
                       {{"name", execution.name()}});
}

absl::Status CheckTerminal(const Execution& execution) {
  return execution.command().has_terminal()
             ? absl::OkStatus()
             : Precondition(corral::v1::NOT_A_TERMINAL, execution,
                            " has no terminal");
}

absl::Status CheckHasStream(const Execution& execution,
                            corral::v1::Stream stream) {
  for (const corral::v1::StreamState& state : execution.streams()) {
    if (state.stream() == stream) {
      return absl::OkStatus();
    }
  }
  return Precondition(
      corral::v1::NO_SUCH_STREAM, execution,
      absl::StrCat(" has no stream ", corral::v1::Stream_Name(stream)));
}

absl::Status CheckCursors(const Execution& execution,
                          const RepeatedPtrField<StreamCursor>& cursors) {
  std::set<corral::v1::Stream> seen;
  for (int i = 0; i < cursors.size(); ++i) {
    const corral::v1::Stream stream = cursors[i].stream();
    const std::string field = absl::StrCat("cursors[", i, "].stream");
    RETURN_IF_ERROR(server::CheckStream(field, stream));
    RETURN_IF_ERROR(CheckHasStream(execution, stream));
    if (!seen.insert(stream).second) {
      return server::InvalidField(field, corral::v1::Stream_Name(stream),
                                  "each stream once");
    }
  }
  return absl::OkStatus();
}

// Checks the fields that StartExecution and RunExecution share.
template <typename Request>
absl::Status CheckStart(const Request& request,
                        const corral::v1::Sandbox& sandbox) {
  RETURN_IF_ERROR(
      server::CheckChosenId("execution_id", request.execution_id()));
  RETURN_IF_ERROR(server::CheckRequestId("request_id", request.request_id()));
  return server::CheckCommand("command", request.command(),
                              server::WorkspacesOf(sandbox));
}

}  // namespace

absl::Status CheckRequest(const corral::v1::CreateSandboxRequest& request) {
  RETURN_IF_ERROR(server::CheckTenantName("parent", request.parent()));
  RETURN_IF_ERROR(server::CheckChosenId("sandbox_id", request.sandbox_id()));
  RETURN_IF_ERROR(server::CheckRequestId("request_id", request.request_id()));
  return server::CheckSandbox("sandbox", request.sandbox());
}

absl::Status CheckRequest(const corral::v1::ListSandboxesRequest& request) {
  RETURN_IF_ERROR(server::CheckTenantName("parent", request.parent()));
  return server::CheckPageSize("page_size", request.page_size()).status();
}

absl::Status CheckRequest(const corral::v1::ListExecutionsRequest& request) {
  RETURN_IF_ERROR(
      server::SandboxName::ParseListParent("parent", request.parent())
          .status());
  return server::CheckPageSize("page_size", request.page_size()).status();
}

absl::Status CheckRequest(const corral::v1::WaitExecutionRequest& request) {
  return request.has_timeout()
             ? server::CheckDuration("timeout", request.timeout(),
                                     absl::ZeroDuration(), server::kYear)
                   .status()
             : absl::OkStatus();
}

absl::Status CheckRequest(const corral::v1::StartExecutionRequest& request,
                          const corral::v1::Sandbox& sandbox) {
  return CheckStart(request, sandbox);
}

absl::Status CheckRequest(const corral::v1::RunExecutionRequest& request,
                          const corral::v1::Sandbox& sandbox) {
  if (server::IsTenantName(request.parent())) {
    RETURN_IF_ERROR(server::CheckChosenId("sandbox_id", request.sandbox_id()));
    RETURN_IF_ERROR(server::CheckSandbox("sandbox", request.sandbox()));
    return CheckStart(request, request.sandbox());
  }
  if (!request.sandbox_id().empty() || request.has_sandbox()) {
    return server::InvalidField("parent", request.parent(),
                                "a tenant, if sandbox or sandbox_id is set");
  }
  return CheckStart(request, sandbox);
}

absl::Status CheckRequest(const corral::v1::ReadOutputRequest& request,
                          const Execution& execution) {
  RETURN_IF_ERROR(server::CheckStream("stream", request.stream()));
  RETURN_IF_ERROR(
      server::CheckRange("max_bytes", request.max_bytes(), {0, kMaxWindow}));
  return CheckHasStream(execution, request.stream());
}

absl::Status CheckRequest(const corral::v1::StreamOutputRequest& request,
                          const Execution& execution) {
  return CheckCursors(execution, request.cursors());
}

absl::Status CheckRequest(const corral::v1::AcknowledgeOutputRequest& request,
                          const Execution& execution) {
  if (request.cursors().empty() || request.cursors_size() > kMaxCursors) {
    return server::InvalidField(
        "cursors", absl::StrCat(request.cursors_size(), " cursors"),
        "1 to 3 cursors");
  }
  RETURN_IF_ERROR(CheckCursors(execution, request.cursors()));
  for (const StreamCursor& cursor : request.cursors()) {
    for (const corral::v1::StreamState& state : execution.streams()) {
      if (state.stream() == cursor.stream() &&
          cursor.offset() > state.end_offset()) {
        return server::OffsetOutOfRange(
            corral::v1::Stream_Name(cursor.stream()), cursor.offset(),
            state.end_offset());
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckRequest(const corral::v1::WriteInputRequest& request,
                          const Execution& execution) {
  if (request.data().size() > kMaxInputBytes) {
    return server::InvalidField("data",
                                absl::StrCat(request.data().size(), " bytes"),
                                "at most 1048576 bytes");
  }
  return execution.command().stdin() || execution.command().has_terminal()
             ? absl::OkStatus()
             : Precondition(corral::v1::INPUT_CLOSED, execution,
                            " was started without stdin");
}

absl::Status CheckRequest(const corral::v1::SignalExecutionRequest& request,
                          const Execution& execution) {
  using Scope = corral::v1::SignalExecutionRequest;
  if (request.signal() < 1 || request.signal() > kLastSignal) {
    return server::InvalidField("signal", absl::StrCat(request.signal()),
                                "[1, 64]");
  }
  if (!Scope::Scope_IsValid(request.scope())) {
    return server::InvalidField("scope", absl::StrCat(request.scope()),
                                "TREE, LEADER, FOREGROUND_GROUP");
  }
  if (request.has_kill_after()) {
    RETURN_IF_ERROR(server::CheckDuration("kill_after", request.kill_after(),
                                          absl::ZeroDuration(), absl::Hours(1))
                        .status());
  }
  return request.scope() == Scope::FOREGROUND_GROUP ? CheckTerminal(execution)
                                                    : absl::OkStatus();
}

absl::Status CheckRequest(const corral::v1::ResizeTerminalRequest& request,
                          const Execution& execution) {
  RETURN_IF_ERROR(server::CheckTerminalSize("size", request.size()));
  return CheckTerminal(execution);
}

}  // namespace tests
