// A way out that cannot be opened in a sandbox that was made.

#include "sandbox/supervisor/way_out_sockets.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/supervisor/construction.h"
#include "sandbox/supervisor/construction_fixture.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::tests::StatusIs;

// Opens the sockets where a system call fails, also inside.
absl::Status OpenWithout(const Construction& construction, int call) {
  absl::Status opened;
  EXPECT_TRUE(tests::WithFailingCalls({call}, EMFILE, [&] {
    opened = OpenWayOutSockets(construction, {}).status();
  }));
  return opened;
}

TEST(WayOutSocketsTest, AreMissingForAReason) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  const absl::Status made = Make([](Construction& construction, const Cgroup&) {
    EXPECT_THAT(OpenWithout(construction, SYS_socketpair),
                StatusIs(absl::StatusCode::kResourceExhausted,
                         StartsWith("socketpair: ")));
    EXPECT_THAT(
        OpenWithout(construction, SYS_clone3),
        StatusIs(absl::StatusCode::kResourceExhausted, StartsWith("clone3: ")));
    EXPECT_THAT(OpenWithout(construction, SYS_socket),
                StatusIs(absl::StatusCode::kInternal,
                         StartsWith("way out: add a local route: ")));
    // The process inside ends without a word.
    EXPECT_THAT(OpenWithout(construction, SYS_sendmsg),
                StatusIs(absl::StatusCode::kAborted, HasSubstr("was killed")));
  });
  EXPECT_TRUE(made.ok()) << made;
}

}  // namespace
}  // namespace sandbox
