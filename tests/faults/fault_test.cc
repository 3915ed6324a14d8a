#include "tests/faults/fault_test.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/chaos/pattern.h"
#include "tests/text_file.h"

namespace tests {
namespace {

using ::corral::v1::Execution;
using ::corral::v1::StartExecutionRequest;

namespace fs = std::filesystem;

constexpr uint64_t kOutputSeed = 11;
constexpr uint64_t kOutputSize = 150000;
constexpr uint64_t kErrorSeed = 12;
constexpr uint64_t kErrorSize = 20000;
constexpr int kCode = 7;
// A command takes milliseconds.
constexpr absl::Duration kPatience = absl::Seconds(20);
// Longer than the work takes that a fault may prevent.
constexpr absl::Duration kFaultPatience = absl::Milliseconds(300);

bool HasFileIn(pid_t pid, const std::string& directory) {
  std::error_code error;
  for (const auto& file :
       fs::directory_iterator(absl::StrCat("/proc/", pid, "/fd"), error)) {
    std::error_code gone;
    if (absl::StartsWith(fs::read_symlink(file.path(), gone).string(),
                         directory)) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool strike_every_call = false;

void FaultTest::SetUp() {
  if (!Tracer::IsPermitted()) {
    GTEST_SKIP() << "this host does not permit ptrace";
  }
  std::error_code error;
  fs::copy("tests/chaos/payload", server_.workspace() + "/payload", error);
  ASSERT_FALSE(error) << error.message();
  ASSERT_NO_FATAL_FAILURE(server_.Start());
  calls_ = std::make_unique<Calls>(server_.Connect());
  other_sandbox_ = CreateSandbox("other");
}

void FaultTest::TearDown() {
  if (calls_ == nullptr) {
    return;
  }
  ExpectDeleted(other_sandbox_);
  calls_.reset();
  server_.End();
  if (HasFailure()) {
    std::cout << server_.log();
  }
}

void FaultTest::Enumerate(Fault fault,
                          const std::function<bool(const Fault&)>& strike) {
  bool struck = true;
  while (struck && !HasFatalFailure()) {
    SCOPED_TRACE(fault.ToString());
    struck = strike(fault);
    ExpectOthersAreServed();
    fault.when += strike_every_call ? 1 : 1 + fault.when / 3;
  }
}

grpc::Status FaultTest::UntilServed(const std::function<grpc::Status()>& call) {
  const absl::Time deadline = absl::Now() + kPatience;
  for (;;) {
    grpc::Status status = call();
    const std::string reason = ReasonOf(status);
    const bool fault = reason == "SERVER_FAULT" || reason == "STORAGE_FAILED" ||
                       (reason == "SANDBOX_NOT_READY" &&
                        status.error_code() == grpc::StatusCode::UNAVAILABLE);
    if (!fault || absl::Now() > deadline) {
      return status;
    }
    absl::SleepFor(absl::Milliseconds(5));
  }
}

grpc::Status FaultTest::TryToCreateSandbox(Calls& calls,
                                           const std::string& id) {
  corral::v1::CreateSandboxRequest request;
  request.set_parent(kTenant);
  request.set_sandbox_id(id);
  request.set_request_id(id);
  request.mutable_sandbox()->mutable_workspace()->set_path(server_.workspace());
  corral::v1::Sandbox sandbox;
  return calls.Call(&Calls::SandboxStub::CreateSandbox, request, &sandbox);
}

std::string FaultTest::CreateSandbox(const std::string& id) {
  const grpc::Status status =
      UntilServed([&] { return TryToCreateSandbox(*calls_, id); });
  EXPECT_TRUE(status.ok()) << ToString(status);
  return absl::StrCat(kTenant, "/sandboxes/", id);
}

void FaultTest::AwaitWorkBehindCreation() const {
  const auto directories = [this] {
    const fs::directory_iterator all(server_.state_directory() + "/sandboxes");
    return std::count_if(begin(all), end(all), [](const auto& entry) {
      return absl::StartsWith(entry.path().filename().string(), ".blank-");
    });
  };
  const auto before = directories();
  const absl::Time deadline = absl::Now() + kFaultPatience;
  while (directories() <= before && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(1));
  }
}

grpc::Status FaultTest::DeleteSandbox(const std::string& name) {
  corral::v1::DeleteSandboxRequest request;
  request.set_name(name);
  google::protobuf::Empty response;
  return calls_->Call(&Calls::SandboxStub::DeleteSandbox, request, &response);
}

pid_t FaultTest::SupervisorOf(const std::string& sandbox) const {
  // A supervisor keeps files for the next execution open. It makes them soon
  // after they are used.
  const std::string directory =
      absl::StrCat(server_.state_directory(), "/sandboxes/",
                   fs::path(sandbox).filename().string(), "/");
  const absl::Time deadline = absl::Now() + kPatience;
  do {
    for (const pid_t pid : server_.Supervisors()) {
      if (HasFileIn(pid, directory)) {
        return pid;
      }
    }
    absl::SleepFor(absl::Milliseconds(1));
  } while (absl::Now() < deadline);
  ADD_FAILURE() << "no supervisor has a file in " << directory;
  return 0;
}

StartExecutionRequest FaultTest::Request(const std::string& sandbox,
                                         const std::string& id) {
  StartExecutionRequest request;
  request.set_parent(sandbox);
  request.set_execution_id(id);
  request.set_request_id("request-" + id);
  const std::string ledger = absl::StrCat(
      server_.workspace(), "/", fs::path(sandbox).filename().string(), "-", id);
  for (const std::string& argument :
       {server_.workspace() + "/payload", ledger, std::string("write"),
        absl::StrCat(kOutputSeed), absl::StrCat(kOutputSize),
        absl::StrCat(kErrorSeed), absl::StrCat(kErrorSize),
        std::string("30000"), std::string("1000"), absl::StrCat(kCode)}) {
    request.mutable_command()->add_argv(argument);
  }
  return request;
}

int FaultTest::CountStarts(const StartExecutionRequest& request) const {
  const std::string ledger = ReadFile(request.command().argv(1));
  return static_cast<int>(std::count(ledger.begin(), ledger.end(), '\n'));
}

grpc::Status FaultTest::Start(const StartExecutionRequest& request,
                              Execution* execution) {
  return calls_->Call(&Calls::ExecutionStub::StartExecution, request,
                      execution);
}

std::optional<Execution> FaultTest::Wait(const std::string& execution) {
  corral::v1::WaitExecutionRequest request;
  request.set_name(execution);
  request.mutable_timeout()->set_seconds(absl::ToInt64Seconds(kPatience));
  Execution ended;
  const grpc::Status status = UntilServed([&] {
    return calls_->Call(&Calls::ExecutionStub::WaitExecution, request, &ended);
  });
  EXPECT_TRUE(status.ok()) << ToString(status);
  return status.ok() ? std::make_optional(ended) : std::nullopt;
}

std::optional<std::string> FaultTest::Read(const std::string& execution,
                                           corral::v1::Stream stream) {
  std::string data;
  corral::v1::ReadOutputRequest request;
  request.set_name(execution);
  request.set_stream(stream);
  corral::v1::ReadOutputResponse response;
  do {
    request.set_offset(data.size());
    const grpc::Status status = UntilServed([&] {
      return calls_->Call(&Calls::ExecutionStub::ReadOutput, request,
                          &response);
    });
    if (!status.ok()) {
      ADD_FAILURE() << ToString(status);
      return std::nullopt;
    }
    EXPECT_EQ(response.offset(), data.size());
    data += response.data();
  } while (!response.data().empty());
  return data;
}

void FaultTest::CompareOutput(const Execution& ended,
                              corral::v1::Stream stream) {
  const bool is_error = stream == corral::v1::STDERR;
  const std::optional<std::string> data = Read(ended.name(), stream);
  if (!data.has_value()) {
    return;
  }
  EXPECT_EQ(FindDifference(is_error ? kErrorSeed : kOutputSeed, 0, *data),
            data->size());
  if (ended.state() == Execution::EXITED) {
    EXPECT_EQ(data->size(), is_error ? kErrorSize : kOutputSize)
        << ended.ShortDebugString();
  }
}

void FaultTest::Compare(const StartExecutionRequest& request,
                        const Execution& ended) {
  SCOPED_TRACE(ended.ShortDebugString());
  const int starts = CountStarts(request);
  switch (ended.state()) {
    case Execution::EXITED:
      EXPECT_EQ(starts, 1);
      EXPECT_TRUE(ended.exit().has_code());
      EXPECT_EQ(ended.exit().code(), kCode);
      EXPECT_EQ(ended.exit().cause(), corral::v1::ExitStatus::NORMAL);
      break;
    case Execution::FAILED_TO_START:
      EXPECT_EQ(starts, 0);
      return;
    case Execution::LOST:
      EXPECT_LE(starts, 1);
      break;
    default:
      ADD_FAILURE() << "it has not ended";
      return;
  }
  CompareOutput(ended, corral::v1::STDOUT);
  CompareOutput(ended, corral::v1::STDERR);
}

void FaultTest::RunAndCompare(const StartExecutionRequest& request) {
  last_.reset();
  Execution execution;
  // The repeated call reports what became of the first one.
  const grpc::Status status = UntilServed([&] {
    grpc::Status start = Start(request, &execution);
    if (!start.ok() && ReasonOf(start) == "STORAGE_FAILED") {
      EXPECT_EQ(CountStarts(request), 0) << ToString(start);
    }
    return start;
  });
  EXPECT_TRUE(status.ok() || ReasonOf(status) == "SANDBOX_NOT_READY")
      << ToString(status);
  if (!status.ok()) {
    EXPECT_EQ(CountStarts(request), 0);
    return;
  }
  last_ = Wait(execution.name());
  if (last_.has_value()) {
    Compare(request, *last_);
  }
}

void FaultTest::CompareAgain(const StartExecutionRequest& request) {
  if (!last_.has_value() || HasFatalFailure()) {
    return;
  }
  SCOPED_TRACE("after a restart");
  const std::optional<Execution> again = Wait(last_->name());
  if (!again.has_value()) {
    return;
  }
  EXPECT_EQ(again->state(), last_->state()) << again->ShortDebugString();
  EXPECT_EQ(again->exit().SerializeAsString(),
            last_->exit().SerializeAsString())
      << again->ShortDebugString() << "; before " << last_->ShortDebugString();
  Compare(request, *again);
}

void FaultTest::RestartServer() {
  if (server_.IsRunning()) {
    server_.Kill();
  } else {
    server_.Wait();
  }
  server_.Start();
}

void FaultTest::ExpectOthersAreServed() {
  if (!server_.IsRunning()) {
    server_.Wait();
    server_.Start();
  }
  SCOPED_TRACE("in the other sandbox");
  const StartExecutionRequest request =
      Request(other_sandbox_, absl::StrCat("run-", ++runs_));
  Execution execution;
  const grpc::Status status = Start(request, &execution);
  ASSERT_TRUE(status.ok()) << ToString(status);
  const std::optional<Execution> ended = Wait(execution.name());
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->state(), Execution::EXITED);
  Compare(request, *ended);
}

void FaultTest::ExpectDeleted(const std::string& sandbox) {
  const grpc::Status status = DeleteSandbox(sandbox);
  EXPECT_TRUE(status.ok() || status.error_code() == grpc::StatusCode::NOT_FOUND)
      << ToString(status);
  EXPECT_FALSE(fs::exists(absl::StrCat(server_.state_directory(), "/sandboxes/",
                                       fs::path(sandbox).filename().string())));
}

}  // namespace tests
