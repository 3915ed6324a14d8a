#include "sandbox/egress/credentials.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/egress/v1/egress.pb.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/unique_fd.h"
#include "tests/fakes/fake_timers.h"

namespace egress {
namespace {

namespace wire = ::corral::egress::v1;

class CredentialsTest : public ::testing::Test {
 protected:
  CredentialsTest() : loop_(*sandbox::EventLoop::Create()) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    supervisor_.Reset(ends[0]);
    socket_ = ends[1];
    credentials_ = std::make_unique<Credentials>(loop_.get(), &timers_,
                                                 sandbox::UniqueFd(ends[1]));
  }

  // Keeps the answer, after "name: ".
  void Get(const std::string& service, const std::string& name) {
    credentials_->Get(
        service, [this, name](const absl::StatusOr<std::string>& value) {
          answers_.push_back(absl::StrCat(
              name, ": ", value.ok() ? *value : value.status().message()));
        });
  }
  // The next request, "service" or "service refused"; "none" if there is none.
  std::string Asked() {
    char bytes[1024];
    const ssize_t got =
        ::recv(supervisor_.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
    wire::CredentialRequest request;
    if (got < 0 || !request.ParseFromArray(bytes, static_cast<int>(got))) {
      return "none";
    }
    return absl::StrCat(request.service(), request.refused() ? " refused" : "");
  }
  void Answer(const std::string& service, const std::string& value,
              const std::string& failure = "") {
    wire::Credential credential;
    credential.set_service(service);
    credential.set_value(value);
    credential.set_failure(failure);
    const std::string bytes = credential.SerializeAsString();
    ::send(supervisor_.get(), bytes.data(), bytes.size(), 0);
    Settle();
  }
  void Settle() {
    loop_->WhenIdle([this] { loop_->Stop(); });
    loop_->Run();
  }

  std::unique_ptr<sandbox::EventLoop> loop_;
  tests::FakeTimers timers_;
  sandbox::UniqueFd supervisor_;
  // Owned by credentials_.
  int socket_ = -1;
  std::unique_ptr<Credentials> credentials_;
  std::vector<std::string> answers_;
};

using Texts = std::vector<std::string>;

TEST_F(CredentialsTest, AsksOnceForAllThatWait) {
  Get("a", "1");
  Get("b", "2");
  Get("a", "3");
  EXPECT_EQ(Asked(), "a");
  EXPECT_EQ(Asked(), "b");
  EXPECT_EQ(Asked(), "none");
  Answer("a", "secret");
  EXPECT_EQ(answers_, (Texts{"1: secret", "3: secret"}));
  Answer("b", std::string(16 << 10, 'x'));
  EXPECT_EQ(answers_.back(), "2: " + std::string(16 << 10, 'x'));
}

TEST_F(CredentialsTest, AsksForEachRequestAnew) {
  Get("a", "1");
  Answer("a", "one");
  Get("a", "2");
  Answer("a", "two");
  EXPECT_EQ(answers_, (Texts{"1: one", "2: two"}));
}

TEST_F(CredentialsTest, SaysOnceThatAValueWasRefused) {
  credentials_->Refuse("a");
  Get("b", "1");
  Get("a", "2");
  EXPECT_EQ(Asked(), "b");
  EXPECT_EQ(Asked(), "a refused");
  Answer("a", "two");
  Get("a", "3");
  EXPECT_EQ(Asked(), "a");
}

TEST_F(CredentialsTest, PassesOnWhyThereIsNone) {
  Get("a", "1");
  Answer("a", "", "no file");
  EXPECT_EQ(answers_, Texts{"1: no file"});
}

TEST_F(CredentialsTest, IgnoresWhatNobodyAskedFor) {
  Answer("a", "secret");
  ASSERT_EQ(::send(supervisor_.get(), "\xff\xff", 2, 0), 2);
  Settle();
  Get("a", "1");
  Answer("a", "one");
  EXPECT_EQ(answers_, Texts{"1: one"});
}

TEST_F(CredentialsTest, WaitsForAnAnswerForALimitedTime) {
  Get("a", "1");
  timers_.Advance(absl::Seconds(1));
  Get("a", "2");
  timers_.Advance(Credentials::kPatience - absl::Milliseconds(1001));
  EXPECT_EQ(answers_, Texts());
  timers_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(answers_, (Texts{"1: its credential could not be asked for",
                             "2: its credential could not be asked for"}));
  // A late answer is nobody's, and the next request asks again.
  Answer("a", "late");
  EXPECT_EQ(answers_.size(), 2U);
  Get("a", "3");
  Answer("a", "three");
  EXPECT_EQ(answers_.back(), "3: three");
  EXPECT_EQ(timers_.size(), 0U);
}

TEST_F(CredentialsTest, ForgetsItsSocketBeforeTheSocketIsClosed) {
  supervisor_.Reset();
  Settle();
  EXPECT_LT(::fcntl(socket_, F_GETFD), 0);
  EXPECT_DEATH(loop_->SetEvents(socket_, 0), "is not watched");
}

TEST_F(CredentialsTest, ForgetsItsSocketAtItsEnd) {
  credentials_.reset();
  EXPECT_DEATH(loop_->SetEvents(socket_, 0), "is not watched");
}

TEST_F(CredentialsTest, FailsAtOnceWhenNobodyListens) {
  supervisor_.Reset();
  Settle();
  Get("a", "1");
  Get("a", "2");
  EXPECT_EQ(answers_, (Texts{"1: its credential could not be asked for",
                             "2: its credential could not be asked for"}));
  Credentials none(loop_.get(), &timers_, sandbox::UniqueFd());
  bool failed = false;
  none.Get("a", [&](const absl::StatusOr<std::string>& value) {
    failed = value.status().code() == absl::StatusCode::kUnavailable;
  });
  EXPECT_TRUE(failed);
}

}  // namespace
}  // namespace egress
