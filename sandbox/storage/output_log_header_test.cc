#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/storage/output_log.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::tests::IsOk;

class OutputLogHeaderTest : public ::testing::Test {
 protected:
  static std::string MakeDirectory() {
    std::string path = ::testing::TempDir() + "/logXXXXXX";
    return ::mkdtemp(path.data());
  }
  OutputLogState State() {
    return *OutputLogReader::Open(path_, wire::STDOUT)->state();
  }

  const std::string directory_ = MakeDirectory();
  const std::string path_ = directory_ + "/e1";
  OutputLogWriter writer_{*ExecutionFile::Create(path_), wire::STDOUT};
};

TEST_F(OutputLogHeaderTest, KeepsTheStartTimeOfItsCommand) {
  EXPECT_EQ(State().start_time_ns, 0);
  writer_.NoteStart(1234);
  EXPECT_EQ(writer_.state().start_time_ns, 1234);
  ASSERT_THAT(writer_.Append("x", 1), IsOk());
  writer_.Close();
  EXPECT_EQ(State().start_time_ns, 1234);
  EXPECT_THAT(ExpireOutputLog(path_, wire::STDOUT), IsOk());
  EXPECT_EQ(State().start_time_ns, 1234);
}

TEST_F(OutputLogHeaderTest, ReportsNoGapBeyondTheEnd) {
  ASSERT_THAT(writer_.Append("0123456789", 10), IsOk());
  // A reader that loaded the end earlier may find these values.
  const uint64_t gap[] = {uint64_t{32} << 20, uint64_t{40} << 20};
  const UniqueFd file(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::pwrite(file.get(), gap, sizeof(gap), 64 + 32),
            static_cast<ssize_t>(sizeof(gap)));
  EXPECT_EQ(State().end, 10u);
  EXPECT_EQ(State().gap_begin, State().gap_end);
}

TEST_F(OutputLogHeaderTest, ReportsTheEndOfStream) {
  EXPECT_FALSE(State().closed);
  writer_.Close();
  EXPECT_TRUE(State().closed);
}

TEST_F(OutputLogHeaderTest, LetsItsWriterMoveAMebibyteAtMost) {
  EXPECT_EQ(writer_.Room(), uint64_t{1} << 20);
}

}  // namespace
}  // namespace sandbox
