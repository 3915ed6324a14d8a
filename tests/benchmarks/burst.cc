#include "tests/benchmarks/burst.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpcpp/grpcpp.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/corral.h"
#include "tests/benchmarks/spawn.h"

namespace tests {
namespace {

using ::corral::v1::ExecutionService;
using ::corral::v1::OutputEvent;
using ::corral::v1::RunExecutionRequest;

constexpr absl::Duration kPatience = absl::Minutes(2);

// How many calls have ended, and the first error. May be used by any thread.
class Outcome {
 public:
  explicit Outcome(size_t calls) : left_(calls) {}

  void End(const absl::Status& status) {
    sandbox::MutexLock lock(&mutex_);
    status_.Update(status);
    --left_;
    mutex_.Signal();
  }
  absl::Status Await() {
    sandbox::MutexLock lock(&mutex_);
    mutex_.Await([this]()
                     ABSL_NO_THREAD_SAFETY_ANALYSIS { return left_ == 0; });
    return status_;
  }

 private:
  sandbox::Mutex mutex_;
  size_t left_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

// One call of RunExecution.
class RunCall : public grpc::ClientReadReactor<OutputEvent> {
 public:
  RunCall(RunExecutionRequest request, Outcome& outcome)
      : request_(std::move(request)), outcome_(outcome) {}

  void Start(ExecutionService::Stub& client) {
    context_.set_deadline(absl::ToChronoTime(absl::Now() + kPatience));
    client.async()->RunExecution(&context_, &request_, this);
    StartRead(&event_);
    StartCall();
  }

  void OnReadDone(bool ok) override {
    if (ok) {
      StartRead(&event_);
    }
  }
  void OnDone(const grpc::Status& status) override {
    outcome_.End(status.ok() ? CheckEnd(event_) : FromGrpc(status));
  }

 private:
  grpc::ClientContext context_;
  const RunExecutionRequest request_;
  Outcome& outcome_;
  OutputEvent event_;
};

}  // namespace

absl::StatusOr<Burst> Burst::Connect(const std::string& server,
                                     size_t clients) {
  Burst burst;
  for (size_t i = 0; i < clients; ++i) {
    grpc::ChannelArguments arguments;
    // Channels share connections otherwise.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto channel = grpc::CreateCustomChannel(
        server, grpc::InsecureChannelCredentials(), arguments);
    if (!channel->WaitForConnected(
            absl::ToChronoTime(absl::Now() + kPatience))) {
      return absl::UnavailableError(
          absl::StrCat("client ", i, " cannot connect to ", server));
    }
    burst.clients_.push_back(ExecutionService::NewStub(channel));
  }
  return burst;
}

absl::StatusOr<absl::Duration> Burst::Run(
    const std::vector<std::string>& sandboxes,
    const std::vector<std::string>& argv) {
  Outcome outcome(clients_.size());
  std::vector<std::unique_ptr<RunCall>> calls;
  for (size_t i = 0; i < clients_.size(); ++i) {
    RunExecutionRequest request;
    request.set_parent(sandboxes[i % sandboxes.size()]);
    for (const std::string& argument : argv) {
      request.mutable_command()->add_argv(argument);
    }
    calls.push_back(std::make_unique<RunCall>(std::move(request), outcome));
  }
  const absl::Time begin = absl::Now();
  for (size_t i = 0; i < calls.size(); ++i) {
    calls[i]->Start(*clients_[i]);
  }
  const absl::Status status = outcome.Await();
  const absl::Duration elapsed = absl::Now() - begin;
  RETURN_IF_ERROR(status);
  return elapsed;
}

absl::StatusOr<absl::Duration> TimeSpawns(
    size_t count, const std::vector<std::string>& argv) {
  const absl::Time begin = absl::Now();
  std::vector<SpawnedCommand> commands;
  commands.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(SpawnedCommand command, SpawnedCommand::Start(argv));
    commands.push_back(std::move(command));
  }
  for (SpawnedCommand& command : commands) {
    RETURN_IF_ERROR(command.Wait());
  }
  return absl::Now() - begin;
}

}  // namespace tests
