// For tests: a connection to a FakeServer, and commands that run there.

#ifndef BRIDGE_CLIENT_CONNECTION_FIXTURE_H_
#define BRIDGE_CLIENT_CONNECTION_FIXTURE_H_

#include <memory>
#include <string>
#include <utility>

#include "bridge/client/connection.h"
#include "bridge/client/resource_name.h"
#include "bridge/client/timing.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "grpcpp/client_context.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_server.h"
#include "tests/status_matchers.h"

namespace client {

// The first execution that Start() makes.
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

// Makes a sandbox and returns its name: that of s1 for the first.
inline std::string MakeSandbox(Connection& connection) {
  corral::v1::CreateSandboxRequest request;
  request.set_parent(kTenant);
  grpc::ClientContext context;
  corral::v1::Sandbox sandbox;
  EXPECT_TRUE(
      connection.sandboxes().CreateSandbox(&context, request, &sandbox).ok());
  return sandbox.name();
}

// Starts a program in a new sandbox, without reading its output. Returns the
// name of the execution.
inline std::string Start(Connection& connection,
                         const std::string& program = "cmd",
                         corral::v1::Command command = {}) {
  corral::v1::StartExecutionRequest request;
  request.set_parent(MakeSandbox(connection));
  command.add_argv(program);
  *request.mutable_command() = std::move(command);
  grpc::ClientContext context;
  corral::v1::Execution execution;
  EXPECT_TRUE(connection.executions()
                  .StartExecution(&context, request, &execution)
                  .ok());
  return execution.name();
}

inline corral::v1::Command WithInput() {
  corral::v1::Command command;
  command.set_stdin(true);
  return command;
}

inline corral::v1::Command WithTerminal() {
  corral::v1::Command command;
  command.mutable_terminal()->set_columns(80);
  command.mutable_terminal()->set_rows(24);
  return command;
}

}  // namespace client

#endif  // BRIDGE_CLIENT_CONNECTION_FIXTURE_H_
