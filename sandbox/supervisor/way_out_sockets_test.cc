// A way out that cannot be opened in a sandbox that was made.

#include "sandbox/supervisor/way_out_sockets.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/inner_sockets.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/supervisor/construction.h"
#include "sandbox/supervisor/construction_fixture.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::tests::IsOk;
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

TEST(WayOutSocketsTest, AreNotOpenedInANetworkThatIsGone) {
  EXPECT_THAT(OpenFurtherListeners(UniqueFd(), {80}, false).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       StartsWith("enter the network namespace: ")));
  // Nothing is to be opened there.
  const absl::StatusOr<::egress::InnerSockets> none =
      OpenFurtherListeners(UniqueFd(), {}, false);
  ASSERT_THAT(none.status(), IsOk());
  EXPECT_THAT(none->sockets, IsEmpty());
}

}  // namespace
}  // namespace sandbox
