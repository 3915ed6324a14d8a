#include "bridge/cli/attach/output_writer.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <future>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "corral/v1/execution_service.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/child_process.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::testing::_;
using ::testing::StartsWith;
using ::tests::IsOk;
using ::tests::StatusIs;

corral::v1::OutputEvent GapEvent(uint64_t begin, uint64_t end) {
  corral::v1::OutputEvent event;
  event.mutable_gap()->set_stream(corral::v1::STDOUT);
  event.mutable_gap()->set_begin_offset(begin);
  event.mutable_gap()->set_end_offset(end);
  return event;
}

corral::v1::OutputEvent ChunkEvent(corral::v1::Stream stream,
                                   const std::string& data) {
  corral::v1::OutputEvent event;
  event.mutable_chunk()->set_stream(stream);
  event.mutable_chunk()->set_data(data);
  return event;
}

// Leads a standard descriptor of this process into a pipe while it exists.
class StandardPipe {
 public:
  explicit StandardPipe(int standard)
      : standard_(standard), former_(::fcntl(standard, F_DUPFD_CLOEXEC, 3)) {
    ::dup2(pipe_.writer.get(), standard_);
    pipe_.writer.Reset();
  }
  ~StandardPipe() { ::dup2(former_.get(), standard_); }

  // Waits for a part of what was written, and returns it.
  std::string Read() {
    char bytes[4096];
    const ssize_t size = ::read(pipe_.reader.get(), bytes, sizeof bytes);
    return std::string(bytes, size > 0 ? size : 0);
  }
  // Returns true if all that was written has been read.
  bool empty() const {
    int size = -1;
    ::ioctl(pipe_.reader.get(), FIONREAD, &size);
    return size == 0;
  }
  void CloseReader() { pipe_.reader.Reset(); }

 private:
  const int standard_;
  tests::Pipe pipe_;
  const sandbox::UniqueFd former_;
};

// More than a pipe holds.
const size_t kMuch = 1 << 20;

TEST(OutputWriterTest, ReportsAtTheEndTheGapsThatWereHeldBack) {
  StandardPipe error(STDERR_FILENO);
  OutputWriter writer;
  const absl::Time now = absl::UnixEpoch();
  EXPECT_THAT(writer.Write(GapEvent(0, 4), now), IsOk());
  EXPECT_EQ(error.Read(),
            "corral: bytes 0 to 4 of stdout are no longer kept\n");
  // Too soon for another line.
  EXPECT_THAT(writer.Write(GapEvent(10, 20), now), IsOk());
  EXPECT_TRUE(error.empty());
  EXPECT_THAT(writer.Finish(), IsOk());
  EXPECT_EQ(error.Read(),
            "corral: bytes 10 to 20 of stdout are no longer kept\n");
}

// googletest writes to standard output: tests expect nothing before the pipe is
// gone.

TEST(OutputWriterTest, WritesEachStreamToItsDescriptor) {
  std::string output_read;
  std::string error_read;
  {
    StandardPipe output(STDOUT_FILENO);
    StandardPipe error(STDERR_FILENO);
    OutputWriter writer;
    writer.Write(ChunkEvent(corral::v1::STDOUT, "out"), {}).IgnoreError();
    writer.Write(ChunkEvent(corral::v1::STDERR, "err"), {}).IgnoreError();
    writer.WriteOutput("more").IgnoreError();
    output_read = output.Read();
    error_read = error.Read();
  }
  EXPECT_EQ(output_read, "outmore");
  EXPECT_EQ(error_read, "err");
}

TEST(OutputWriterTest, WaitsForAReader) {
  absl::Status written;
  size_t read = 0;
  {
    StandardPipe output(STDOUT_FILENO);
    OutputWriter writer;
    auto writing = std::async(std::launch::async, [&writer] {
      return writer.WriteOutput(std::string(kMuch, 'x'));
    });
    while (read < kMuch) {
      read += output.Read().size();
    }
    written = writing.get();
  }
  EXPECT_THAT(written, IsOk());
  EXPECT_EQ(read, kMuch);
}

TEST(OutputWriterTest, ACancellationEndsAWriteThatNobodyReads) {
  absl::Status written;
  {
    StandardPipe output(STDOUT_FILENO);
    OutputWriter writer;
    auto writing = std::async(std::launch::async, [&writer] {
      return writer.WriteOutput(std::string(kMuch, 'x'));
    });
    output.Read();
    writer.Cancel();
    written = writing.get();
  }
  EXPECT_THAT(written, StatusIs(absl::StatusCode::kCancelled, _));
}

TEST(OutputWriterTest, NamesTheDescriptorThatCannotBeWritten) {
  const sandbox::UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  absl::Status output_written;
  absl::Status error_written;
  {
    const StandardPipe output(STDOUT_FILENO);
    const StandardPipe error(STDERR_FILENO);
    ::dup2(full.get(), STDOUT_FILENO);
    ::dup2(full.get(), STDERR_FILENO);
    OutputWriter writer;
    output_written = writer.WriteOutput("x");
    error_written = writer.Write(ChunkEvent(corral::v1::STDERR, "x"), {});
  }
  EXPECT_THAT(output_written,
              StatusIs(absl::StatusCode::kResourceExhausted,
                       StartsWith("standard output: No space left")));
  EXPECT_THAT(error_written,
              StatusIs(absl::StatusCode::kResourceExhausted,
                       StartsWith("standard error: No space left")));
}

TEST(WriteAllTest, WaitsForRoomInAPipeThatDoesNotBlock) {
  const tests::Pipe pipe;
  ::fcntl(pipe.writer.get(), F_SETFL, O_NONBLOCK);
  auto writing = std::async(std::launch::async, [&pipe] {
    return WriteAll(pipe.writer.get(), std::string(kMuch, 'x'));
  });
  std::string bytes(4096, '\0');
  size_t read = 0;
  while (read < kMuch) {
    const ssize_t size = ::read(pipe.reader.get(), bytes.data(), bytes.size());
    ASSERT_GT(size, 0);
    read += size;
  }
  EXPECT_THAT(writing.get(), IsOk());
}

TEST(OutputWriterTest, SaysThatNobodyReadsAnyMore) {
  ::signal(SIGPIPE, SIG_IGN);
  absl::Status written;
  {
    StandardPipe output(STDOUT_FILENO);
    OutputWriter writer;
    output.CloseReader();
    written = writer.WriteOutput("x");
  }
  EXPECT_THAT(written,
              StatusIs(absl::StatusCode::kAborted, "nobody reads the output"));
}

}  // namespace
}  // namespace bridge
