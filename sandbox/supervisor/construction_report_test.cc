#include "sandbox/supervisor/construction_report.h"

#include <fcntl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/fd_passing.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/init/exchange.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::SizeIs;
using tests::IsOk;
using tests::StatusIs;

class ConstructionReportTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::vector<UniqueFd>> Receive() {
    sockets_.theirs.Reset();
    return ReceiveReport(sockets_.ours.get(), "init");
  }
  void Send(const absl::Status& status) {
    SendReport(sockets_.theirs.get(), status, {});
  }

  ReportSockets sockets_ = *MakeReportSockets();
};

TEST_F(ConstructionReportTest, BringsDescriptorsWithASuccess) {
  SendReport(sockets_.theirs.get(), absl::OkStatus(), {0, 1});
  const absl::StatusOr<std::vector<UniqueFd>> fds = Receive();
  ASSERT_THAT(fds.status(), IsOk());
  ASSERT_THAT(*fds, SizeIs(2));
  EXPECT_NE(::fcntl((*fds)[1].get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(ConstructionReportTest, KeepsTheKindAndTheTextOfAFailure) {
  Send(MakeFailure(wire::Reply::WORKSPACE, "no such directory"));
  const absl::Status failed = Receive().status();
  EXPECT_EQ(FailureOf(failed), wire::Reply::WORKSPACE);
  EXPECT_EQ(failed.message(), "no such directory");
}

TEST_F(ConstructionReportTest, NamesWhoseFaultItWas) {
  Send(absl::NotFoundError("no file"));
  const absl::Status failed = Receive().status();
  EXPECT_EQ(FailureOf(failed), wire::Reply::FAULT);
  EXPECT_EQ(failed.message(), "init: no file");
}

TEST_F(ConstructionReportTest, CutsATextThatIsTooLong) {
  Send(MakeFailure(wire::Reply::WORKSPACE, std::string(10'000, 'x')));
  EXPECT_EQ(Receive().status().message(), std::string(4599, 'x'));
}

TEST_F(ConstructionReportTest, IsMissedWhenTheChildWasKilled) {
  EXPECT_THAT(Receive().status(), StatusIs(absl::StatusCode::kAborted,
                                           "init was killed during set-up"));
  EXPECT_THAT(ReceiveFirstPacket(sockets_.ours.get(), "the spawner"),
              StatusIs(absl::StatusCode::kAborted,
                       "the spawner was killed during set-up"));
}

TEST_F(ConstructionReportTest, IsReplacedByTheFirstPacketOfAProgram) {
  const SpawnAnswer ready = {SpawnStage::kNone, 0};
  ASSERT_EQ(::write(sockets_.theirs.get(), &ready, sizeof(ready)),
            static_cast<ssize_t>(sizeof(ready)));
  EXPECT_THAT(ReceiveFirstPacket(sockets_.ours.get(), "the spawner"), IsOk());
  Send(absl::NotFoundError("no program"));
  EXPECT_EQ(ReceiveFirstPacket(sockets_.ours.get(), "the spawner").message(),
            "the spawner: no program");
}

TEST_F(ConstructionReportTest, EndsAChildThatCannotSendIt) {
  EXPECT_EXIT(SendReport(-1, absl::OkStatus(), {}),
              ::testing::ExitedWithCode(1), "");
}

// The size of a report: its kind and its text.
constexpr size_t kReport = 4604;

TEST_F(ConstructionReportTest, IsNothingButAReport) {
  const std::string other = "1234567";
  for (const std::string& bytes : {other, std::string(kReport - 1, '\0'),
                                   std::string(kReport + 1, '\0')}) {
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(::write(sockets_.theirs.get(), bytes.data(), bytes.size()),
                static_cast<ssize_t>(bytes.size()));
    }
    EXPECT_THAT(
        ReceiveReport(sockets_.ours.get(), "init").status(),
        StatusIs(absl::StatusCode::kInternal, "init sent an unexpected packet"))
        << bytes.size();
    EXPECT_THAT(ReceiveFirstPacket(sockets_.ours.get(), "the spawner"),
                StatusIs(absl::StatusCode::kInternal,
                         "the spawner sent an unexpected packet"))
        << bytes.size();
  }
}

TEST_F(ConstructionReportTest, IsNoFirstPacketIfItHoldsAnErrorOrADescriptor) {
  const SpawnAnswer failed = {SpawnStage::kPrepare, EINVAL};
  ASSERT_THAT(SendWithFds(sockets_.theirs.get(), &failed, sizeof(failed), {}),
              IsOk());
  const SpawnAnswer ready = {SpawnStage::kNone, 0};
  ASSERT_THAT(SendWithFds(sockets_.theirs.get(), &ready, sizeof(ready), {0}),
              IsOk());
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(ReceiveFirstPacket(sockets_.ours.get(), "the spawner"),
                StatusIs(absl::StatusCode::kInternal,
                         "the spawner sent an unexpected packet"));
  }
}

TEST_F(ConstructionReportTest, HasATextThatEndsWithIt) {
  std::string bytes(kReport, 'x');
  const int32_t kind = wire::Reply::WORKSPACE;
  std::memcpy(bytes.data(), &kind, sizeof(kind));
  ASSERT_EQ(::write(sockets_.theirs.get(), bytes.data(), bytes.size()),
            static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(Receive().status().message(), std::string(4599, 'x'));
}

TEST_F(ConstructionReportTest, HasAKindThatIsKnown) {
  std::string bytes(kReport, '\0');
  const int32_t kind = 1000;
  std::memcpy(bytes.data(), &kind, sizeof(kind));
  ASSERT_EQ(::write(sockets_.theirs.get(), bytes.data(), bytes.size()),
            static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(FailureOf(Receive().status()), wire::Reply::FAULT);
}

TEST_F(ConstructionReportTest, EndsTheChild) {
  const pid_t child = ::fork();
  if (child == 0) {
    ReportAndExit(sockets_.theirs.get(), absl::NotFoundError("no file"));
  }
  EXPECT_EQ(Receive().status().message(), "init: no file");
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 1 << 8);
}

}  // namespace
}  // namespace sandbox
