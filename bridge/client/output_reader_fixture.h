// The tests of OutputReader share a connection, requests and commands.

#ifndef BRIDGE_CLIENT_OUTPUT_READER_FIXTURE_H_
#define BRIDGE_CLIENT_OUTPUT_READER_FIXTURE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "bridge/client/connection.h"
#include "bridge/client/output_reader.h"
#include "bridge/client/resource_name.h"
#include "bridge/client/timing.h"
#include "corral/v1/sandbox.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_server.h"
#include "tests/status_matchers.h"

namespace client {

inline constexpr char kExecution[] =
    "tenants/default/sandboxes/s1/executions/e1";

inline std::unique_ptr<Connection> Connect(const tests::FakeServer& server,
                                           const Timing& timing = {}) {
  ConnectOptions options;
  options.server = server.address();
  options.timing = timing;
  auto connection = Connection::Open(options);
  EXPECT_THAT(connection.status(), tests::IsOk());
  return *std::move(connection);
}

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

// Starts s1/e1 without reading its output. Adds a program to the command.
inline void Start(Connection& connection, corral::v1::Command command) {
  corral::v1::CreateSandboxRequest create;
  create.set_parent(kTenant);
  grpc::ClientContext create_context;
  corral::v1::Sandbox sandbox;
  ASSERT_TRUE(connection.sandboxes()
                  .CreateSandbox(&create_context, create, &sandbox)
                  .ok());
  corral::v1::StartExecutionRequest start;
  start.set_parent(sandbox.name());
  command.add_argv("cmd");
  *start.mutable_command() = std::move(command);
  grpc::ClientContext start_context;
  corral::v1::Execution execution;
  ASSERT_TRUE(connection.executions()
                  .StartExecution(&start_context, start, &execution)
                  .ok());
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
