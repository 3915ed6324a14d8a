#include "server/rpc/window_call.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "grpcpp/support/status.h"
#include "gtest/gtest.h"
#include "sandbox/base/failure.h"
#include "sandbox/client/supervisor_connection.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/storage/output_log.h"
#include "server/rpc/server_fixture.h"
#include "tests/fakes/fake_supervisor.h"

namespace server {
namespace {

namespace wire = sandbox::wire;

class WindowCallTest : public ServerFixture {
 protected:
  static corral::v1::ReadOutputRequest From(const std::string& name,
                                            uint64_t offset) {
    corral::v1::ReadOutputRequest request;
    request.set_name(name);
    request.set_stream(corral::v1::STDOUT);
    request.set_offset(offset);
    return request;
  }
  grpc::Status Read(const corral::v1::ReadOutputRequest& request,
                    corral::v1::ReadOutputResponse* response) {
    return Call(execution_stub_.get(), &ExecutionStub::ReadOutput, request,
                response);
  }
};

TEST_F(WindowCallTest, ReadsAWindow) {
  const std::string name = StartOne();
  factory_.Write(name, wire::STDOUT, "0123456789");
  corral::v1::ReadOutputRequest request = From(name, 2);
  request.set_max_bytes(3);
  corral::v1::ReadOutputResponse response;
  ASSERT_TRUE(Read(request, &response).ok());
  EXPECT_EQ(response.data(), "234");
  EXPECT_EQ(response.offset(), 2);
  EXPECT_EQ(response.state().end_offset(), 10);
  EXPECT_FALSE(response.state().closed());
  EXPECT_FALSE(response.execution().has_command());

  request.set_tail(true);
  ASSERT_TRUE(Read(request, &response).ok());
  EXPECT_EQ(response.data(), "789");
  EXPECT_EQ(response.offset(), 7);

  request.set_offset(11);
  EXPECT_EQ(Reason(Read(request, &response)), "OFFSET_OUT_OF_RANGE");
  request.set_max_bytes((2 << 20) + 1);
  EXPECT_EQ(Field(Read(request, &response)), "max_bytes");
  request.set_max_bytes(0);
  request.set_stream(corral::v1::TERMINAL);
  EXPECT_EQ(Reason(Read(request, &response)), "NO_SUCH_STREAM");
  request.clear_stream();
  EXPECT_EQ(Field(Read(request, &response)), "stream");
}

TEST_F(WindowCallTest, ReadsALogThatAReaderHasOpen) {
  const std::string name = StartOne();
  factory_.Write(name, wire::STDOUT, "0123");
  const auto reader = Stream(name);
  EXPECT_TRUE(reader->Next().has_opened());
  EXPECT_EQ(reader->Next().chunk().data(), "0123");
  corral::v1::ReadOutputResponse response;
  ASSERT_TRUE(Read(From(name, 1), &response).ok());
  EXPECT_EQ(response.data(), "123");
  EXPECT_EQ(response.offset(), 1);
}

TEST_F(WindowCallTest, IsEmptyAtTheEndAndBeforeTheFirstByte) {
  const std::string name = StartOne();
  corral::v1::ReadOutputResponse response;
  ASSERT_TRUE(Read(From(name, 0), &response).ok());
  EXPECT_EQ(response.data(), "");
  factory_.Write(name, wire::STDOUT, "0123");
  ASSERT_TRUE(Read(From(name, 4), &response).ok());
  EXPECT_EQ(response.data(), "");
  EXPECT_EQ(response.offset(), 4);
  EXPECT_EQ(Reason(Read(From(name, 5), &response)), "OFFSET_OUT_OF_RANGE");
}

TEST_F(WindowCallTest, SkipsTheGapBetweenHeadAndTail) {
  corral::v1::Command command = Command();
  command.mutable_output()->set_retain_bytes(256 << 10);
  command.mutable_output()->set_overflow(
      corral::v1::OutputPolicy::HEAD_AND_TAIL);
  const std::string name = StartExecution(CreateSandbox(), command);
  for (int i = 0; i < 16; ++i) {
    factory_.Write(name, wire::STDOUT, std::string(64 << 10, 'x'));
  }
  const corral::v1::StreamState state = Get(name).streams(0);
  ASSERT_LT(state.gap_begin_offset(), state.gap_end_offset());
  corral::v1::ReadOutputResponse window;
  ASSERT_TRUE(Read(From(name, state.gap_begin_offset()), &window).ok());
  EXPECT_EQ(window.offset(), state.gap_end_offset());
}

TEST_F(WindowCallTest, ReadsTheRestOfAStreamWhoseBeginningWasDropped) {
  corral::v1::Command command = Command();
  command.mutable_output()->set_retain_bytes(65536);
  const std::string name = StartExecution(CreateSandbox(), command);
  for (int i = 0; i < 4; ++i) {
    factory_.Write(name, wire::STDOUT, std::string(65536, 'x'));
  }
  corral::v1::ReadOutputResponse window;
  ASSERT_TRUE(Read(From(name, 0), &window).ok());
  EXPECT_GT(window.offset(), 0);
  EXPECT_EQ(window.offset(), window.state().begin_offset());
  EXPECT_FALSE(window.data().empty());
}

TEST_F(WindowCallTest, ReportsAStreamWithoutALogAsClosedAfterTheEnd) {
  const std::string sandbox = CreateSandbox("box");
  factory_.With("box", [](tests::FakeSupervisor& supervisor) {
    wire::StartFailure failure;
    failure.set_stage(wire::StartFailure::EXEC);
    failure.set_errno_value(2);
    supervisor.FailStarts(failure);
  });
  const std::string name = StartExecution(sandbox, Command());
  // An earlier supervisor made no log for a start that failed early.
  std::filesystem::remove(absl::StrCat(path_, "/sandboxes/box/executions/",
                                       name.substr(name.rfind('/') + 1)));
  corral::v1::ReadOutputResponse window;
  ASSERT_TRUE(Read(From(name, 0), &window).ok());
  EXPECT_EQ(window.state().stream(), corral::v1::STDOUT);
  EXPECT_TRUE(window.state().closed());
  EXPECT_EQ(Reason(Read(From(name, 1), &window)), "OFFSET_OUT_OF_RANGE");
}

TEST_F(WindowCallTest, ReportsTheStreamOfALostExecutionAsClosed) {
  const std::string name = StartExecution(CreateSandbox("box"), Command());
  factory_.Write(name, wire::STDOUT, "text");
  corral::v1::ReadOutputResponse window;
  ASSERT_TRUE(Read(From(name, 0), &window).ok());
  EXPECT_FALSE(window.state().closed());
  factory_.With("box", [](tests::FakeSupervisor& supervisor) {
    supervisor.Die(wire::SandboxEnd::SUPERVISOR_DIED, "died");
  });
  EXPECT_EQ(Wait(name).state(), corral::v1::Execution::LOST);
  ASSERT_TRUE(Read(From(name, 0), &window).ok());
  EXPECT_TRUE(window.state().closed());
}

TEST_F(WindowCallTest, IsSmallUnlessTheClientWantsALargeOne) {
  const std::string name = StartOne();
  factory_.Write(name, wire::STDOUT, std::string(3 << 20, 'x'));
  corral::v1::ReadOutputRequest request = From(name, 0);
  corral::v1::ReadOutputResponse response;
  ASSERT_TRUE(Read(request, &response).ok());
  EXPECT_EQ(response.data().size(), 64 << 10);
  request.set_max_bytes(2 << 20);
  ASSERT_TRUE(Read(request, &response).ok());
  EXPECT_EQ(response.data().size(), 2 << 20);
}

TEST_F(WindowCallTest, ATailThatIsLargerThanTheOutputIsAllOfIt) {
  const std::string name = StartOne();
  factory_.Write(name, wire::STDOUT, "0123");
  corral::v1::ReadOutputRequest request = From(name, 0);
  request.set_tail(true);
  for (const uint32_t size : {4, 5}) {
    request.set_max_bytes(size);
    corral::v1::ReadOutputResponse response;
    ASSERT_TRUE(Read(request, &response).ok());
    EXPECT_EQ(response.data(), "0123");
    EXPECT_EQ(response.offset(), 0);
  }
}

TEST_F(WindowCallTest, ATailOfExpiredOutputIsRefusedUnlessThereWasNone) {
  corral::v1::Command command = Command();
  command.mutable_output()->mutable_keep_after_end()->set_seconds(0);
  const std::string name = StartExecution(CreateSandbox(), command);
  factory_.Write(name, wire::STDOUT, "0123");
  factory_.Exit(name, 0);
  Wait(name);
  timers_.Advance(absl::Seconds(1));
  lanes_->removals.AwaitIdle();
  corral::v1::ReadOutputRequest request = From(name, 0);
  request.set_tail(true);
  corral::v1::ReadOutputResponse response;
  EXPECT_EQ(Reason(Read(request, &response)), "OUTPUT_EXPIRED");
  request.set_stream(corral::v1::STDERR);
  ASSERT_TRUE(Read(request, &response).ok());
  EXPECT_EQ(response.data(), "");
  EXPECT_TRUE(response.state().expired());
}

TEST_F(WindowCallTest, BeginsLaterIfTheBeginningWasDroppedWithoutAReport) {
  corral::v1::Command command = Command();
  command.mutable_output()->set_retain_bytes(65536);
  const std::string name = StartExecution(CreateSandbox("box"), command);
  factory_.Write(name, wire::STDOUT, std::string(65536, 'x'));
  factory_.With("box", [&](tests::FakeSupervisor& supervisor) {
    supervisor.Connect(nullptr);
    for (int i = 0; i < 4; ++i) {
      supervisor.Write(name.substr(name.rfind('/') + 1), wire::STDOUT,
                       std::string(65536, 'y'));
    }
    supervisor.Connect(sandboxes_->registry().Find("box").get());
  });
  corral::v1::ReadOutputResponse response;
  ASSERT_TRUE(Read(From(name, 0), &response).ok());
  EXPECT_GT(response.offset(), 0);
  EXPECT_EQ(response.offset(), response.state().begin_offset());
  EXPECT_EQ(response.data().front(), 'y');
}

TEST_F(WindowCallTest, ReportsALogThatIsDeletedOrCannotBeRead) {
  const std::string name = StartExecution(CreateSandbox("box"), Command());
  factory_.Write(name, wire::STDOUT, "text");
  const std::string log = absl::StrCat(path_, "/sandboxes/box/executions/",
                                       name.substr(name.rfind('/') + 1));
  std::filesystem::resize_file(log, 0);
  corral::v1::ReadOutputResponse response;
  EXPECT_EQ(Reason(Read(From(name, 0), &response)), "SERVER_FAULT");
  std::filesystem::remove(log);
  EXPECT_EQ(Reason(Read(From(name, 0), &response)), "EXECUTION_NOT_FOUND");
}

TEST_F(WindowCallTest, ReadsALogThatNobodyHasReported) {
  const std::string sandbox = CreateSandbox("box");
  // The start is not answered yet.
  factory_.With("box", [](tests::FakeSupervisor& supervisor) {
    supervisor.RefuseStarts(
        sandbox::MakeFailure(wire::Reply::SUPERVISOR_GONE, "gone"));
  });
  sandboxes_->registry().Find("box")->Start({"job", Command(), {}},
                                            [](const auto& /*started*/) {});
  const std::string directory =
      absl::StrCat(path_, "/sandboxes/box/executions");
  std::filesystem::create_directories(directory);
  sandbox::OutputLogWriter log(
      *sandbox::ExecutionFile::Create(directory + "/job"), wire::STDOUT);
  ASSERT_TRUE(log.Append("text", 4).ok());
  corral::v1::ReadOutputResponse response;
  ASSERT_TRUE(
      Read(From(absl::StrCat(sandbox, "/executions/job"), 0), &response).ok());
  EXPECT_EQ(response.data(), "text");
}

TEST_F(WindowCallTest, AStreamThatIsStillWrittenAfterTheEndIsNotClosed) {
  const std::string name = StartExecution(CreateSandbox("box"), Command());
  factory_.Write(name, wire::STDOUT, "text");
  factory_.With("box", [&](tests::FakeSupervisor& /*supervisor*/) {
    wire::ExecutionRecord record;
    record.set_id(name.substr(name.rfind('/') + 1));
    record.set_state(wire::ExecutionRecord::EXITED);
    record.mutable_exit()->set_output_open(true);
    sandboxes_->registry().Find("box")->OnExecution(record);
  });
  EXPECT_EQ(Wait(name).state(), corral::v1::Execution::EXITED);
  corral::v1::ReadOutputResponse response;
  ASSERT_TRUE(Read(From(name, 0), &response).ok());
  EXPECT_FALSE(response.state().closed());
}

TEST_F(WindowCallTest, ReportsALogThatIsTornAndThatNobodyHasReported) {
  const std::string sandbox = CreateSandbox("box");
  factory_.With("box", [](tests::FakeSupervisor& supervisor) {
    supervisor.RefuseStarts(
        sandbox::MakeFailure(wire::Reply::SUPERVISOR_GONE, "gone"));
  });
  sandboxes_->registry().Find("box")->Start({"job", Command(), {}},
                                            [](const auto& /*started*/) {});
  const std::string directory =
      absl::StrCat(path_, "/sandboxes/box/executions");
  std::filesystem::create_directories(directory);
  std::ofstream(directory + "/job") << "x";
  corral::v1::ReadOutputResponse response;
  EXPECT_EQ(Reason(Read(From(absl::StrCat(sandbox, "/executions/job"), 0),
                        &response)),
            "SERVER_FAULT");
}

}  // namespace
}  // namespace server
