// The real kernel gives space back, in files of a file system in memory.

#include "sandbox/storage/log_pieces.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/execution_layout.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::tests::IsOk;

// Its window and the first block of the rest end within a page.
constexpr LogPlace kPlace = kErrorPlace;
constexpr size_t kPage = 4096;

class LogPiecesTest : public ::testing::Test {
 protected:
  LogPiecesTest() {
    for (const UniqueFd* file : {&first_, &rest_}) {
      const std::string bytes(4 * kPage, 'x');
      EXPECT_EQ(::pwrite(file->get(), bytes.data(), bytes.size(), 0),
                static_cast<ssize_t>(bytes.size()));
    }
  }

  // The number of pages that a file takes.
  static size_t Pages(const UniqueFd& file) {
    struct stat status = {};
    EXPECT_EQ(::fstat(file.get(), &status), 0);
    EXPECT_EQ(status.st_size, off_t{4 * kPage});
    return static_cast<size_t>(status.st_blocks) * 512 / kPage;
  }
  // "BEGIN-END" of the bytes that are gone; "" if none is.
  static std::string Gone(const UniqueFd& file) {
    std::string bytes(4 * kPage, '\0');
    EXPECT_EQ(::pread(file.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
    const size_t begin = bytes.find('\0');
    if (begin == std::string::npos) {
      return "";
    }
    const size_t end = bytes.find_last_of('\0') + 1;
    EXPECT_EQ(bytes.substr(begin, end - begin), std::string(end - begin, '\0'));
    return std::to_string(begin) + "-" + std::to_string(end);
  }

  const UniqueFd first_{::memfd_create("first", MFD_CLOEXEC)};
  const UniqueFd rest_{::memfd_create("rest", MFD_CLOEXEC)};
  const LogFiles files_ = {first_.get(), rest_.get()};
};

TEST_F(LogPiecesTest, DropsBytesOfTheWindow) {
  ASSERT_THAT(PunchLog(files_, kPlace, 10, 20), IsOk());
  EXPECT_EQ(Gone(first_), "3082-3092");
  EXPECT_EQ(Gone(rest_), "");
  ASSERT_THAT(PunchLog(files_, kPlace, 0, 1024), IsOk());
  EXPECT_EQ(Gone(first_), "3072-4096");
  EXPECT_EQ(Gone(rest_), "");
}

TEST_F(LogPiecesTest, DropsBytesOfTheWindowAndOfTheRest) {
  ASSERT_THAT(PunchLog(files_, kPlace, 1000, 2000), IsOk());
  EXPECT_EQ(Gone(first_), "4072-4096");
  EXPECT_EQ(Gone(rest_), "0-2000");
}

TEST_F(LogPiecesTest, DropsBytesOfTheRest) {
  ASSERT_THAT(PunchLog(files_, kPlace, 1025, 2000), IsOk());
  EXPECT_EQ(Gone(first_), "");
  EXPECT_EQ(Gone(rest_), "1025-2000");
}

TEST_F(LogPiecesTest, FreesTheFirstBlockOfTheRest) {
  ASSERT_THAT(PunchLog(files_, kPlace, 1024, kPage), IsOk());
  EXPECT_EQ(Gone(first_), "");
  EXPECT_EQ(Gone(rest_), "0-4096");
  EXPECT_EQ(Pages(rest_), 3U);
}

TEST_F(LogPiecesTest, DropsBytesOfTheWindowOfALogWithoutARest) {
  ASSERT_THAT(PunchLog({first_.get(), -1}, kPlace, 1000, 2000), IsOk());
  EXPECT_EQ(Gone(first_), "4072-4096");
}

TEST_F(LogPiecesTest, DropsBytesOfALogInOneFile) {
  ASSERT_THAT(PunchLog({first_.get(), first_.get()}, kDirectoryPlace, 0, kPage),
              IsOk());
  EXPECT_EQ(Gone(first_), "4096-8192");
  EXPECT_EQ(Pages(first_), 3U);
}

TEST_F(LogPiecesTest, DropsBytesOfAFileWithTheLowestDescriptor) {
  const UniqueFd input(::fcntl(0, F_DUPFD_CLOEXEC, 0));
  ASSERT_EQ(::dup2(rest_.get(), 0), 0);
  const absl::Status punched = PunchLog({first_.get(), 0}, kPlace, 1025, 2000);
  ::dup2(input.get(), 0);
  EXPECT_THAT(punched, IsOk());
  EXPECT_EQ(Gone(rest_), "1025-2000");
}

TEST_F(LogPiecesTest, ReportsWhatAFileRefuses) {
  EXPECT_FALSE(PunchLog({-1, rest_.get()}, kPlace, 0, 2000).ok());
  EXPECT_EQ(Gone(rest_), "");
  const UniqueFd none(::open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_FALSE(PunchLog({first_.get(), none.get()}, kPlace, 0, 2000).ok());
  EXPECT_EQ(Gone(first_), "3072-4096");
}

}  // namespace
}  // namespace sandbox
