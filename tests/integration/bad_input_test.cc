// Wrong requests and abandoned calls: each gets the documented error, and the
// server goes on.

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/integration_test.h"
#include "tests/text_file.h"

namespace tests {
namespace {

using ::corral::v1::Command;
using ::corral::v1::Execution;
using ::corral::v1::Limits;
using ::corral::v1::STDOUT;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ExecutionStub = Client::ExecutionStub;
using SandboxStub = Client::SandboxStub;

class BadInputTest : public IntegrationTest {
 protected:
  void ExpectInvalid(const grpc::Status& status, const std::string& field) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT)
        << status.error_message();
    EXPECT_EQ(Reason(status), "INVALID_FIELD");
    EXPECT_EQ(Field(status), field);
    EXPECT_THAT(status.error_message(), HasSubstr(field));
  }

  grpc::Status Start(const std::string& sandbox, const Command& command) {
    corral::v1::StartExecutionRequest request;
    request.set_parent(sandbox);
    *request.mutable_command() = command;
    Execution execution;
    return client_->Call(&ExecutionStub::StartExecution, request, &execution);
  }

  grpc::Status Create(const corral::v1::Sandbox& sandbox) {
    corral::v1::CreateSandboxRequest request;
    request.set_parent(kTenant);
    *request.mutable_sandbox() = sandbox;
    corral::v1::Sandbox response;
    return client_->Call(&SandboxStub::CreateSandbox, request, &response);
  }

  grpc::Status CreateWith(const Limits& limits) {
    corral::v1::Sandbox sandbox;
    *sandbox.mutable_limits() = limits;
    return Create(sandbox);
  }

  template <typename Request, typename Response>
  grpc::Status CallWithName(
      grpc::Status (ExecutionStub::*method)(grpc::ClientContext*,
                                            const Request&, Response*),
      const std::string& name) {
    Request request;
    request.set_name(name);
    Response response;
    return client_->Call(method, request, &response);
  }
};

TEST_F(BadInputTest, RefusesUnknownIds) {
  const std::string sandbox = "tenants/default/sandboxes/nobody";
  EXPECT_EQ(Reason(Start(sandbox, MakeCommand({"true"}))), "SANDBOX_NOT_FOUND");
  const std::string known = CreateSandbox();
  for (const std::string& parent : {sandbox, known}) {
    const std::string name = parent + "/executions/nobody";
    for (const grpc::Status& status :
         {CallWithName(&ExecutionStub::GetExecution, name),
          CallWithName(&ExecutionStub::WaitExecution, name),
          CallWithName(&ExecutionStub::WriteInput, name),
          CallWithName(&ExecutionStub::AcknowledgeOutput, name),
          CallWithName(&ExecutionStub::DeleteExecution, name),
          client_->Signal(name, 15), client_->Stream(name)->Finish()}) {
      EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
      EXPECT_EQ(Reason(status), "EXECUTION_NOT_FOUND");
    }
  }
  ExpectInvalid(CallWithName(&ExecutionStub::GetExecution, "nonsense"), "name");
}

TEST_F(BadInputTest, RefusesAMissingCommand) {
  const std::string sandbox = CreateSandbox();
  ExpectInvalid(Start(sandbox, Command()), "command.argv");
  ExpectInvalid(Start(sandbox, MakeCommand({""})), "command.argv[0]");
}

TEST_F(BadInputTest, RefusesADirectoryOutsideTheWorkspace) {
  const std::string sandbox = CreateSandbox();
  Command command = MakeCommand({"true"});
  for (const std::string& directory :
       {std::string("relative"), std::string("/"), std::string("/usr"),
        server_.workspace() + "/..", server_.workspace() + "-2"}) {
    command.set_working_directory(directory);
    ExpectInvalid(Start(sandbox, command), "command.working_directory");
  }
}

TEST_F(BadInputTest, RefusesAUserIdThatCommandsMayNotHave) {
  const std::string sandbox = CreateSandbox();
  Command command = MakeCommand({"true"});
  for (const uint32_t id : {1u, 1000u, 60000u, 65536u}) {
    command.set_user_id(id);
    ExpectInvalid(Start(sandbox, command), "command.user_id");
  }
}

TEST_F(BadInputTest, RefusesANulByte) {
  const std::string sandbox = CreateSandbox();
  ExpectInvalid(Start(sandbox, MakeCommand({"echo", std::string("a\0b", 3)})),
                "command.argv[1]");
}

TEST_F(BadInputTest, RefusesTwoMebibytesOfArguments) {
  const std::string sandbox = CreateSandbox();
  ExpectInvalid(
      Start(sandbox, MakeCommand({"echo", std::string(2 << 20, 'x')})),
      "command.argv");
  std::vector<std::string> many(20, std::string(100 << 10, 'x'));
  many.insert(many.begin(), "true");
  ExpectInvalid(Start(sandbox, MakeCommand(many)), "command.argv");
  const grpc::Status huge =
      Start(sandbox, MakeCommand({"echo", std::string(5 << 20, 'x')}));
  EXPECT_EQ(huge.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(BadInputTest, RefusesTenThousandCursors) {
  const std::string name =
      client_->Start(CreateSandbox(), Shell("echo hi; read x")).name();
  corral::v1::StreamOutputRequest stream;
  corral::v1::AcknowledgeOutputRequest acknowledge;
  stream.set_name(name);
  acknowledge.set_name(name);
  for (int i = 0; i < 10'000; ++i) {
    stream.add_cursors()->set_stream(STDOUT);
    acknowledge.add_cursors()->set_stream(STDOUT);
  }
  google::protobuf::Empty empty;
  for (const grpc::Status& status :
       {client_->Stream(stream)->Finish(),
        client_->Call(&ExecutionStub::AcknowledgeOutput, acknowledge,
                      &empty)}) {
    EXPECT_EQ(Reason(status), "INVALID_FIELD") << status.error_message();
    EXPECT_THAT(Field(status), StartsWith("cursors"));
  }
}

TEST_F(BadInputTest, AcceptsTenThousandVariables) {
  Command command = MakeCommand({"sh", "-c", "env | grep -c ^V"});
  for (int i = 0; i < 10'000; ++i) {
    auto* variable = command.add_environment();
    variable->set_name(absl::StrCat("V", i));
    variable->set_value("x");
  }
  EXPECT_EQ(client_->Run(CreateSandbox(), command)->bytes[STDOUT], "10000\n");
}

TEST_F(BadInputTest, RefusesLimitsOutOfRange) {
  for (const uint64_t value :
       {uint64_t{0}, uint64_t{1} << 63, std::numeric_limits<uint64_t>::max()}) {
    Limits memory;
    memory.set_memory_bytes(value);
    ExpectInvalid(CreateWith(memory), "sandbox.limits.memory_bytes");
    Limits pids;
    pids.set_pids(value);
    ExpectInvalid(CreateWith(pids), "sandbox.limits.pids");
    Limits cpu;
    cpu.set_cpu_millis(value);
    ExpectInvalid(CreateWith(cpu), "sandbox.limits.cpu_millis");
    Limits file;
    file.set_file_bytes(value);
    ExpectInvalid(CreateWith(file), "sandbox.limits.file_bytes");
    Limits speed;
    speed.set_disk_bytes_per_second(value);
    ExpectInvalid(CreateWith(speed), "sandbox.limits.disk_bytes_per_second");
    Limits operations;
    operations.set_disk_operations_per_second(value);
    ExpectInvalid(CreateWith(operations),
                  "sandbox.limits.disk_operations_per_second");
    Limits space;
    space.set_disk_bytes(value);
    ExpectInvalid(CreateWith(space), "sandbox.limits.disk_bytes");
    Limits inodes;
    inodes.set_disk_inodes(value);
    ExpectInvalid(CreateWith(inodes), "sandbox.limits.disk_inodes");
    Command command = MakeCommand({"true"});
    command.mutable_output()->set_retain_bytes(value);
    ExpectInvalid(Start(CreateSandbox(), command),
                  "command.output.retain_bytes");
  }
}

TEST_F(BadInputTest, RefusesAPathThatCannotBeAWorkspace) {
  const std::string link = server_.workspace() + "/link";
  ASSERT_EQ(::symlink("/etc", link.c_str()), 0);
  for (const std::string& path :
       {std::string("relative"), std::string("/"), std::string("/proc/1"),
        std::string(5000, '/'), server_.workspace() + "/nonexistent",
        server_.config_file(), std::string("/run"), std::string("/etc"),
        server_.directory(), server_.workspace() + "/\xff",
        server_.state_directory(), server_.state_directory() + "/sandboxes",
        link}) {
    corral::v1::Sandbox sandbox;
    sandbox.mutable_workspace()->set_path(path);
    ExpectInvalid(Create(sandbox), "sandbox.workspace.path");
  }
}

TEST_F(BadInputTest, RefusesNamesThatAreNotUtf8) {
  const grpc::Status status =
      CallWithName(&ExecutionStub::GetExecution, "tenants/\xff\xfe");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  // Arguments may have any bytes.
  const auto call =
      client_->Run(CreateSandbox(), MakeCommand({"printf", "%s", "\xff\xfe"}));
  EXPECT_EQ(call->bytes[STDOUT], "\xff\xfe");
}

TEST_F(BadInputTest, AbandonedCallsLeaveTheCommandRunning) {
  corral::v1::RunExecutionRequest request;
  request.set_parent(CreateSandbox());
  *request.mutable_command() =
      Shell("echo up; while [ ! -e go ]; do sleep 0.05; done; exit 9");
  auto run = client_->BeginRun(request);
  run->ReadUntil(STDOUT, "up\n");
  const std::string name = run->opened.name();
  run->context.TryCancel();
  EXPECT_EQ(run->Finish().error_code(), grpc::StatusCode::CANCELLED);

  auto stream = client_->Stream(name);
  ASSERT_TRUE(stream->Next());
  stream->context.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);

  // More than the pipe takes; the command reads nothing.
  corral::v1::WriteInputRequest write;
  write.set_name(name);
  write.set_data(std::string(1 << 20, 'x'));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::milliseconds(200));
  corral::v1::InputState state;
  EXPECT_EQ(
      client_->executions().WriteInput(&context, write, &state).error_code(),
      grpc::StatusCode::DEADLINE_EXCEEDED);

  EXPECT_EQ(client_->Get(name).state(), Execution::RUNNING);
  WriteFile(server_.workspace() + "/go", "");
  EXPECT_EQ(client_->Wait(name).exit().code(), 9);
}

TEST_F(BadInputTest, RefusesInputAtAWrongOffset) {
  corral::v1::WriteInputRequest write;
  write.set_name(client_->Start(CreateSandbox(), Shell("cat")).name());
  corral::v1::InputState state;
  const auto write_at = [&](uint64_t offset, const std::string& data) {
    write.set_offset(offset);
    write.set_data(data);
    return client_->Call(&ExecutionStub::WriteInput, write, &state);
  };
  EXPECT_TRUE(write_at(0, "hello").ok());
  EXPECT_TRUE(write_at(0, "hello").ok());
  EXPECT_TRUE(write_at(3, "lo world").ok());
  EXPECT_EQ(state.accepted_offset(), 11);
  EXPECT_EQ(Reason(write_at(100, "x")), "OFFSET_OUT_OF_RANGE");
  write.set_eof(true);
  EXPECT_TRUE(write_at(11, "").ok());
  EXPECT_TRUE(state.closed());
  auto call = client_->Stream(write.name());
  EXPECT_TRUE(call->Finish().ok());
  EXPECT_EQ(call->bytes[STDOUT], "hello world");

  write.set_name(client_->Start(CreateSandbox(), MakeCommand({"true"})).name());
  EXPECT_EQ(Reason(write_at(0, "x")), "INPUT_CLOSED");
}

TEST_F(BadInputTest, RefusesWhatTheExecutionDoesNotHave) {
  const std::string name =
      client_->Start(CreateSandbox(), Shell("read x")).name();
  corral::v1::ResizeTerminalRequest resize;
  resize.set_name(name);
  resize.mutable_size()->set_rows(10);
  google::protobuf::Empty empty;
  ExpectInvalid(client_->Call(&ExecutionStub::ResizeTerminal, resize, &empty),
                "size.columns");
  resize.mutable_size()->set_columns(10);
  EXPECT_EQ(
      Reason(client_->Call(&ExecutionStub::ResizeTerminal, resize, &empty)),
      "NOT_A_TERMINAL");
  corral::v1::ReadOutputRequest read;
  read.set_name(name);
  read.set_stream(corral::v1::TERMINAL);
  corral::v1::ReadOutputResponse window;
  EXPECT_EQ(Reason(client_->Call(&ExecutionStub::ReadOutput, read, &window)),
            "NO_SUCH_STREAM");
  ExpectInvalid(client_->Signal(name, 65), "signal");
  ExpectInvalid(client_->Signal(name, 0), "signal");
}

}  // namespace
}  // namespace tests
