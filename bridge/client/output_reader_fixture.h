// The tests of OutputReader share requests and what they read.

#ifndef BRIDGE_CLIENT_OUTPUT_READER_FIXTURE_H_
#define BRIDGE_CLIENT_OUTPUT_READER_FIXTURE_H_

#include <string>

#include "absl/status/status.h"
#include "bridge/client/connection_fixture.h"
#include "bridge/client/output_reader.h"
#include "bridge/client/resource_name.h"
#include "corral/v1/execution_service.pb.h"
#include "tests/fakes/fake_server.h"

namespace client {

inline corral::v1::RunExecutionRequest RunRequest() {
  corral::v1::RunExecutionRequest request;
  request.set_parent(kTenant);
  request.mutable_command()->add_argv("true");
  auto& output = *request.mutable_command()->mutable_output();
  output.set_retain_bytes(1 << 20);
  output.set_overflow(corral::v1::OutputPolicy::BLOCK);
  return request;
}

// All chunks of standard output.
inline std::string ReadAll(OutputReader& reader, absl::Status* status) {
  std::string data;
  for (;;) {
    auto event = reader.Next();
    *status = event.status();
    if (!event.ok() || !event->has_value()) {
      return data;
    }
    data += (*event)->chunk().data();
  }
}

inline corral::v1::StreamOutputRequest StreamRequest() {
  corral::v1::StreamOutputRequest request;
  request.set_name(kExecution);
  return request;
}

inline void TypeOneByte(tests::FakeServer& server) {
  corral::v1::WriteInputRequest input;
  corral::v1::InputState state;
  input.set_data("x");
  server.FindExecution(kExecution)->WriteInput(input, &state);
}

}  // namespace client

#endif  // BRIDGE_CLIENT_OUTPUT_READER_FIXTURE_H_
