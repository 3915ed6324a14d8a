// Calls of a process that plays a command: it has ids of a sandbox and the
// mounts of this process. Strings are at the same addresses in both.

#include "sandbox/kernel/directory_modes.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/namespaces.h"

namespace sandbox {
namespace {

constexpr uint32_t kFirstId = 0x70000000;
constexpr uid_t kUser = kFirstId + 1000;
constexpr int kDescriptor = 77;

class DirectoryModesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) {
      GTEST_SKIP() << "needs root";
    }
    char directory[] = "/tmp/directory-modes-XXXXXX";
    ASSERT_NE(::mkdtemp(directory), nullptr);
    place_ = directory;
    ASSERT_EQ(::chown(place_.c_str(), kUser, kUser), 0);
    MakeDirectory("inner");
    MakeDirectory("inner/deep");
    const UniqueFd file(::open((place_ + "/file").c_str(), O_CREAT, 0755));
    ASSERT_EQ(::fchown(file.get(), kUser, kUser), 0);
    memory_ = static_cast<char*>(::mmap(nullptr, size_t{2} << 16,
                                        PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  }
  void TearDown() override {
    EndCommand();
    std::filesystem::remove_all(place_);
  }

  void MakeDirectory(const std::string& name, uid_t owner = kUser) {
    const std::string path = absl::StrCat(place_, "/", name);
    ASSERT_EQ(::mkdir(path.c_str(), 0755), 0);
    ASSERT_EQ(::chown(path.c_str(), owner, owner), 0);
  }

  // Starts the process, in the directory `inner`. `name` is open there with
  // kDescriptor.
  void StartCommand(const std::string& name, uid_t user = kUser) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const UniqueFd read(ends[0]);
    UniqueFd write(ends[1]);
    const UniqueFd opened(
        ::open(absl::StrCat(place_, "/", name).c_str(), O_PATH | O_CLOEXEC));
    command_ = ::fork();
    if (command_ == 0) {
      const bool done = ::chdir((place_ + "/inner").c_str()) == 0 &&
                        ::dup2(opened.get(), kDescriptor) == kDescriptor &&
                        ::setresgid(user, user, user) == 0 &&
                        ::setresuid(user, user, user) == 0 &&
                        ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
                        ::write(write.get(), "r", 1) == 1;
      while (done) {
        ::pause();
      }
      ::_exit(1);
    }
    write.Reset();
    char byte;
    ASSERT_EQ(::read(read.get(), &byte, 1), 1);
  }
  void EndCommand() {
    if (command_ > 0) {
      ::kill(command_, SIGKILL);
      ::waitpid(command_, nullptr, 0);
      command_ = 0;
    }
  }

  // The address of a path in the memory of the command.
  uint64_t Path(const std::string& path) {
    std::memcpy(memory_, path.c_str(), path.size() + 1);
    return reinterpret_cast<uint64_t>(memory_);
  }

  // Makes the call for the command, in a thread, which never comes back.
  int Make(int number, uint64_t first, uint64_t second, uint64_t third = 0,
           bool waits = true) {
    int error = -1;
    std::thread thread([&] {
      const UniqueFd process(
          static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
      const absl::StatusOr<DirectoryModes> modes =
          DirectoryModes::Enter(process, first_id_);
      ASSERT_TRUE(modes.ok()) << modes.status();
      error = modes->Make({command_, number, {first, second, third}},
                          [waits] { return waits; });
      const UniqueFd own(::open("/proc/self/mem", O_RDWR | O_CLOEXEC));
      EXPECT_TRUE(own.valid()) << "the thread has its rights again";
    });
    thread.join();
    return error;
  }
  int Chmod(const std::string& path, mode_t mode = 02770) {
    return Make(SYS_chmod, Path(path), mode);
  }

  // The bits of the mode, in octal.
  std::string ModeOf(const std::string& name) const {
    struct stat status = {};
    ::stat(absl::StrCat(place_, "/", name).c_str(), &status);
    char text[8];
    std::snprintf(text, sizeof(text), "%o", status.st_mode & 07777);
    return text;
  }

  std::string place_;
  char* memory_ = nullptr;
  pid_t command_ = 0;
  uint32_t first_id_ = kFirstId;
};

TEST_F(DirectoryModesTest, SetsTheBitOfADirectory) {
  StartCommand("inner");
  EXPECT_EQ(Chmod(place_ + "/inner/deep"), 0);
  EXPECT_EQ(ModeOf("inner/deep"), "2770");
  EXPECT_EQ(Make(SYS_fchmod, kDescriptor, 02755), 0);
  EXPECT_EQ(ModeOf("inner"), "2755");
  EXPECT_EQ(
      Make(SYS_fchmodat, static_cast<uint64_t>(AT_FDCWD), Path("deep"), 02700),
      0);
  EXPECT_EQ(ModeOf("inner/deep"), "2700");
}

TEST_F(DirectoryModesTest, SetsNoBitOfAFile) {
  StartCommand("file");
  for (const int error :
       {Chmod(place_ + "/file"), Chmod("../file"),
        Make(SYS_fchmod, kDescriptor, 02755),
        Make(SYS_fchmodat, kDescriptor, Path(place_ + "/file"), 02755),
        Chmod(absl::StrCat("/proc/self/fd/", kDescriptor))}) {
    EXPECT_EQ(error, EPERM);
  }
  EXPECT_EQ(ModeOf("file"), "755");
}

TEST_F(DirectoryModesTest, SetsNoSetuidBitToo) {
  StartCommand("inner");
  EXPECT_EQ(Chmod(place_ + "/inner", 06755), EPERM);
  EXPECT_EQ(ModeOf("inner"), "755");
}

TEST_F(DirectoryModesTest, FindsPathsAsTheCallerDoes) {
  std::filesystem::create_symlink(place_ + "/inner/deep", place_ + "/link");
  StartCommand("inner");
  EXPECT_EQ(Chmod("deep", 02701), 0);
  EXPECT_EQ(ModeOf("inner/deep"), "2701");
  EXPECT_EQ(Chmod("../link", 02702), 0);
  EXPECT_EQ(ModeOf("inner/deep"), "2702");
  EXPECT_EQ(Make(SYS_fchmodat, kDescriptor, Path("deep/../deep"), 02703), 0);
  EXPECT_EQ(ModeOf("inner/deep"), "2703");
  EXPECT_EQ(Chmod(absl::StrCat("/proc/self/fd/", kDescriptor), 02704), 0);
  EXPECT_EQ(ModeOf("inner"), "2704");
}

TEST_F(DirectoryModesTest, ReportsWhatTheKernelWouldReport) {
  StartCommand("inner");
  EXPECT_EQ(Chmod("none"), ENOENT);
  EXPECT_EQ(Chmod(""), ENOENT);
  EXPECT_EQ(Chmod("../file/x"), ENOTDIR);
  EXPECT_EQ(Make(SYS_fchmod, 78, 02755), EBADF);
  EXPECT_EQ(Make(SYS_fchmodat, 78, Path("deep"), 02755), EBADF);
  EXPECT_EQ(Make(SYS_chmod, 8, 02755), EFAULT);
  EXPECT_EQ(Chmod(std::string(PATH_MAX, 'x')), ENAMETOOLONG);
}

TEST_F(DirectoryModesTest, RefusesWhatTheCallerMayNot) {
  MakeDirectory("others", kUser + 1);
  MakeDirectory("closed", 0);
  MakeDirectory("closed/own");
  ASSERT_EQ(::chmod((place_ + "/closed").c_str(), 0700), 0);
  StartCommand("inner");
  EXPECT_EQ(Chmod(place_ + "/others"), EPERM);
  EXPECT_EQ(Chmod("/usr"), EPERM);
  EXPECT_EQ(Chmod(place_ + "/closed/own"), EACCES);
  EXPECT_EQ(ModeOf("others"), "755");
  EXPECT_EQ(ModeOf("closed/own"), "755");
}

TEST_F(DirectoryModesTest, FollowsNoLinksOfOtherProcesses) {
  StartCommand("inner");
  for (const char* link : {"root", "cwd"}) {
    EXPECT_NE(Chmod(absl::StrCat("/proc/", ::getpid(), "/", link, place_,
                                 "/inner/deep")),
              0);
  }
  EXPECT_EQ(ModeOf("inner/deep"), "755");
}

// The kernel does the same for a caller outside of the directory's group.
TEST_F(DirectoryModesTest, LeavesTheBitOutForAGroupOfOthers) {
  ASSERT_EQ(::chown((place_ + "/inner/deep").c_str(), kUser, kUser + 7), 0);
  StartCommand("inner");
  EXPECT_EQ(Chmod("deep"), 0);
  EXPECT_EQ(ModeOf("inner/deep"), "770");
}

TEST_F(DirectoryModesTest, ServesOnlyCommandsOfItsSandbox) {
  for (const uid_t user : {kFirstId, kFirstId + 65536, kFirstId - 1, 0u}) {
    MakeDirectory(absl::StrCat("of", user), user);
    StartCommand("inner", user);
    EXPECT_EQ(Chmod(absl::StrCat(place_, "/of", user)), EPERM) << user;
    EndCommand();
  }
}

TEST_F(DirectoryModesTest, ServesOnlyTheUserOfThisProcessWithoutARange) {
  first_id_ = kNoRange;
  MakeDirectory("mine", 0);
  StartCommand("inner", 0);
  EXPECT_EQ(Chmod(place_ + "/mine"), 0);
  EXPECT_EQ(ModeOf("mine"), "2770");
  EndCommand();
  StartCommand("inner");
  EXPECT_EQ(Chmod(place_ + "/inner"), EPERM);
}

TEST_F(DirectoryModesTest, DoesNothingForACallerThatDoesNotWait) {
  StartCommand("inner");
  EXPECT_EQ(Make(SYS_chmod, Path("deep"), 02755, 0, /*waits=*/false), ESRCH);
  EXPECT_EQ(ModeOf("inner/deep"), "755");
  EndCommand();
  command_ = -1;
  EXPECT_EQ(Chmod(place_ + "/inner"), ESRCH);
}

}  // namespace
}  // namespace sandbox
