#include "tests/chaos/chaos.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/chaos/reader.h"

namespace tests {
namespace {

using ::corral::v1::Execution;
using ::corral::v1::StartExecutionRequest;

constexpr char kTenant[] = "tenants/default";
// The limit for all kept executions together.
constexpr uint64_t kKeptBytes = 512 << 20;
// More executions than a test can start.
constexpr uint32_t kMaxEnded = 100'000;

// Calls `work` repeatedly for the given time, on the given number of threads.
void Repeat(absl::Duration time, int at_once,
            const std::function<void()>& work) {
  const absl::Time end = absl::Now() + time;
  std::vector<std::thread> threads;
  threads.reserve(at_once);
  for (int i = 0; i < at_once; ++i) {
    threads.emplace_back([end, &work] {
      while (absl::Now() < end) {
        work();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

// Returns true if a reader that acknowledges nothing gets all output.
bool IsKeptWhole(const Workload& workload) {
  return workload.command.output().overflow() !=
             corral::v1::OutputPolicy::BLOCK &&
         !workload.Overflows(corral::v1::STDOUT);
}

// The number of host processes that run the payload.
int CountPayloads(const std::string& payload) {
  int count = 0;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc", error)) {
    std::error_code gone;
    const auto program =
        std::filesystem::read_symlink(entry.path() / "exe", gone);
    count += absl::StartsWith(program.string(), payload) ? 1 : 0;
  }
  return count;
}

}  // namespace

Chaos::Chaos(uint64_t seed, uint64_t largest)
    : largest_(largest), random_(seed) {
  std::error_code error;
  std::filesystem::copy("tests/chaos/payload", server_.workspace() + "/payload",
                        error);
  EXPECT_FALSE(error) << error.message();
  server_.Start();
  calls_ = std::make_unique<Calls>(server_.Connect());
}

uint64_t Chaos::NextSeed() {
  const sandbox::MutexLock lock(&mutex_);
  return random_();
}

void Chaos::CreateSandboxes(int count) {
  for (int i = 0; i < count; ++i) {
    corral::v1::CreateSandboxRequest request;
    request.set_parent(kTenant);
    request.set_request_id(absl::StrCat("sandbox-", i));
    request.mutable_sandbox()->mutable_workspace()->set_path(
        server_.workspace());
    // The end of a test looks for all of them.
    request.mutable_sandbox()->mutable_retention()->set_max_ended_executions(
        kMaxEnded);
    corral::v1::Sandbox sandbox;
    const grpc::Status status =
        calls_->Call(&Calls::SandboxStub::CreateSandbox, request, &sandbox);
    if (!status.ok()) {
      return tally_.Refusal("creating a sandbox: " + ToString(status));
    }
    sandboxes_.push_back(sandbox.name());
  }
}

StartExecutionRequest Chaos::MakeRequest(const Workload& workload,
                                         std::mt19937_64& random) {
  StartExecutionRequest request;
  request.set_parent(sandboxes_[random() % sandboxes_.size()]);
  request.set_request_id(absl::StrCat("request-", random()));
  *request.mutable_command() = workload.command;
  return request;
}

std::optional<std::string> Chaos::Start(const StartExecutionRequest& request) {
  Execution execution;
  const grpc::Status status =
      calls_->Call(&Calls::ExecutionStub::StartExecution, request, &execution);
  if (!status.ok()) {
    tally_.Refusal("starting: " + ToString(status));
    return std::nullopt;
  }
  ++tally_.executions;
  return execution.name();
}

void Chaos::RunCommands(absl::Duration time, int at_once) {
  Repeat(time, at_once, [this] { RunCommand(NextSeed()); });
}

void Chaos::StartTinyCommands(absl::Duration time, int at_once) {
  Repeat(time, at_once, [this] { StartTinyCommand(NextSeed()); });
}

void Chaos::ChurnSandboxes(absl::Duration time) {
  Repeat(time, 1, [this] { ChurnSandbox(NextSeed()); });
}

void Chaos::RunCommand(uint64_t seed) {
  std::mt19937_64 random(seed);
  Kept kept;
  kept.workload =
      MakeWorkload(server_.workspace(), absl::StrCat(seed), largest_, random);
  kept.request = MakeRequest(kept.workload, random);
  const std::optional<std::string> name = Start(kept.request);
  if (!name.has_value()) {
    return;
  }
  kept.execution = *name;
  Observe(kept.workload, *name, seed);
  Wait(kept.workload, *name);
  // Repeats the request after the end.
  if (Start(kept.request) != name) {
    tally_.Difference("another execution for the same request: " + *name);
  }
  Keep(kept);
}

void Chaos::Observe(const Workload& workload, const std::string& execution,
                    uint64_t seed) {
  std::atomic<bool> ended = false;
  std::vector<std::thread> others;
  if (workload.command.stdin()) {
    others.emplace_back([&] { WriteInput(workload, execution); });
  }
  for (uint64_t i = 0; i < seed % 3; ++i) {
    others.emplace_back(
        [&, i] { ReadNowAndThen(workload, execution, seed + i, ended); });
  }
  if (seed % 4 == 0 && IsKeptWhole(workload)) {
    others.emplace_back(
        [&] { FollowWithCommandLine(workload, execution, seed); });
  }
  Reader reader(*calls_, tally_, workload, execution);
  reader.Acknowledge();
  if (reader.Read()) {
    CheckEnd(reader.ended(), workload, tally_);
  }
  ended = true;
  for (std::thread& thread : others) {
    thread.join();
  }
}

void Chaos::ReadNowAndThen(const Workload& workload,
                           const std::string& execution, uint64_t seed,
                           const std::atomic<bool>& ended) {
  std::mt19937_64 random(seed);
  do {
    corral::v1::GetExecutionRequest request;
    request.set_name(execution);
    Execution state;
    const grpc::Status status =
        calls_->Call(&Calls::ExecutionStub::GetExecution, request, &state);
    if (!status.ok()) {
      return tally_.Loss(execution + ": " + ToString(status));
    }
    std::map<corral::v1::Stream, uint64_t> cursors;
    for (const corral::v1::StreamState& stream : state.streams()) {
      cursors[stream.stream()] = random() % (stream.end_offset() + 1);
    }
    Reader reader(*calls_, tally_, workload, execution, cursors);
    if (!reader.Read(random() % (1 + largest_ / 8))) {
      return;
    }
    absl::SleepFor(absl::Milliseconds(random() % 100));
  } while (!ended);
}

void Chaos::Wait(const Workload& workload, const std::string& execution) {
  corral::v1::WaitExecutionRequest request;
  request.set_name(execution);
  Execution ended;
  const grpc::Status status =
      calls_->Call(&Calls::ExecutionStub::WaitExecution, request, &ended);
  if (!status.ok()) {
    return tally_.Loss(execution + ": waiting: " + ToString(status));
  }
  CheckEnd(ended, workload, tally_);
}

void Chaos::Keep(const Kept& kept) {
  bool keep = false;
  {
    const sandbox::MutexLock lock(&mutex_);
    uint64_t size = 0;
    for (const auto& [stream, output] : kept.workload.outputs) {
      size += std::min(output.size, kept.workload.retained());
    }
    if (kept_bytes_ + size < kKeptBytes && random_() % 2 == 0) {
      keep = true;
      kept_bytes_ += size;
      kept_.push_back(kept);
    }
  }
  if (!keep) {
    Delete(kept.execution);
  }
}

void Chaos::Delete(const std::string& execution) {
  corral::v1::DeleteExecutionRequest request;
  request.set_name(execution);
  google::protobuf::Empty response;
  const grpc::Status status =
      calls_->Call(&Calls::ExecutionStub::DeleteExecution, request, &response);
  // The previous call may have had its effect without an answer.
  if (!status.ok() && status.error_code() != grpc::StatusCode::NOT_FOUND) {
    tally_.Refusal("deleting: " + ToString(status));
  }
}

void Chaos::StartTinyCommand(uint64_t seed) {
  std::mt19937_64 random(seed);
  Kept kept;
  kept.workload = MakeTinyWorkload(server_.workspace(), absl::StrCat(seed));
  kept.request = MakeRequest(kept.workload, random);
  kept.request.set_execution_id(absl::StrCat("tiny-", seed));
  grpc::Status status(grpc::StatusCode::UNAVAILABLE, "");
  Execution execution;
  for (uint64_t tries = 1 + random() % 3; !status.ok() && tries > 0; --tries) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(
        absl::Now() + absl::Microseconds(200 + random() % 10000)));
    status =
        calls_->executions().StartExecution(&context, kept.request, &execution);
    if (!status.ok() && status.error_code() != grpc::StatusCode::UNAVAILABLE &&
        status.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED) {
      tally_.Refusal("starting: " + ToString(status));
    }
  }
  if (status.ok() || random() % 2 == 0) {
    const std::optional<std::string> name = Start(kept.request);
    if (name.has_value()) {
      Wait(kept.workload, *name);
    }
  }
  const sandbox::MutexLock lock(&mutex_);
  kept_.push_back(std::move(kept));
}

void Chaos::CheckUncertain(const Kept& kept) {
  corral::v1::GetExecutionRequest request;
  request.set_name(absl::StrCat(kept.request.parent(), "/executions/",
                                kept.request.execution_id()));
  Execution execution;
  const grpc::Status status =
      calls_->Call(&Calls::ExecutionStub::GetExecution, request, &execution);
  if (status.ok()) {
    return Wait(kept.workload, execution.name());
  }
  if (status.error_code() != grpc::StatusCode::NOT_FOUND) {
    return tally_.Loss(request.name() + ": " + ToString(status));
  }
  if (const int starts = CountStarts(kept.workload); starts != 0) {
    tally_.WrongStarts(absl::StrCat(request.name(), " is not there and ran ",
                                    starts, " times"));
  }
  if (const auto name = Start(kept.request); name.has_value()) {
    Wait(kept.workload, *name);
  }
}

void Chaos::CheckWhatIsKept() {
  std::vector<Kept> all;
  {
    const sandbox::MutexLock lock(&mutex_);
    all.swap(kept_);
  }
  for (const Kept& kept : all) {
    if (kept.execution.empty()) {
      CheckUncertain(kept);
      continue;
    }
    Reader reader(*calls_, tally_, kept.workload, kept.execution);
    if (reader.Read()) {
      CheckEnd(reader.ended(), kept.workload, tally_);
    }
    Delete(kept.execution);
  }
}

void Chaos::ChurnSandbox(uint64_t seed) {
  corral::v1::CreateSandboxRequest request;
  request.set_parent(kTenant);
  request.set_request_id(absl::StrCat("churn-", seed));
  request.mutable_sandbox()->mutable_workspace()->set_path(server_.workspace());
  corral::v1::Sandbox sandbox;
  grpc::Status status =
      calls_->Call(&Calls::SandboxStub::CreateSandbox, request, &sandbox);
  if (!status.ok()) {
    return tally_.Refusal("creating a sandbox: " + ToString(status));
  }
  const Workload workload =
      MakeTinyWorkload(server_.workspace(), absl::StrCat("churn-", seed));
  StartExecutionRequest start;
  start.set_parent(sandbox.name());
  start.set_request_id("the-only-one");
  *start.mutable_command() = workload.command;
  if (const auto name = Start(start); name.has_value()) {
    Wait(workload, *name);
  }
  corral::v1::DeleteSandboxRequest deletion;
  deletion.set_name(sandbox.name());
  google::protobuf::Empty response;
  status =
      calls_->Call(&Calls::SandboxStub::DeleteSandbox, deletion, &response);
  if (!status.ok() && status.error_code() != grpc::StatusCode::NOT_FOUND) {
    tally_.Refusal("deleting a sandbox: " + ToString(status));
  }
}

void Chaos::End() {
  for (const std::string& sandbox : sandboxes_) {
    corral::v1::DeleteSandboxRequest request;
    request.set_name(sandbox);
    google::protobuf::Empty response;
    const grpc::Status status =
        calls_->Call(&Calls::SandboxStub::DeleteSandbox, request, &response);
    EXPECT_TRUE(status.ok()) << ToString(status);
  }
  EXPECT_EQ(CountPayloads(server_.workspace()), 0);
  for (const auto& left : std::filesystem::directory_iterator(
           server_.state_directory() + "/sandboxes")) {
    // The server makes these for the next sandboxes.
    EXPECT_TRUE(absl::StartsWith(left.path().filename().string(), ".blank-"))
        << left.path();
  }
  calls_.reset();
  server_.End();
}

}  // namespace tests
