#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/storage/output_log.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

constexpr off_t kWindow = 4096;

class OutputLogRepairTest : public ::testing::Test {
 protected:
  ~OutputLogRepairTest() override { std::filesystem::remove_all(directory_); }

  static std::string MakeDirectory() {
    std::string path = ::testing::TempDir() + "/logXXXXXX";
    return ::mkdtemp(path.data());
  }
  absl::Status Expire() { return ExpireOutputLog(path_, wire::STDOUT); }
  absl::Status Cut() { return CutOutputLog(path_, wire::STDOUT); }
  OutputLogState State() {
    return *OutputLogReader::Open(path_, wire::STDOUT)->state();
  }

  const std::string directory_ = MakeDirectory();
  const std::string path_ = directory_ + "/e1";
  OutputLogWriter writer_{*ExecutionFile::Create(path_), wire::STDOUT};
};

TEST_F(OutputLogRepairTest, ExpiresALogWithoutBytes) {
  EXPECT_THAT(Expire(), IsOk());
  EXPECT_TRUE(State().expired);
  EXPECT_EQ(State().end, 0u);
}

TEST_F(OutputLogRepairTest, ClosesALogWithoutBytesOrWithExpiredOnes) {
  ASSERT_THAT(Cut(), IsOk());
  EXPECT_TRUE(State().closed);
  EXPECT_EQ(State().end, 0u);
  ASSERT_THAT(writer_.Append("text", 4), IsOk());
  ASSERT_THAT(Expire(), IsOk());
  ASSERT_THAT(Cut(), IsOk());
  EXPECT_TRUE(State().expired);
  EXPECT_EQ(State().end, 4u);
}

TEST_F(OutputLogRepairTest, CutsAllBytesIfOnlyLaterOnesReachedTheDisk) {
  const std::string text(2 * 4096, 'x');
  ASSERT_THAT(writer_.Append(text.data(), text.size()), IsOk());
  const std::string rest_path = path_ + ".out";
  const UniqueFd first(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
  const UniqueFd rest(::open(rest_path.c_str(), O_RDWR | O_CLOEXEC));
  // Bytes that were written but not published.
  ASSERT_EQ(::pwrite(rest.get(), "late", 4, 3 * 4096), 4);
  for (const UniqueFd* file : {&first, &rest}) {
    ASSERT_EQ(
        ::fallocate(file->get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    kWindow, 4096),
        0);
  }
  EXPECT_THAT(Cut(), IsOk());
  EXPECT_EQ(State().begin, 0u);
  EXPECT_EQ(State().end, 0u);
}

TEST_F(OutputLogRepairTest, HasNoGapIfTheDiskHasItsBytesAndNoOutputAfterIt) {
  writer_.SetRetention(8192, Overflow::kHeadAndTail);
  const std::string text(200'000, 'x');
  ASSERT_THAT(writer_.Append(text.data(), text.size()), IsOk());
  const OutputLogState before = writer_.state();
  ASSERT_EQ(before.gap_begin, 4096u);
  ASSERT_EQ(before.gap_end % 4096, 0u);
  const UniqueFd rest(::open((path_ + ".out").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::pwrite(rest.get(), text.data(), before.gap_end, 0),
            static_cast<ssize_t>(before.gap_end));
  ASSERT_EQ(::fallocate(rest.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                        static_cast<off_t>(before.gap_end), 1 << 20),
            0);
  ASSERT_THAT(Cut(), IsOk());
  EXPECT_EQ(State().gap_end, 0u);
  EXPECT_EQ(State().end, 4096u);
}

TEST_F(OutputLogRepairTest, ChangesNothingWhenTheOtherFileCannotBeOpened) {
  ASSERT_THAT(writer_.Append("text", 4), IsOk());
  std::filesystem::create_directory(path_ + ".out");
  const auto refused =
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("e1.out"));
  EXPECT_THAT(Cut(), refused);
  EXPECT_THAT(Expire(), refused);
  EXPECT_FALSE(State().closed);
  EXPECT_FALSE(State().expired);
}

TEST_F(OutputLogRepairTest, ReportsBytesThatTheDiskDoesNotGiveBack) {
  ASSERT_THAT(writer_.Append("text", 4), IsOk());
  absl::Status expired;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_fallocate}, EOPNOTSUPP,
                                      [&] { expired = Expire(); }));
  EXPECT_THAT(expired, StatusIs(absl::StatusCode::kUnimplemented,
                                HasSubstr("punch a hole")));
  EXPECT_TRUE(State().expired) << "readers do not get them";
  EXPECT_EQ(State().begin, 4u);
}

TEST_F(OutputLogRepairTest, CutsNothingThatCannotBeRead) {
  ASSERT_THAT(writer_.Append("text", 4), IsOk());
  absl::Status cut;
  ASSERT_TRUE(
      tests::WithFailingCalls({SYS_pread64}, EIO, [&] { cut = Cut(); }));
  EXPECT_THAT(cut, StatusIs(absl::StatusCode::kUnknown, HasSubstr("read(")));
  EXPECT_FALSE(State().closed);
  EXPECT_EQ(State().end, 4u);
}

TEST_F(OutputLogRepairTest, ChangesNothingWhenTheDiskFails) {
  ASSERT_THAT(writer_.Append("text", 4), IsOk());
  absl::Status cut;
  absl::Status expired;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_lseek, SYS_pwrite64}, EIO, [&] {
    cut = Cut();
    expired = Expire();
  }));
  EXPECT_THAT(cut, StatusIs(absl::StatusCode::kUnknown, HasSubstr("lseek")));
  EXPECT_THAT(expired,
              StatusIs(absl::StatusCode::kUnknown, HasSubstr("log header")));
  EXPECT_FALSE(State().closed);
  EXPECT_FALSE(State().expired);
  EXPECT_EQ(State().end, 4u);
}

TEST_F(OutputLogRepairTest, CutsALogOfADirectoryAfterWhatWasDropped) {
  // A supervisor before this format wrote it so.
  const std::string directory = directory_ + "/earlier";
  std::filesystem::create_directory(directory);
  std::string header(4096, '\0');
  header.replace(0, 8, std::string("corral\0\1", 8));
  header[9] = 0x20;   // begin: 8192
  header[17] = 0x30;  // end: 12288
  const std::string text(4095, 'x');
  const UniqueFd file(::open((directory + "/stdout").c_str(),
                             O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::pwrite(file.get(), header.data(), header.size(), 0), 4096);
  ASSERT_EQ(::pwrite(file.get(), text.data(), text.size(), 4096 + 8192), 4095);
  ASSERT_THAT(CutOutputLog(directory, wire::STDOUT), IsOk());
  const OutputLogState state =
      *OutputLogReader::Open(directory, wire::STDOUT)->state();
  EXPECT_EQ(state.begin, 8192u);
  EXPECT_EQ(state.end, 8192u + 4095);
  EXPECT_EQ(state.gap_end, 0u);
  EXPECT_TRUE(state.closed);
}

}  // namespace
}  // namespace sandbox
