// A state directory on a file system that is full for some time.

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/faults/fault_test.h"

namespace tests {
namespace {

using ::corral::v1::Execution;
using ::corral::v1::ExitStatus;
using ::corral::v1::OutputPolicy;
using ::corral::v1::StartExecutionRequest;

// Why there is no mount namespace for this test. Empty: there is one.
std::string no_namespace;

class FullDiskTest : public FaultTest {
 protected:
  void SetUp() override {
    if (!no_namespace.empty()) {
      GTEST_SKIP() << no_namespace;
    }
    char path[] = "/tmp/corral-disk-XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    disk_ = path;
    if (::mount("corral-test", path, "tmpfs", 0, "size=8m,mode=0700") != 0) {
      GTEST_SKIP() << "no tmpfs: " << std::strerror(errno);
    }
    ASSERT_EQ(::symlink(path, server_.state_directory().c_str()), 0);
    FaultTest::SetUp();
  }

  void TearDown() override {
    FaultTest::TearDown();
    ::umount2(disk_.c_str(), MNT_DETACH);
    ::rmdir(disk_.c_str());
  }

  void Fill() {
    const sandbox::UniqueFd file(::open(
        filler().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    const std::vector<char> page(4096);
    while (::write(file.get(), page.data(), page.size()) > 0) {
    }
    EXPECT_EQ(errno, ENOSPC);
  }
  void Free() { ::unlink(filler().c_str()); }
  std::string filler() const { return disk_ + "/filler"; }

  // Looks at the execution's state after a time in which it cannot progress.
  Execution Look(const std::string& execution) {
    corral::v1::WaitExecutionRequest request;
    request.set_name(execution);
    request.mutable_timeout()->set_nanos(200000000);
    Execution state;
    const grpc::Status status =
        calls_->Call(&Calls::ExecutionStub::WaitExecution, request, &state);
    EXPECT_TRUE(status.ok()) << ToString(status);
    return state;
  }

  // Starts a command while there is room. It writes when its input ends.
  std::string StartPatient(const StartExecutionRequest& request) {
    Execution execution;
    const grpc::Status status = Start(request, &execution);
    EXPECT_TRUE(status.ok()) << ToString(status);
    return execution.name();
  }

  void EndInput(const std::string& execution) {
    corral::v1::WriteInputRequest request;
    request.set_name(execution);
    request.set_eof(true);
    corral::v1::InputState state;
    const grpc::Status status =
        calls_->Call(&Calls::ExecutionStub::WriteInput, request, &state);
    EXPECT_TRUE(status.ok()) << ToString(status);
  }

  // The usual command, delayed until its input ends.
  StartExecutionRequest PatientRequest(const std::string& sandbox,
                                       OutputPolicy::Overflow overflow) {
    StartExecutionRequest request = Request(sandbox, "patient");
    corral::v1::Command& command = *request.mutable_command();
    const corral::v1::Command payload = command;
    command.clear_argv();
    for (const char* word : {"/bin/sh", "-c", "cat; exec \"$@\"", "sh"}) {
      command.add_argv(word);
    }
    command.MergeFrom(payload);
    command.set_stdin(true);
    command.mutable_output()->set_overflow(overflow);
    return request;
  }

  void ExpectWholeRun(const std::string& execution) {
    const std::optional<Execution> ended = Wait(execution);
    ASSERT_TRUE(ended.has_value());
    EXPECT_EQ(ended->exit().code(), 7) << ended->ShortDebugString();
    CompareOutput(*ended, corral::v1::STDOUT);
    CompareOutput(*ended, corral::v1::STDERR);
  }

  std::string disk_;
};

class FullDiskPolicyTest
    : public FullDiskTest,
      public ::testing::WithParamInterface<OutputPolicy::Overflow> {};

TEST_P(FullDiskPolicyTest, HoldsTheCommandUntilThereIsRoom) {
  const std::string sandbox = CreateSandbox("writing");
  const StartExecutionRequest request = PatientRequest(sandbox, GetParam());
  const std::string execution = StartPatient(request);
  Fill();
  EndInput(execution);
  EXPECT_EQ(Look(execution).state(), Execution::RUNNING);
  RestartServer();
  EXPECT_EQ(Look(execution).state(), Execution::RUNNING);
  Free();
  ExpectWholeRun(execution);
  RestartServer();
  ExpectWholeRun(execution);
  ExpectDeleted(sandbox);
}

INSTANTIATE_TEST_SUITE_P(, FullDiskPolicyTest,
                         ::testing::Values(OutputPolicy::DROP_OLDEST,
                                           OutputPolicy::BLOCK,
                                           OutputPolicy::HEAD_AND_TAIL),
                         [](const auto& info) {
                           return OutputPolicy::Overflow_Name(info.param);
                         });

TEST_F(FullDiskTest, KillPolicyKillsTheCommand) {
  const std::string sandbox = CreateSandbox("writing");
  const StartExecutionRequest request =
      PatientRequest(sandbox, OutputPolicy::KILL);
  const std::string execution = StartPatient(request);
  Fill();
  EndInput(execution);
  const std::optional<Execution> ended = Wait(execution);
  Free();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->state(), Execution::EXITED);
  EXPECT_EQ(ended->exit().cause(), ExitStatus::OUTPUT_FAILED)
      << ended->ShortDebugString();
  ExpectDeleted(sandbox);
}

TEST_F(FullDiskTest, RefusesStartsAndEndsCommandsWithoutOutput) {
  StartExecutionRequest request = Request(other_sandbox_, "quiet");
  request.mutable_command()->clear_argv();
  request.mutable_command()->add_argv("cat");
  request.mutable_command()->set_stdin(true);
  const std::string quiet = StartPatient(request);
  Fill();
  EndInput(quiet);
  const std::optional<Execution> ended = Wait(quiet);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->state(), Execution::EXITED);
  EXPECT_EQ(ended->exit().code(), 0);
  // A start may still use what was prepared while there was room.
  grpc::Status status;
  for (int i = 0; i < 3 && status.ok(); ++i) {
    Execution execution;
    status =
        Start(Request(other_sandbox_, absl::StrCat("full-", i)), &execution);
  }
  EXPECT_EQ(ReasonOf(status), "STORAGE_FAILED") << ToString(status);
  Free();
  ExpectOthersAreServed();
}

}  // namespace
}  // namespace tests

int main(int argc, char** argv) {
  // Before threads exist: they would stay in the old namespace.
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    tests::no_namespace =
        std::string("no mount namespace of its own: ") + std::strerror(errno);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
