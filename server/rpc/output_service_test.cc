// StreamOutput, ReadOutput and AcknowledgeOutput, from a client's side.

#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "gmock/gmock.h"
#include "grpcpp/support/status.h"
#include "gtest/gtest.h"
#include "sandbox/base/failure.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/rpc/output_stream.h"
#include "server/rpc/server_fixture.h"
#include "tests/fakes/fake_supervisor.h"
#include "tests/no_descriptors.h"

namespace server {
namespace {

namespace wire = sandbox::wire;
using corral::v1::OutputEvent;
using ::testing::SizeIs;

class OutputServiceTest : public ServerFixture {
 protected:
  static corral::v1::StreamOutputRequest From(const std::string& name,
                                              corral::v1::Stream stream,
                                              uint64_t offset) {
    corral::v1::StreamOutputRequest request;
    request.set_name(name);
    auto* cursor = request.add_cursors();
    cursor->set_stream(stream);
    cursor->set_offset(offset);
    return request;
  }

  grpc::Status Read(const corral::v1::ReadOutputRequest& request,
                    corral::v1::ReadOutputResponse* response) {
    return Call(execution_stub_.get(), &ExecutionStub::ReadOutput, request,
                response);
  }

  static constexpr uint64_t kRetained = 256 << 10;

  // Four times what is kept, each kilobyte another.
  std::string WriteMuch(const std::string& name) {
    std::string all;
    for (uint64_t i = 0; i < kRetained * 4 / 1024; ++i) {
      const std::string line = absl::StrCat(i);
      const std::string piece = line + std::string(1024 - line.size(), '.');
      factory_.Write(name, wire::STDOUT, piece);
      all += piece;
    }
    return all;
  }

  std::string StartExpiring(int64_t seconds) {
    corral::v1::Command command = Command();
    command.mutable_output()->mutable_keep_after_end()->set_seconds(seconds);
    return StartExecution(CreateSandbox(), command);
  }

  void AwaitExpiry(const std::string& name) {
    while (!Get(name).streams(0).expired()) {
      std::this_thread::yield();
    }
  }
};

TEST_F(OutputServiceTest, StreamsWhatWasWrittenAndWhatComes) {
  const std::string name = StartOne();
  factory_.Write(name, wire::STDOUT, "before");
  const auto call = Stream(name);
  EXPECT_EQ(call->Next().opened().state(), corral::v1::Execution::RUNNING);
  EXPECT_EQ(call->Next().chunk().data(), "before");
  factory_.Write(name, wire::STDOUT, "after");
  const OutputEvent event = call->Next();
  EXPECT_EQ(event.chunk().data(), "after");
  EXPECT_EQ(event.chunk().offset(), 6);
  factory_.Exit(name, 3);
  const Events rest = call->Rest();
  ASSERT_THAT(rest, SizeIs(1));
  EXPECT_EQ(rest[0].ended().exit().code(), 3);
}

TEST_F(OutputServiceTest, EndedComesLastAndAfterAllBytes) {
  const std::string name = StartOne();
  const std::string big(300'000, 'x');
  factory_.Write(name, wire::STDOUT, big);
  factory_.Write(name, wire::STDERR, "error");
  factory_.Exit(name, 0);
  const Events events = Stream(name)->Rest();
  EXPECT_TRUE(events.front().has_opened());
  EXPECT_EQ(BytesOf(events, corral::v1::STDOUT), big);
  EXPECT_EQ(BytesOf(events, corral::v1::STDERR), "error");
  EXPECT_EQ(events.back().ended().state(), corral::v1::Execution::EXITED);
  for (const OutputEvent& event : events) {
    EXPECT_LE(event.chunk().data().size(), 65536);
  }
}

TEST_F(OutputServiceTest, AReaderResumesAtItsCursor) {
  const std::string name = StartOne();
  factory_.Write(name, wire::STDOUT, "0123456789");
  factory_.Write(name, wire::STDERR, "unwanted");
  factory_.Exit(name, 0);
  const Events events = Stream(From(name, corral::v1::STDOUT, 4))->Rest();
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[1].chunk().offset(), 4);
  EXPECT_EQ(events[1].chunk().data(), "456789");
}

TEST_F(OutputServiceTest, AnOvertakenReaderGetsAGap) {
  corral::v1::Command command = Command();
  command.mutable_output()->set_retain_bytes(65536);
  const std::string name = StartExecution(CreateSandbox(), command);
  for (int i = 0; i < 64; ++i) {
    factory_.Write(name, wire::STDOUT, std::string(65536, 'x'));
  }
  factory_.Exit(name, 0);
  const Events events = Stream(From(name, corral::v1::STDOUT, 100))->Rest();
  ASSERT_TRUE(events[1].has_gap());
  EXPECT_EQ(events[1].gap().begin_offset(), 100);
  EXPECT_EQ(events[1].gap().end_offset(), events[2].chunk().offset());
  EXPECT_TRUE(events.back().has_ended());
  // Without a cursor there is nothing that was wanted and is gone.
  EXPECT_TRUE(Stream(name)->Rest()[1].has_chunk());
}

TEST_F(OutputServiceTest, ManyReadersGetTheSame) {
  const std::string name = StartOne();
  std::vector<std::unique_ptr<OutputCall>> calls;
  calls.reserve(20);
  for (int i = 0; i < 20; ++i) {
    calls.push_back(Stream(name));
  }
  std::string expected;
  for (int i = 0; i < 50; ++i) {
    const std::string line = absl::StrCat("line ", i, "\n");
    factory_.Write(name, wire::STDOUT, line);
    expected += line;
  }
  factory_.Exit(name, 0);
  for (const auto& call : calls) {
    EXPECT_EQ(BytesOf(call->Rest(), corral::v1::STDOUT), expected);
  }
}

TEST_F(OutputServiceTest, AStalledReaderHoldsUpNobody) {
  const std::string name = StartOne();
  const auto stalled = Stream(name);
  EXPECT_TRUE(stalled->Next().has_opened());
  const auto reader = Stream(name);
  const std::string block(1 << 20, 'x');
  for (int i = 0; i < 16; ++i) {
    factory_.Write(name, wire::STDOUT, block);
  }
  factory_.Exit(name, 0);
  EXPECT_EQ(BytesOf(reader->Rest(), corral::v1::STDOUT).size(), 16U << 20);
  EXPECT_EQ(BytesOf(stalled->Rest(), corral::v1::STDOUT).size(), 16U << 20);
}

TEST_F(OutputServiceTest, NothingComesBeforeOpened) {
  const std::string sandbox = CreateSandbox("box");
  // The start is not answered yet.
  factory_.With("box", [](tests::FakeSupervisor& supervisor) {
    supervisor.RefuseStarts(
        sandbox::MakeFailure(sandbox::wire::Reply::SUPERVISOR_GONE, "gone"));
  });
  corral::v1::RunExecutionRequest request;
  request.set_parent(sandbox);
  *request.mutable_command() = Command();
  const auto call = Run(request);
  timers_.AwaitTimers(1);
  timers_.Advance(2 * OutputStream::kHeartbeatInterval);
  factory_.With("box", [](tests::FakeSupervisor& supervisor) {
    supervisor.Die(sandbox::wire::SandboxEnd::SUPERVISOR_DIED, "killed");
  });
  grpc::Status status;
  EXPECT_THAT(call->Rest(&status), ::testing::IsEmpty());
  EXPECT_EQ(Reason(status), "SANDBOX_NOT_READY");
}

TEST_F(OutputServiceTest, SaysThatNoDescriptorIsLeftForALog) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UBSan, of the same build, opens a pipe to look at memory";
#endif
  const std::string name = StartOne();
  grpc::Status status;
  {
    const tests::NoDescriptors none;
    Stream(name)->Rest(&status);
  }
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Reason(status), "SANDBOX_NOT_READY");
  EXPECT_TRUE(Stream(name)->Next().has_opened());
}

TEST_F(OutputServiceTest, AQuietStreamBeatsEveryFifteenSeconds) {
  const std::string name = StartOne();
  const auto call = Stream(name);
  factory_.Write(name, wire::STDOUT, "x");
  EXPECT_TRUE(call->Next().has_opened());
  EXPECT_TRUE(call->Next().has_chunk());
  // Twice, since the end of the write may come while the clock moves, and then
  // counts as later.
  timers_.Advance(2 * OutputStream::kHeartbeatInterval);
  const OutputEvent event = call->Next();
  ASSERT_TRUE(event.has_heartbeat()) << event.ShortDebugString();
  EXPECT_EQ(event.heartbeat().streams(0).end_offset(), 1);
  factory_.Exit(name, 0);
  call->Rest();
}

TEST_F(OutputServiceTest, WithoutFollowTheStreamEndsWithWhatIsThere) {
  const std::string name = StartOne();
  factory_.Write(name, wire::STDOUT, "now");
  corral::v1::StreamOutputRequest request;
  request.set_name(name);
  request.set_no_follow(true);
  const Events events = Stream(request)->Rest();
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[1].chunk().data(), "now");
}

TEST_F(OutputServiceTest, CancellingEndsTheCallOnly) {
  const std::string name = StartOne();
  const auto call = Stream(name);
  EXPECT_TRUE(call->Next().has_opened());
  call->context.TryCancel();
  grpc::Status status;
  call->Rest(&status);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(Get(name).state(), corral::v1::Execution::RUNNING);
}

TEST_F(OutputServiceTest, RefusesCursorsThatCannotBe) {
  const std::string name = StartOne();
  grpc::Status status;
  Stream(From(name, corral::v1::TERMINAL, 0))->Rest(&status);
  EXPECT_EQ(Reason(status), "NO_SUCH_STREAM");
  Stream(From(name, corral::v1::STDOUT, 1))->Rest(&status);
  EXPECT_EQ(Reason(status), "OFFSET_OUT_OF_RANGE");
  Stream(From(name, corral::v1::STREAM_UNSPECIFIED, 0))->Rest(&status);
  EXPECT_EQ(Field(status), "cursors[0].stream");
  Stream(absl::StrCat(name, "x"))->Rest(&status);
  EXPECT_EQ(Reason(status), "EXECUTION_NOT_FOUND");
}

TEST_F(OutputServiceTest, AFailedStartOpensAndEnds) {
  const std::string sandbox = CreateSandbox("box");
  factory_.With("box", [](tests::FakeSupervisor& supervisor) {
    wire::StartFailure failure;
    failure.set_stage(wire::StartFailure::EXEC);
    failure.set_errno_value(2);
    supervisor.FailStarts(failure);
  });
  corral::v1::RunExecutionRequest request;
  request.set_parent(sandbox);
  *request.mutable_command() = Command({"missing"});
  const Events events = Run(request)->Rest();
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[1].ended().state(), corral::v1::Execution::FAILED_TO_START);
  EXPECT_EQ(events[1].ended().start_failure().errno_value(), 2);
}

TEST_F(OutputServiceTest, ReadsAWindow) {
  const std::string name = StartOne();
  factory_.Write(name, wire::STDOUT, "0123456789");
  corral::v1::ReadOutputRequest request;
  request.set_name(name);
  request.set_stream(corral::v1::STDOUT);
  request.set_offset(2);
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
}

TEST_F(OutputServiceTest, AnAcknowledgementReachesTheSupervisor) {
  const std::string sandbox = CreateSandbox("box");
  const std::string name = StartExecution(sandbox, Command());
  factory_.Write(name, wire::STDERR, "0123456789");
  corral::v1::AcknowledgeOutputRequest request;
  request.set_name(name);
  auto* cursor = request.add_cursors();
  cursor->set_stream(corral::v1::STDERR);
  cursor->set_offset(10);
  google::protobuf::Empty response;
  ASSERT_TRUE(Call(execution_stub_.get(), &ExecutionStub::AcknowledgeOutput,
                   request, &response)
                  .ok());
  factory_.With("box", [](tests::FakeSupervisor& supervisor) {
    EXPECT_EQ(supervisor.last_acknowledge().stream(), wire::STDERR);
    EXPECT_EQ(supervisor.last_acknowledge().offset(), 10);
  });
  cursor->set_offset(11);
  EXPECT_EQ(Reason(Call(execution_stub_.get(),
                        &ExecutionStub::AcknowledgeOutput, request, &response)),
            "OFFSET_OUT_OF_RANGE");
}

TEST_F(OutputServiceTest, AStreamTellsTheGapBetweenHeadAndTail) {
  corral::v1::Command command = Command();
  command.mutable_output()->set_retain_bytes(kRetained);
  command.mutable_output()->set_overflow(
      corral::v1::OutputPolicy::HEAD_AND_TAIL);
  const std::string name = StartExecution(CreateSandbox(), command);
  const std::string output = WriteMuch(name);
  factory_.Exit(name, 0);
  const corral::v1::StreamState state = Wait(name).streams(0);
  ASSERT_LT(state.gap_begin_offset(), state.gap_end_offset());
  std::string rebuilt;
  for (const auto& event : Stream(name)->Rest()) {
    if (event.has_gap()) {
      EXPECT_EQ(event.gap().begin_offset(), state.gap_begin_offset());
      EXPECT_EQ(event.gap().end_offset(), state.gap_end_offset());
      rebuilt += output.substr(rebuilt.size(), event.gap().end_offset() -
                                                   event.gap().begin_offset());
    } else if (event.has_chunk()) {
      EXPECT_EQ(event.chunk().offset(), rebuilt.size());
      rebuilt += event.chunk().data();
    }
  }
  EXPECT_TRUE(rebuilt == output);
  // A window that begins in the gap begins after it.
  corral::v1::ReadOutputRequest request;
  request.set_name(name);
  request.set_stream(corral::v1::STDOUT);
  request.set_offset(state.gap_begin_offset());
  corral::v1::ReadOutputResponse window;
  ASSERT_TRUE(Read(request, &window).ok());
  EXPECT_EQ(window.offset(), state.gap_end_offset());
}

TEST_F(OutputServiceTest, OutputExpiresSoLongAfterTheEnd) {
  const std::string name = StartExpiring(60);
  factory_.Write(name, wire::STDOUT, "gone soon");
  factory_.Exit(name, 0);
  const corral::v1::Execution end = Wait(name);
  EXPECT_EQ(end.output_expire_time().seconds(), end.end_time().seconds() + 60);
  EXPECT_EQ(BytesOf(Stream(name)->Rest(), corral::v1::STDOUT), "gone soon");
  timers_.Advance(absl::Seconds(61));
  AwaitExpiry(name);

  corral::v1::ReadOutputRequest request;
  request.set_name(name);
  request.set_stream(corral::v1::STDOUT);
  corral::v1::ReadOutputResponse window;
  const grpc::Status status = Read(request, &window);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(Reason(status), "OUTPUT_EXPIRED");
  request.set_offset(9);
  EXPECT_TRUE(Read(request, &window).ok());
  // A stream from what is left has its end, and one from before has none.
  EXPECT_TRUE(Stream(name)->Rest().back().has_ended());
  corral::v1::StreamOutputRequest stream;
  stream.set_name(name);
  stream.add_cursors()->set_stream(corral::v1::STDOUT);
  grpc::Status expired;
  Stream(stream)->Rest(&expired);
  EXPECT_EQ(Reason(expired), "OUTPUT_EXPIRED");
}

TEST_F(OutputServiceTest, NothingIsMadeUpOfALogThatTheDiskDoesNotGive) {
  const std::string name = StartOne();
  factory_.Write(name, wire::STDOUT, "text");
  const auto call = Stream(name);
  EXPECT_TRUE(call->Next().has_opened());
  EXPECT_EQ(call->Next().chunk().data(), "text");
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(path_)) {
    if (entry.path().filename() == "stdout") {
      // What is mapped beyond the end of a file fails as a disk does.
      std::filesystem::resize_file(entry.path(), 0);
    }
  }
  const corral::v1::Execution execution = Get(name);
  ASSERT_THAT(execution.streams(), SizeIs(1));
  EXPECT_EQ(execution.streams(0).stream(), corral::v1::STDERR);
  factory_.Exit(name, 0);
  grpc::Status status;
  EXPECT_THAT(call->Rest(&status), SizeIs(0));
  EXPECT_EQ(Reason(status), "SERVER_FAULT");
}

TEST_F(OutputServiceTest, OutputThatExpiredWithoutAServerIsDropped) {
  const std::string name = StartExpiring(0);
  factory_.Write(name, wire::STDOUT, "gone");
  factory_.Exit(name, 0);
  Wait(name);
  // The timer that this server had set is not run.
  Restart();
  timers_.Advance(absl::Seconds(1));
  AwaitExpiry(name);
  EXPECT_EQ(Get(name).exit().code(), 0);
}

}  // namespace
}  // namespace server
