// The output of a command, read as a client reads it that must lose no byte.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/grpcpp.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/corral.h"

namespace tests {

using ::corral::v1::OutputEvent;

absl::Status Corral::ReadOutput(const std::string& parent,
                                const std::vector<std::string>& argv,
                                uint64_t bytes,
                                absl::FunctionRef<void()> on_first_byte) {
  corral::v1::RunExecutionRequest request = MakeRequest(parent, argv);
  request.mutable_command()->mutable_output()->set_overflow(
      corral::v1::OutputPolicy::BLOCK);
  grpc::ClientContext context;
  auto reader = executions_->RunExecution(&context, request);
  OutputEvent event;
  Received received;
  while (reader->Read(&event)) {
    const bool first = received.bytes == 0;
    RETURN_IF_ERROR(Receive(event, received));
    if (first && received.bytes > 0) {
      on_first_byte();
    }
  }
  RETURN_IF_ERROR(FromGrpc(reader->Finish()));
  RETURN_IF_ERROR(CheckEnd(event));
  if (received.bytes != bytes) {
    return absl::DataLossError(
        absl::StrCat(received.bytes, " bytes of ", bytes));
  }
  return absl::OkStatus();
}

absl::Status Corral::Receive(const OutputEvent& event, Received& received) {
  constexpr uint64_t kAcknowledgeEvery = 16 << 20;
  if (event.has_opened()) {
    received.execution = event.opened().name();
  }
  if (!event.has_chunk()) {
    return absl::OkStatus();
  }
  if (event.chunk().offset() != received.bytes) {
    return absl::DataLossError(
        absl::StrCat("no output at offset ", received.bytes));
  }
  received.bytes += event.chunk().data().size();
  if (received.bytes - received.acknowledged < kAcknowledgeEvery) {
    return absl::OkStatus();
  }
  received.acknowledged = received.bytes;
  return Acknowledge(received.execution, received.bytes);
}

absl::Status Corral::Acknowledge(const std::string& name, uint64_t offset) {
  grpc::ClientContext context;
  corral::v1::AcknowledgeOutputRequest request;
  request.set_name(name);
  corral::v1::StreamCursor* cursor = request.add_cursors();
  cursor->set_stream(corral::v1::STDOUT);
  cursor->set_offset(offset);
  google::protobuf::Empty response;
  return FromGrpc(executions_->AcknowledgeOutput(&context, request, &response));
}

}  // namespace tests
