// A server that exits and leaves its sandboxes to the next server.

#include <signal.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/corrald.h"
#include "tests/integration/integration_test.h"
#include "tests/text_file.h"

namespace tests {
namespace {

using ::corral::v1::Execution;
using ::corral::v1::STDOUT;

constexpr absl::Duration kPollInterval = absl::Milliseconds(5);

TEST(LeaveTest, SandboxesGoOnWithoutAServer) {
  Corrald server("drain_seconds: 600 on_shutdown: LEAVE_SANDBOXES");
  ASSERT_NO_FATAL_FAILURE(server.Start());
  auto client = std::make_unique<Client>(server.Connect());
  corral::v1::CreateSandboxRequest create;
  create.set_parent(kTenant);
  const std::string sandbox = client->CreateSandbox(create);
  const std::string name =
      client->Start(sandbox, Shell("echo up; read x; echo $x; exit 6")).name();
  auto call = client->Stream(name);
  call->ReadUntil(STDOUT, "up\n");
  // The server waits for the reader.
  server.Signal(SIGTERM);
  while (!client->GetInfo().draining()) {
    absl::SleepFor(kPollInterval);
  }
  server.Signal(SIGTERM);
  const grpc::Status status = call->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Reason(status), "SERVER_DRAINING");
  EXPECT_EQ(server.Wait(), 0);
  EXPECT_FALSE(std::filesystem::exists(server.socket_path()));
  EXPECT_THAT(server.Supervisors(), ::testing::Not(::testing::IsEmpty()));

  WriteFile(server.config_file(), "drain_seconds: 0");
  ASSERT_NO_FATAL_FAILURE(server.Start());
  client = std::make_unique<Client>(server.Connect());
  EXPECT_EQ(client->Get(name).state(), Execution::RUNNING);
  client->WriteInput(name, 0, "done\n");
  EXPECT_EQ(client->Wait(name).exit().code(), 6);
  auto again = client->Stream(name);
  EXPECT_TRUE(again->Finish().ok());
  EXPECT_EQ(again->bytes[STDOUT], "up\ndone\n");
  client.reset();
  server.End();
}

TEST(LeaveTest, DoesNotWaitForCommands) {
  Corrald server("drain_seconds: 600 on_shutdown: LEAVE_SANDBOXES");
  ASSERT_NO_FATAL_FAILURE(server.Start());
  {
    Client client(server.Connect());
    corral::v1::CreateSandboxRequest create;
    create.set_parent(kTenant);
    client.Start(client.CreateSandbox(create), MakeCommand({"sleep", "1000"}));
  }
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0);
  WriteFile(server.config_file(), "drain_seconds: 0");
  ASSERT_NO_FATAL_FAILURE(server.Start());
  server.End();
}

}  // namespace
}  // namespace tests
