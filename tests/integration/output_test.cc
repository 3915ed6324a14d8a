// Output of commands from the real server: live, complete, and by offset.

#include <sys/stat.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/integration_test.h"
#include "tests/text_file.h"

namespace tests {
namespace {

using ::corral::v1::Execution;
using ::corral::v1::OutputPolicy;
using ::corral::v1::STDERR;
using ::corral::v1::STDOUT;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ExecutionStub = Client::ExecutionStub;

// The checksum of the bytes added, as sha256sum prints it.
class Checksum {
 public:
  explicit Checksum(const std::string& result_file)
      : file_(result_file),
        pipe_(::popen(absl::StrCat("sha256sum > ", file_).c_str(), "we")) {}

  void Add(const std::string& bytes) {
    EXPECT_EQ(::fwrite(bytes.data(), 1, bytes.size(), pipe_), bytes.size());
  }
  std::string Result() {
    EXPECT_EQ(::pclose(pipe_), 0);
    return ReadFile(file_);
  }

 private:
  const std::string file_;
  FILE* const pipe_;
};

// Returns a script that writes `mebibytes` of random bytes, and their checksum
// to standard error.
std::string NoiseScript(int mebibytes) {
  return absl::StrCat("mkfifo /tmp/copy; sha256sum < /tmp/copy >&2 & head -c ",
                      mebibytes, "M /dev/urandom | tee /tmp/copy; wait");
}

class OutputTest : public IntegrationTest {
 protected:
  // Reads a stream to its end without keeping it and returns its checksum.
  std::string ReadChecksum(
      OutputCall& call, const std::string& name,
      const std::function<void(uint64_t)>& received = [](uint64_t) {}) {
    Checksum checksum(absl::StrCat(server_.directory(), "/", name));
    uint64_t offset = 0;
    while (call.Next()) {
      std::string& bytes = call.bytes[STDOUT];
      if (!bytes.empty()) {
        checksum.Add(bytes);
        offset += bytes.size();
        bytes.clear();
        received(offset);
      }
    }
    EXPECT_TRUE(call.reader->Finish().ok());
    EXPECT_THAT(call.gaps, IsEmpty());
    return checksum.Result();
  }

  std::unique_ptr<OutputCall> StreamFrom(const std::string& execution,
                                         uint64_t offset) {
    corral::v1::StreamOutputRequest request;
    request.set_name(execution);
    auto* cursor = request.add_cursors();
    cursor->set_stream(STDOUT);
    cursor->set_offset(offset);
    return client_->Stream(request);
  }

  std::string LogFile(const std::string& execution) const {
    const std::vector<std::string> parts = absl::StrSplit(execution, '/');
    return absl::StrCat(server_.state_directory(), "/sandboxes/", parts.at(3),
                        "/executions/", parts.at(5), ".out");
  }

  void Acknowledge(const std::string& execution, uint64_t offset) {
    corral::v1::AcknowledgeOutputRequest request;
    request.set_name(execution);
    auto* cursor = request.add_cursors();
    cursor->set_stream(STDOUT);
    cursor->set_offset(offset);
    google::protobuf::Empty response;
    EXPECT_TRUE(
        client_->Call(&ExecutionStub::AcknowledgeOutput, request, &response)
            .ok());
  }
};

TEST_F(OutputTest, ReachesTheClientWhileTheCommandRuns) {
  corral::v1::RunExecutionRequest request;
  request.set_parent(CreateSandbox());
  *request.mutable_command() =
      Shell("echo one; read x; echo got $x; echo two >&2; exit 3");
  auto call = client_->BeginRun(request);
  call->ReadUntil(STDOUT, "one\n");
  EXPECT_EQ(call->opened.state(), Execution::RUNNING);
  client_->WriteInput(call->opened.name(), 0, "it\n");
  EXPECT_TRUE(call->Finish().ok());
  EXPECT_EQ(call->bytes[STDOUT], "one\ngot it\n");
  EXPECT_EQ(call->bytes[STDERR], "two\n");
  EXPECT_EQ(call->ended.exit().code(), 3);
  EXPECT_EQ(call->ended.exit().cause(), corral::v1::ExitStatus::NORMAL);
}

TEST_F(OutputTest, ReachesThreeReadersByteForByteThoughOneStopsReading) {
  corral::v1::Command command = Shell("read x; " + NoiseScript(256));
  command.mutable_output()->set_retain_bytes(512 << 20);
  const std::string name = client_->Start(CreateSandbox(), command).name();
  auto stopped = StreamFrom(name, 0);
  ASSERT_TRUE(stopped->Next());
  auto first = StreamFrom(name, 0);
  auto second = StreamFrom(name, 0);
  client_->WriteInput(name, 0, "go\n");
  std::string other;
  std::thread reader([&] { other = ReadChecksum(*second, "second"); });
  const std::string received = ReadChecksum(*first, "first");
  reader.join();
  EXPECT_EQ(first->ended.exit().code(), 0);
  corral::v1::ReadOutputRequest request;
  request.set_name(name);
  request.set_stream(STDERR);
  corral::v1::ReadOutputResponse checksum;
  EXPECT_TRUE(
      client_->Call(&ExecutionStub::ReadOutput, request, &checksum).ok());
  const std::string& expected = checksum.data();
  EXPECT_THAT(expected, SizeIs(64 + 4));
  EXPECT_EQ(received, expected);
  EXPECT_EQ(other, expected);
  EXPECT_EQ(ReadChecksum(*stopped, "stopped"), expected);
}

TEST_F(OutputTest, BlockingPolicyLosesNothingAndBoundsTheDisk) {
  corral::v1::RunExecutionRequest request;
  request.set_parent(CreateSandbox());
  *request.mutable_command() = Shell(NoiseScript(64));
  auto* policy = request.mutable_command()->mutable_output();
  policy->set_retain_bytes(1 << 20);
  policy->set_overflow(OutputPolicy::BLOCK);
  auto call = client_->BeginRun(request);
  ASSERT_TRUE(call->Next());
  const std::string name = call->opened.name();
  blkcnt_t most = 0;
  uint64_t acknowledged = 0;
  const std::string received =
      ReadChecksum(*call, "received", [&](uint64_t offset) {
        if (offset - acknowledged >= 256 << 10) {
          struct stat info = {};
          ASSERT_EQ(::stat(LogFile(name).c_str(), &info), 0);
          most = std::max(most, info.st_blocks);
          acknowledged = offset;
          Acknowledge(name, offset);
        }
      });
  EXPECT_EQ(received, call->bytes[STDERR]);
  EXPECT_LE(most * 512, 2 << 20);
}

TEST_F(OutputTest, SendsAGapToAnOvertakenReader) {
  corral::v1::Command command = Shell("head -c 10M /dev/zero; echo end");
  command.mutable_output()->set_retain_bytes(64 << 10);
  const std::string name = client_->Start(CreateSandbox(), command).name();
  client_->Wait(name);
  auto call = StreamFrom(name, 0);
  EXPECT_TRUE(call->Finish().ok());
  ASSERT_THAT(call->gaps, SizeIs(1));
  const uint64_t end = (10 << 20) + 4;
  EXPECT_EQ(call->gaps[0].begin_offset(), 0);
  EXPECT_EQ(call->gaps[0].end_offset() + call->bytes[STDOUT].size(), end);
  EXPECT_GE(call->bytes[STDOUT].size(), 64 << 10);
  EXPECT_LE(call->bytes[STDOUT].size(), 1 << 20);
  EXPECT_EQ(call->bytes[STDOUT].substr(call->bytes[STDOUT].size() - 5),
            std::string("\0end\n", 5));
}

TEST_F(OutputTest, CanBeReadByWindows) {
  const std::string name =
      client_->Start(CreateSandbox(), Shell("printf 0123456789; read x"))
          .name();
  StreamFrom(name, 0)->ReadUntil(STDOUT, "0123456789");
  corral::v1::ReadOutputRequest request;
  request.set_name(name);
  request.set_stream(STDOUT);
  corral::v1::ReadOutputResponse window;
  EXPECT_TRUE(client_->Call(&ExecutionStub::ReadOutput, request, &window).ok());
  EXPECT_EQ(window.data(), "0123456789");
  EXPECT_EQ(window.execution().state(), Execution::RUNNING);

  request.set_max_bytes(4);
  request.set_tail(true);
  EXPECT_TRUE(client_->Call(&ExecutionStub::ReadOutput, request, &window).ok());
  EXPECT_EQ(window.offset(), 6);
  EXPECT_EQ(window.data(), "6789");
  EXPECT_EQ(window.state().end_offset(), 10);
  EXPECT_FALSE(window.state().closed());

  request.set_offset(3);
  EXPECT_TRUE(client_->Call(&ExecutionStub::ReadOutput, request, &window).ok());
  EXPECT_EQ(window.data(), "3456");

  request.set_offset(10);
  EXPECT_TRUE(client_->Call(&ExecutionStub::ReadOutput, request, &window).ok());
  EXPECT_EQ(window.data(), "");

  request.set_offset(11);
  const grpc::Status beyond =
      client_->Call(&ExecutionStub::ReadOutput, request, &window);
  EXPECT_EQ(beyond.error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(Reason(beyond), "OFFSET_OUT_OF_RANGE");
}

TEST_F(OutputTest, CanBeReadFromAnyOffset) {
  const std::string name =
      client_->Start(CreateSandbox(), Shell("seq 200000")).name();
  auto whole = StreamFrom(name, 0);
  EXPECT_TRUE(whole->Finish().ok());
  const std::string& bytes = whole->bytes[STDOUT];
  std::vector<std::unique_ptr<OutputCall>> calls;
  const std::vector<uint64_t> offsets = {
      0, 1, 65535, 65536, 65537, 1'000'000, bytes.size() - 1, bytes.size()};
  calls.reserve(offsets.size());
  for (const uint64_t offset : offsets) {
    calls.push_back(StreamFrom(name, offset));
  }
  for (size_t i = 0; i < offsets.size(); ++i) {
    EXPECT_TRUE(calls[i]->Finish().ok());
    EXPECT_TRUE(calls[i]->bytes[STDOUT] == bytes.substr(offsets[i]))
        << "from " << offsets[i];
    EXPECT_EQ(calls[i]->ended.exit().code(), 0);
  }
  EXPECT_EQ(Reason(StreamFrom(name, bytes.size() + 1)->Finish()),
            "OFFSET_OUT_OF_RANGE");
}

TEST_F(OutputTest, TerminalOutputFollowsItsSize) {
  corral::v1::Command command =
      Shell("stty -echo; stty size; read x; stty size");
  command.mutable_terminal()->set_rows(24);
  command.mutable_terminal()->set_columns(80);
  const std::string name = client_->Start(CreateSandbox(), command).name();
  auto call = client_->Stream(name);
  call->ReadUntil(corral::v1::TERMINAL, "24 80\r\n");
  corral::v1::ResizeTerminalRequest resize;
  resize.set_name(name);
  resize.mutable_size()->set_rows(40);
  resize.mutable_size()->set_columns(100);
  google::protobuf::Empty empty;
  EXPECT_TRUE(
      client_->Call(&ExecutionStub::ResizeTerminal, resize, &empty).ok());
  client_->WriteInput(name, 0, "\n");
  EXPECT_TRUE(call->Finish().ok());
  EXPECT_EQ(call->bytes[corral::v1::TERMINAL], "24 80\r\n40 100\r\n");
}

TEST_F(OutputTest, FiftyCommandsAtOnceKeepTheirOwnOutput) {
  const std::string sandbox = CreateSandbox();
  std::vector<std::thread> threads;
  threads.reserve(50);
  for (int i = 0; i < 50; ++i) {
    threads.emplace_back([this, &sandbox, i] {
      auto call = client_->Run(
          sandbox,
          MakeCommand({"sh", "-c", "echo $0; exit $0", absl::StrCat(i)}));
      EXPECT_EQ(call->bytes[STDOUT], absl::StrCat(i, "\n"));
      EXPECT_EQ(call->ended.exit().code(), i);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace
}  // namespace tests
