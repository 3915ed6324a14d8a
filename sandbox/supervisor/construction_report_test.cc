#include "sandbox/supervisor/construction_report.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/unique_fd.h"
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
  ASSERT_EQ(::write(sockets_.theirs.get(), "12345678", 8), 8);
  EXPECT_THAT(ReceiveFirstPacket(sockets_.ours.get(), "the spawner"), IsOk());
  Send(absl::NotFoundError("no program"));
  EXPECT_EQ(ReceiveFirstPacket(sockets_.ours.get(), "the spawner").message(),
            "the spawner: no program");
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
