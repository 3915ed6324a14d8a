// Init as a plain process, on a kernel that refuses what it needs.

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/init/exchange.h"
#include "sandbox/init/init_image.h"
#include "tests/failing_calls.h"

namespace sandbox {
namespace {

// Returns the exit status of an init for which prctl(2) fails.
int StatusWithout(int error) {
  const absl::string_view program = InitImage();
  const UniqueFd image(::memfd_create("init", MFD_CLOEXEC));
  EXPECT_EQ(::write(image.get(), program.data(), program.size()),
            static_cast<ssize_t>(program.size()));
  const pid_t child = ::fork();
  if (child == 0) {
    char name[] = "corral-init";
    char* const arguments[] = {name, nullptr};
    char* const environment[] = {nullptr};
    if (tests::FailCalls({SYS_prctl}, error)) {
      ::fexecve(image.get(), arguments, environment);
    }
    ::_exit(99);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ReaperTest, ShowsByItsStatusThatTheHostHasNoMemoryForItsFilter) {
  // The errno of such a host.
  EXPECT_EQ(StatusWithout(524), kInitLacksFilterMemory);
}

TEST(ReaperTest, EndsWhenItCannotGiveUpItsSystemCalls) {
  EXPECT_EQ(StatusWithout(EINVAL), 1);
}

}  // namespace
}  // namespace sandbox
