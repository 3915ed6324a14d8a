#include "sandbox/base/program_image.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "sandbox/base/small_file.h"
#include "tests/failing_calls.h"

namespace sandbox {
namespace {

class ProgramImageTest : public ::testing::Test {
 protected:
  ProgramImageTest() {
    const absl::StatusOr<std::string> program =
        ReadSmallFile("sandbox/base/reporting_program");
    EXPECT_TRUE(program.ok()) << program.status();
    image_ = *MakeProgramImage("reporting", *program);
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ours_.Reset(ends[0]);
    theirs_.Reset(ends[1]);
  }

  // Everything that the program sends before it ends.
  std::string Report() {
    theirs_.Reset();
    std::string report(256, '\0');
    const ssize_t size = ::read(ours_.get(), report.data(), report.size());
    report.resize(size < 0 ? 0 : static_cast<size_t>(size));
    return report;
  }
  static void ExpectSuccess(pid_t pid) {
    int status = -1;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }

  UniqueFd image_;
  UniqueFd ours_;
  UniqueFd theirs_;
};

TEST_F(ProgramImageTest, StartsAProgramWithItsSocketAndNothingElse) {
  const UniqueFd inherited(::open("/dev/null", O_RDONLY));
  ASSERT_EQ(::setenv("PROGRAM_IMAGE_TEST", "1", 1), 0);
  sigset_t term;
  ::sigemptyset(&term);
  ::sigaddset(&term, SIGTERM);
  ASSERT_EQ(::sigprocmask(SIG_BLOCK, &term, nullptr), 0);
  const UniqueFd errors(::fcntl(2, F_DUPFD_CLOEXEC, 20));
  ASSERT_EQ(::dup2(theirs_.get(), 2), 2);
  const absl::StatusOr<pid_t> pid = StartProgram(
      "corral-test", image_, theirs_.get(), ErrorOutput::kInherited, "once");
  ASSERT_EQ(::dup2(errors.get(), 2), 2);
  ASSERT_EQ(::sigprocmask(SIG_UNBLOCK, &term, nullptr), 0);
  ASSERT_TRUE(pid.ok()) << pid.status();
  EXPECT_EQ(Report(), "corral-test once 0 1 2 3 4 null kept empty open");
  ExpectSuccess(*pid);
}

TEST_F(ProgramImageTest, StartsAProgramWhoseSocketHasTheNumberItGets) {
  const UniqueFd saved(::fcntl(kProgramSocket, F_DUPFD_CLOEXEC, 20));
  ASSERT_EQ(::dup3(theirs_.get(), kProgramSocket, O_CLOEXEC), kProgramSocket);
  const absl::StatusOr<pid_t> pid = StartProgram(
      "corral-test", image_, kProgramSocket, ErrorOutput::kDiscarded);
  ::close(kProgramSocket);
  if (saved.valid()) {
    ::dup3(saved.get(), kProgramSocket, O_CLOEXEC);
  }
  ASSERT_TRUE(pid.ok()) << pid.status();
  EXPECT_EQ(Report(), "corral-test 0 1 2 3 4 null discarded empty open");
  ExpectSuccess(*pid);
}

TEST_F(ProgramImageTest, ReportsThatAProgramCannotBeStarted) {
  const UniqueFd text = *MakeProgramImage("text", "not a program");
  const absl::StatusOr<pid_t> pid =
      StartProgram("corral-test", text, theirs_.get(), ErrorOutput::kInherited);
  EXPECT_EQ(pid.status().message(), "start corral-test: Exec format error");
}

TEST_F(ProgramImageTest, StartsNoProgramWithoutItsImageOrItsSocket) {
  const auto message = [](const UniqueFd& image, int socket) {
    return std::string(
        StartProgram("corral-test", image, socket, ErrorOutput::kInherited)
            .status()
            .message());
  };
  constexpr char kMissing[] = "descriptors of corral-test: Bad file descriptor";
  EXPECT_EQ(message(image_, -1), kMissing);
  EXPECT_EQ(message(UniqueFd(), theirs_.get()), kMissing);
}

TEST_F(ProgramImageTest, ReportsThatThereIsNoRoomForAnImage) {
  const auto fail = [](int call, int error) {
    absl::Status made;
    EXPECT_TRUE(tests::WithFailingCalls({call}, error, [&] {
      made = MakeProgramImage("image", "content").status();
    }));
    return std::string(made.message());
  };
  EXPECT_EQ(fail(SYS_memfd_create, EMFILE),
            "memfd of image: Too many open files");
  EXPECT_EQ(fail(SYS_write, ENOSPC), "memfd of image: No space left on device");
  EXPECT_EQ(fail(SYS_openat, EMFILE),
            "reopen the memfd of image: Too many open files");
}

TEST_F(ProgramImageTest, LeavesItsImageToNoOtherProgram) {
  EXPECT_EQ(::fcntl(image_.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(::fcntl(image_.get(), F_GETFL) & O_ACCMODE, O_RDONLY);
}

}  // namespace
}  // namespace sandbox
