#include "server/rpc/output_stream.h"

#include <filesystem>
#include <future>
#include <memory>
#include <string>
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
#include "server/rpc/server_fixture.h"
#include "tests/fakes/fake_supervisor.h"

namespace server {
namespace {

namespace wire = sandbox::wire;
using corral::v1::OutputEvent;
using ::testing::SizeIs;

class OutputStreamTest : public ServerFixture {
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
};

TEST_F(OutputStreamTest, DeliversOutputFromBeforeAndAfterItsBegin) {
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

TEST_F(OutputStreamTest, SendsEndedLastAfterAllBytes) {
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
    EXPECT_LE(event.chunk().data().size(), 256 << 10);
  }
}

TEST_F(OutputStreamTest, ResumesAtItsCursor) {
  const std::string name = StartOne();
  factory_.Write(name, wire::STDOUT, "0123456789");
  factory_.Write(name, wire::STDERR, "unwanted");
  factory_.Exit(name, 0);
  const Events events = Stream(From(name, corral::v1::STDOUT, 4))->Rest();
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[1].chunk().offset(), 4);
  EXPECT_EQ(events[1].chunk().data(), "456789");
}

TEST_F(OutputStreamTest, ReportsAGapToAReaderThatWasOvertaken) {
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
  // A stream without a cursor begins at the first byte kept, without a gap.
  EXPECT_TRUE(Stream(name)->Rest()[1].has_chunk());
}

TEST_F(OutputStreamTest, GivesManyReadersTheSameBytes) {
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

TEST_F(OutputStreamTest, AStalledReaderDelaysNobody) {
  const std::string name = StartOne();
  const auto stalled = Stream(name);
  EXPECT_TRUE(stalled->Next().has_opened());
  const auto reader = Stream(name);
  const std::string block(1 << 20, 'x');
  for (int i = 0; i < 16; ++i) {
    factory_.Write(name, wire::STDOUT, block);
  }
  timers_.Advance(OutputStream::kHeartbeatInterval);
  factory_.Exit(name, 0);
  EXPECT_EQ(BytesOf(reader->Rest(), corral::v1::STDOUT).size(), 16U << 20);
  EXPECT_EQ(BytesOf(stalled->Rest(), corral::v1::STDOUT).size(), 16U << 20);
}

TEST_F(OutputStreamTest, SendsNothingBeforeOpened) {
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
  while (sandboxes_->registry().Find("box")->execution_count() == 0) {
    std::this_thread::yield();
  }
  timers_.Advance(2 * OutputStream::kHeartbeatInterval);
  factory_.With("box", [](tests::FakeSupervisor& supervisor) {
    supervisor.Die(sandbox::wire::SandboxEnd::SUPERVISOR_DIED, "killed");
  });
  grpc::Status status;
  EXPECT_THAT(call->Rest(&status), ::testing::IsEmpty());
  EXPECT_EQ(Reason(status), "SANDBOX_NOT_READY");
}

TEST_F(OutputStreamTest, SendsAHeartbeatAfterFifteenQuietSeconds) {
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
  // The timer of the next heartbeat.
  ASSERT_EQ(timers_.size(), 1);
  timers_.Advance(2 * OutputStream::kHeartbeatInterval);
  EXPECT_TRUE(call->Next().has_heartbeat());
  factory_.Exit(name, 0);
  call->Rest();
}

TEST_F(OutputStreamTest, SendsOneHeartbeatForEachQuietTime) {
  const std::string name = StartOne();
  const auto call = Stream(name);
  EXPECT_TRUE(call->Next().has_opened());
  std::future<Events> rest =
      std::async(std::launch::async, [&call] { return call->Rest(); });
  timers_.Advance(OutputStream::kHeartbeatInterval);
  // In this time the reader would get many more.
  for (int i = 0; i < 100; ++i) {
    Get(name);
  }
  factory_.Exit(name, 0);
  EXPECT_LE(rest.get().size(), 2);
}

TEST_F(OutputStreamTest, WithoutFollowingEndsAtTheOutputWrittenBefore) {
  const std::string name = StartOne();
  factory_.Write(name, wire::STDOUT, "now");
  corral::v1::StreamOutputRequest request;
  request.set_name(name);
  request.set_no_follow(true);
  const Events events = Stream(request)->Rest();
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[1].chunk().data(), "now");
}

TEST_F(OutputStreamTest, CancellingEndsTheCallOnly) {
  const std::string name = StartOne();
  const auto call = Stream(name);
  EXPECT_TRUE(call->Next().has_opened());
  call->context.TryCancel();
  grpc::Status status;
  call->Rest(&status);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(Get(name).state(), corral::v1::Execution::RUNNING);
}

TEST_F(OutputStreamTest, RefusesWrongCursors) {
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
  corral::v1::StreamOutputRequest twice = From(name, corral::v1::STDERR, 0);
  *twice.add_cursors() = twice.cursors(0);
  Stream(twice)->Rest(&status);
  EXPECT_EQ(Field(status), "cursors[1].stream");
}

TEST_F(OutputStreamTest, ReportsAFailedStartAsOpenedAndEnded) {
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

TEST_F(OutputStreamTest, ReportsTheGapBetweenHeadAndTail) {
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
}

TEST_F(OutputStreamTest, FailsWhenTheDiskDoesNotGiveTheLog) {
  const std::string name = StartOne();
  factory_.Write(name, wire::STDOUT, "text");
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(path_)) {
    if (entry.path().parent_path().filename() == "executions") {
      // Reading beyond the end of a file that is mapped fails as a disk does.
      std::filesystem::resize_file(entry.path(), 0);
    }
  }
  grpc::Status status;
  const Events events = Stream(name)->Rest(&status);
  EXPECT_EQ(BytesOf(events, corral::v1::STDOUT), "");
  EXPECT_EQ(Reason(status), "SERVER_FAULT");
  // Ends that the supervisor has reported stay true.
  EXPECT_EQ(Get(name).streams(0).end_offset(), 4);
}

TEST_F(OutputStreamTest, IsRefusedAboveTheBoundAndStartsNothingThen) {
  const std::string name = StartExecution(CreateSandbox("box"), Command());
  std::vector<std::unique_ptr<OutputCall>> calls;
  for (int i = 0; i < kMaxWaitingCalls; ++i) {
    calls.push_back(Stream(name));
    EXPECT_TRUE(calls.back()->Next().has_opened());
  }
  grpc::Status status;
  Stream(name)->Rest(&status);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Reason(status), "TOO_MANY_CALLS");
  corral::v1::RunExecutionRequest run;
  run.set_parent("tenants/default/sandboxes/box");
  *run.mutable_command() = Command();
  EXPECT_EQ(Run(run)->Rest(&status).size(), 0);
  EXPECT_EQ(Reason(status), "TOO_MANY_CALLS");
  factory_.With("box", [](tests::FakeSupervisor& supervisor) {
    EXPECT_EQ(supervisor.starts(), 1);
  });
  factory_.Exit(name, 0);
  for (const auto& call : calls) {
    EXPECT_TRUE(call->Rest().back().has_ended());
  }
}

TEST_F(OutputStreamTest, CountsTheQuietSecondsFromTheLastEvent) {
  const std::string name = StartOne();
  const auto call = Stream(name);
  EXPECT_TRUE(call->Next().has_opened());
  timers_.Advance(absl::Seconds(10));
  // The stream writes the second one after it has noted the end of the first.
  for (const char* text : {"x", "y"}) {
    factory_.Write(name, wire::STDOUT, text);
    EXPECT_TRUE(call->Next().has_chunk());
  }
  timers_.Advance(absl::Seconds(10));
  factory_.Exit(name, 0);
  EXPECT_THAT(call->Rest(), SizeIs(1));
}

TEST_F(OutputStreamTest, LeavesNoTimerWhenItIsOver) {
  const std::string name = StartOne();
  const auto call = Stream(name);
  EXPECT_TRUE(call->Next().has_opened());
  EXPECT_EQ(timers_.size(), 1);
  factory_.Exit(name, 0);
  call->Rest();
  EXPECT_TRUE(activity_->AwaitNoCall(absl::Hours(1)));
  EXPECT_EQ(timers_.size(), 0);
}

TEST_F(OutputStreamTest, SendsNoHeartbeatWhenAnEventComesFirst) {
  const std::string name = StartOne();
  const auto call = Stream(name);
  EXPECT_TRUE(call->Next().has_opened());
  // Both logs are open from here on.
  for (const wire::Stream stream : {wire::STDOUT, wire::STDERR}) {
    factory_.Write(name, stream, "x");
    EXPECT_TRUE(call->Next().has_chunk());
  }
  // The first of these is being written, and the second follows.
  factory_.Write(name, wire::STDOUT, "y");
  factory_.Write(name, wire::STDERR, "y");
  timers_.Advance(OutputStream::kHeartbeatInterval);
  EXPECT_TRUE(call->Next().has_chunk());
  EXPECT_TRUE(call->Next().has_chunk());
  factory_.Exit(name, 0);
  EXPECT_THAT(call->Rest(), SizeIs(1));
}

}  // namespace
}  // namespace server
