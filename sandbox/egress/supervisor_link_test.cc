// The end of a link. Its updates are in proxy_test.

#include "sandbox/egress/supervisor_link.h"

#include <sys/socket.h>

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/unique_fd.h"

namespace egress {
namespace {

class SupervisorLinkTest : public ::testing::Test {
 protected:
  SupervisorLinkTest() : loop_(*sandbox::EventLoop::Create()) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    supervisor_.Reset(ends[0]);
    socket_.Reset(ends[1]);
    link_ = std::make_unique<SupervisorLink>(
        loop_.get(), socket_.get(), nullptr,
        [this](const absl::Status& why) { ends_.push_back(why.code()); });
  }

  // Runs the loop for two turns, in which all ready descriptors are reported.
  void Turn() {
    for (int i = 0; i < 2; ++i) {
      loop_->After(absl::ZeroDuration(), [this] { loop_->Stop(); });
      loop_->Run();
    }
  }

  std::unique_ptr<sandbox::EventLoop> loop_;
  sandbox::UniqueFd supervisor_;
  sandbox::UniqueFd socket_;
  std::vector<absl::StatusCode> ends_;
  std::unique_ptr<SupervisorLink> link_;
};

using Ends = std::vector<absl::StatusCode>;

TEST_F(SupervisorLinkTest, EndsOnceWhenTheSupervisorCloses) {
  supervisor_.Reset();
  Turn();
  EXPECT_EQ(ends_, Ends{absl::StatusCode::kCancelled});
}

TEST_F(SupervisorLinkTest, EndsOnceWhenSomethingElseThanAnUpdateComes) {
  ASSERT_EQ(::send(supervisor_.get(), "x", 1, 0), 1);
  ASSERT_EQ(::send(supervisor_.get(), "x", 1, 0), 1);
  Turn();
  EXPECT_EQ(ends_, Ends{absl::StatusCode::kInvalidArgument});
}

TEST_F(SupervisorLinkTest, WaitsForAnUpdate) {
  Turn();
  EXPECT_EQ(ends_, Ends());
}

TEST_F(SupervisorLinkTest, ForgetsItsSocketAtItsEnd) {
  link_.reset();
  EXPECT_DEATH(loop_->SetEvents(socket_.get(), 0), "is not watched");
}

}  // namespace
}  // namespace egress
