#include "server/core/workspace_checks.h"

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/v1/error_reason.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/api/errors.h"
#include "server/core/disk_reads.h"
#include "tests/fakes/fake_timer_queue.h"

namespace server {
namespace {

using ::testing::HasSubstr;

constexpr char kBox[] = "tenants/default/sandboxes/box";

// Checks of paths below /hung do not return before the end of the test.
class WorkspaceChecksTest : public ::testing::Test {
 protected:
  ~WorkspaceChecksTest() override {
    mended_.set_value();
    lane_.Stop();
  }

  // Begins a check. The future gets its result.
  std::future<absl::Status> Begin(const std::string& path) {
    auto result = std::make_shared<std::promise<absl::Status>>();
    std::future<absl::Status> future = result->get_future();
    checks_.Run(kBox, path, /*read_only=*/true, [result](absl::Status status) {
      result->set_value(std::move(status));
    });
    return future;
  }
  absl::Status Check(const std::string& path) { return Begin(path).get(); }

  // Expects SANDBOX_NOT_READY with this message, and the usual advice.
  static void ExpectUnavailable(const absl::Status& status,
                                const std::string& why) {
    const absl::Status wanted = SandboxUnavailable(kBox, why, absl::Seconds(5));
    EXPECT_EQ(status.code(), wanted.code());
    EXPECT_EQ(ReasonOf(status), corral::v1::SANDBOX_NOT_READY);
    EXPECT_EQ(status.message(), wanted.message());
    constexpr char kRetryInfo[] = "type.googleapis.com/google.rpc.RetryInfo";
    EXPECT_TRUE(status.GetPayload(kRetryInfo) == wanted.GetPayload(kRetryInfo));
  }

  static constexpr size_t kThreads = 3;

  std::promise<void> mended_;
  const std::shared_future<void> mended_future_ = mended_.get_future().share();
  tests::FakeTimerQueue timers_;
  DiskReads lane_{kThreads};
  WorkspaceChecks checks_{[this](const std::string& path, bool read_only) {
                            if (path.find("/hung") == 0) {
                              mended_future_.wait();
                            }
                            return read_only && path == "/bad"
                                       ? absl::InvalidArgumentError(path)
                                       : absl::OkStatus();
                          },
                          &timers_, &lane_};
};

TEST_F(WorkspaceChecksTest, ReportsTheResultOfTheCheck) {
  EXPECT_TRUE(Check("/good").ok());
  EXPECT_TRUE(absl::IsInvalidArgument(Check("/bad")));
}

TEST_F(WorkspaceChecksTest, ChecksOtherWorkspacesWhileTwoFileSystemsHang) {
  std::vector<std::future<absl::Status>> hung;
  for (int i = 0; i < 3; ++i) {
    hung.push_back(Begin("/hung/one"));
    hung.push_back(Begin("/hung/two"));
  }
  EXPECT_TRUE(Check("/good").ok());
  timers_.Advance(WorkspaceChecks::kPatience);
  for (auto& result : hung) {
    const absl::Status status = result.get();
    EXPECT_THAT(std::string(status.message()), HasSubstr("/hung/"));
    EXPECT_EQ(ReasonOf(status), corral::v1::SANDBOX_NOT_READY);
  }
  EXPECT_TRUE(Check("/good").ok());
}

TEST_F(WorkspaceChecksTest, AnswersAlsoWhenEveryThreadHangs) {
  std::vector<std::future<absl::Status>> hung;
  for (size_t i = 0; i < kThreads; ++i) {
    hung.push_back(Begin(absl::StrCat("/hung/", i)));
  }
  std::future<absl::Status> waiting = Begin("/good");
  timers_.Advance(absl::Seconds(5));
  ExpectUnavailable(waiting.get(),
                    "directory /good: its file system has not answered for 5s");
}

TEST_F(WorkspaceChecksTest, LogsThatACheckHangs) {
  const std::future<absl::Status> hung = Begin("/hung");
  ::testing::internal::CaptureStderr();
  timers_.Advance(absl::Seconds(5));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("the check of directory /hung hangs"));
}

TEST_F(WorkspaceChecksTest, RefusesAtOnceWhenTooManyChecksHang) {
  std::vector<std::future<absl::Status>> hung;
  for (size_t i = 0; i < WorkspaceChecks::kMaxChecks; ++i) {
    hung.push_back(Begin("/hung"));
  }
  ExpectUnavailable(Check("/good"),
                    "directory /good cannot be checked now: 64 checks wait for "
                    "file systems that do not answer");
}

TEST_F(WorkspaceChecksTest, ChecksAsManyAtATimeAsAllowedAndForgetsThoseOver) {
  std::vector<std::future<absl::Status>> hung;
  for (size_t i = 0; i + 1 < WorkspaceChecks::kMaxChecks; ++i) {
    hung.push_back(Begin("/hung"));
  }
  // One place is left, which serves any number of checks one after another.
  for (size_t i = 0; i < WorkspaceChecks::kMaxChecks; ++i) {
    EXPECT_TRUE(Check("/good").ok());
  }
  EXPECT_EQ(timers_.size(), WorkspaceChecks::kMaxChecks - 1);
}

TEST_F(WorkspaceChecksTest, PassesOnWhetherTheWorkspaceIsReadOnly) {
  std::promise<absl::Status> result;
  checks_.Run(kBox, "/bad", /*read_only=*/false,
              [&](absl::Status status) { result.set_value(status); });
  EXPECT_TRUE(result.get_future().get().ok());
}

}  // namespace
}  // namespace server
