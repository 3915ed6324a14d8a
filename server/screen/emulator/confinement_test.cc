#include "server/screen/emulator/confinement.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <string>

#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"

namespace screen {
namespace {

constexpr int kRefused = 9;

// Runs `call` in a confined process, and returns the status of that, from
// wait(2).
int RunConfined(const std::function<void()>& call) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!Confine()) {
      ::_exit(kRefused);
    }
    call();
    ::_exit(0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

bool IsKilled(const std::function<void()>& call) {
  const int status = RunConfined(call);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

class ConfinementTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "AddressSanitizer needs more memory and other calls";
#endif
  }
};

TEST_F(ConfinementTest, AllowsMemoryAndOpenDescriptors) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const sandbox::UniqueFd reader(ends[0]);
  const sandbox::UniqueFd writer(ends[1]);
  EXPECT_EQ(RunConfined([&] {
              char byte = 'x';
              void* memory = ::mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              if (memory == MAP_FAILED ||
                  ::mprotect(memory, 1 << 20, PROT_READ) != 0 ||
                  ::munmap(memory, 1 << 20) != 0 ||
                  ::write(writer.get(), &byte, 1) != 1 ||
                  ::read(reader.get(), &byte, 1) != 1) {
                ::_exit(1);
              }
            }),
            0);
}

TEST_F(ConfinementTest, KillsAProcessThatWantsMore) {
  EXPECT_TRUE(IsKilled([] { ::open("/dev/null", O_RDONLY | O_CLOEXEC); }));
  EXPECT_TRUE(IsKilled([] { ::syscall(SYS_socket, 1, 1, 0); }));
  EXPECT_TRUE(IsKilled([] { ::syscall(SYS_getpid); }));
  EXPECT_TRUE(IsKilled([] {
    ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
           -1, 0);
  }));
  EXPECT_TRUE(IsKilled(
      [] { ::mprotect(reinterpret_cast<void*>(0x10000), 4096, PROT_EXEC); }));
}

TEST_F(ConfinementTest, BoundsTheMemoryOfTheProcess) {
  EXPECT_EQ(RunConfined([] {
              if (::mmap(nullptr, 200 << 20, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) {
                ::_exit(1);
              }
            }),
            0);
}

TEST_F(ConfinementTest, LeavesNoLimitThatAllowsFilesOrProcesses) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  sandbox::UniqueFd reader(ends[0]);
  sandbox::UniqueFd writer(ends[1]);
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const sandbox::UniqueFd ready_reader(ready[0]);
  const sandbox::UniqueFd ready_writer(ready[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool confined = Confine();
    char byte = confined ? 'y' : 'n';
    // Waits until the parent has looked.
    if (::write(ready_writer.get(), &byte, 1) == 1) {
      [[maybe_unused]] const ssize_t end = ::read(reader.get(), &byte, 1);
    }
    ::_exit(0);
  }
  char confined = 'n';
  EXPECT_EQ(::read(ready_reader.get(), &confined, 1), 1);
  EXPECT_EQ(confined, 'y');
  for (const int resource :
       {RLIMIT_CORE, RLIMIT_FSIZE, RLIMIT_NPROC, RLIMIT_NOFILE}) {
    rlimit limit = {};
    EXPECT_EQ(::prlimit(child, static_cast<__rlimit_resource>(resource),
                        nullptr, &limit),
              0);
    EXPECT_EQ(limit.rlim_cur, 0) << resource;
    EXPECT_EQ(limit.rlim_max, 0) << resource;
  }
  EXPECT_EQ(::write(writer.get(), "x", 1), 1);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST_F(ConfinementTest, LetsTheUserNeitherTraceTheProcessNorGiveItPrivileges) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  sandbox::UniqueFd reader(ends[0]);
  sandbox::UniqueFd writer(ends[1]);
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const sandbox::UniqueFd ready_reader(ready[0]);
  const sandbox::UniqueFd ready_writer(ready[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    // Only root may install a filter and keep the way to more privileges.
    char byte = 'u';
    if (::geteuid() != 0 || ::setresuid(1000, 1000, 1000) == 0) {
      ::prctl(PR_SET_DUMPABLE, 1);
      byte = Confine() ? 'y' : 'n';
    }
    if (::write(ready_writer.get(), &byte, 1) == 1) {
      [[maybe_unused]] const ssize_t end = ::read(reader.get(), &byte, 1);
    }
    ::_exit(0);
  }
  char confined = 'n';
  EXPECT_EQ(::read(ready_reader.get(), &confined, 1), 1);
  // The files of a process that nobody may trace belong to root.
  struct stat status = {};
  EXPECT_EQ(
      ::stat(("/proc/" + std::to_string(child) + "/status").c_str(), &status),
      0);
  EXPECT_EQ(::write(writer.get(), "x", 1), 1);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  if (confined == 'u') {
    GTEST_SKIP() << "there is no user 1000 in this user namespace";
  }
  EXPECT_EQ(confined, 'y');
  EXPECT_EQ(status.st_uid, 0);
}

}  // namespace
}  // namespace screen
