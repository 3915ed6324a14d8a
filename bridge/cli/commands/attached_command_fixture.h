// The tests of attached commands share a program and commands.

#ifndef BRIDGE_CLI_COMMANDS_ATTACHED_COMMAND_FIXTURE_H_
#define BRIDGE_CLI_COMMANDS_ATTACHED_COMMAND_FIXTURE_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bridge/cli/commands/corral_process.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_server.h"

namespace bridge {

inline constexpr char kSandbox[] = "tenants/default/sandboxes/s1";
inline constexpr char kExecution[] =
    "tenants/default/sandboxes/s1/executions/e1";

// attached_command_under_test, which stands for corral.
class Program : public CorralProcess {
 public:
  Program(const tests::FakeServer& server,
          const std::vector<std::string>& arguments, Io io = Io::kPipes)
      : CorralProcess(server.address(), arguments, io,
                      "./bridge/cli/attach/attached_command_under_test") {}

  // Returns the exit status, and all that corral wrote.
  std::string Outcome() {
    const std::string output = ReadOutput();
    const std::string error = ReadError();
    return absl::StrCat(Wait(), "|", output, "|", error);
  }
};

// Starts s1/e1, which the test does not follow.
inline void Start(const tests::FakeServer& server,
                  const corral::v1::Command& wanted) {
  const auto channel =
      grpc::CreateChannel(server.address(), grpc::InsecureChannelCredentials());
  corral::v1::CreateSandboxRequest create;
  create.set_parent("tenants/default");
  grpc::ClientContext create_context;
  corral::v1::Sandbox sandbox;
  EXPECT_TRUE(corral::v1::SandboxService::NewStub(channel)
                  ->CreateSandbox(&create_context, create, &sandbox)
                  .ok());
  corral::v1::StartExecutionRequest start;
  start.set_parent(kSandbox);
  *start.mutable_command() = wanted;
  start.mutable_command()->add_argv("cmd");
  grpc::ClientContext start_context;
  corral::v1::Execution execution;
  EXPECT_TRUE(corral::v1::ExecutionService::NewStub(channel)
                  ->StartExecution(&start_context, start, &execution)
                  .ok());
}

inline corral::v1::Command WithTerminal() {
  corral::v1::Command command;
  command.mutable_terminal()->set_columns(80);
  command.mutable_terminal()->set_rows(24);
  return command;
}

}  // namespace bridge

#endif  // BRIDGE_CLI_COMMANDS_ATTACHED_COMMAND_FIXTURE_H_
