#include "bridge/cli/attach/output_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "corral/v1/execution_service.pb.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/child_process.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::tests::IsOk;

corral::v1::OutputEvent GapEvent(uint64_t begin, uint64_t end) {
  corral::v1::OutputEvent event;
  event.mutable_gap()->set_stream(corral::v1::STDOUT);
  event.mutable_gap()->set_begin_offset(begin);
  event.mutable_gap()->set_end_offset(end);
  return event;
}

// Leads standard error of this process into a pipe while it exists.
class ErrorPipe {
 public:
  ErrorPipe() : former_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) {
    ::dup2(pipe_.writer.get(), STDERR_FILENO);
    pipe_.writer.Reset();
    ::fcntl(pipe_.reader.get(), F_SETFL, O_NONBLOCK);
  }
  ~ErrorPipe() { ::dup2(former_.get(), STDERR_FILENO); }

  // Returns what was written since the last call. Does not wait.
  std::string Read() {
    char bytes[4096];
    const ssize_t size = ::read(pipe_.reader.get(), bytes, sizeof bytes);
    return std::string(bytes, size > 0 ? size : 0);
  }

 private:
  tests::Pipe pipe_;
  const sandbox::UniqueFd former_;
};

TEST(OutputWriterTest, ReportsAtTheEndTheGapsThatWereHeldBack) {
  ErrorPipe error;
  OutputWriter writer;
  const absl::Time now = absl::UnixEpoch();
  EXPECT_THAT(writer.Write(GapEvent(0, 4), now), IsOk());
  EXPECT_EQ(error.Read(),
            "corral: bytes 0 to 4 of stdout are no longer kept\n");
  // Too soon for another line.
  EXPECT_THAT(writer.Write(GapEvent(10, 20), now), IsOk());
  EXPECT_THAT(writer.Finish(), IsOk());
  EXPECT_EQ(error.Read(),
            "corral: bytes 10 to 20 of stdout are no longer kept\n");
}

}  // namespace
}  // namespace bridge
