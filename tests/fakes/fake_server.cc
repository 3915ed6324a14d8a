#include "tests/fakes/fake_server.h"

#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "grpc/grpc.h"
#include "grpcpp/grpcpp.h"
#include "sandbox/base/log.h"
#include "server/api/errors.h"
#include "server/api/grpc_status.h"
#include "server/api/names.h"
#include "server/api/request_identity.h"
#include "tests/fakes/fake_execution_service.h"
#include "tests/fakes/fake_screen_service.h"
#include "tests/fakes/request_rules.h"

namespace tests {
namespace {

using corral::v1::AdminService;
using corral::v1::SandboxService;
using google::protobuf::Empty;
using grpc::ServerContext;
using grpc::Status;
using sandbox::MutexLock;

Status NotFound(const std::string& name) {
  return server::ToGrpcStatus(server::SandboxNotFound(name));
}

absl::Status CheckName(const std::string& name) {
  return server::SandboxName::Parse("name", name).status();
}

Status Lost() { return {grpc::StatusCode::UNAVAILABLE, "connection reset"}; }

}  // namespace

class FakeServer::Sandboxes : public SandboxService::Service {
 public:
  explicit Sandboxes(FakeServer& fake) : fake_(fake) {}

  Status CreateSandbox(ServerContext*,
                       const corral::v1::CreateSandboxRequest* request,
                       corral::v1::Sandbox* response) override {
    const absl::StatusOr<corral::v1::Sandbox> sandbox = fake_.Create(
        *request, server::Identify(*request, request->request_id()));
    if (!sandbox.ok()) {
      return server::ToGrpcStatus(sandbox.status());
    }
    *response = *sandbox;
    return fake_.LosesAnswer() ? Lost() : Status::OK;
  }

  Status GetSandbox(ServerContext*,
                    const corral::v1::GetSandboxRequest* request,
                    corral::v1::Sandbox* response) override {
    if (fake_.Take(&State::stalled_gets)) {
      fake_.Stall();
    }
    const absl::Status checked = CheckName(request->name());
    if (!checked.ok()) {
      return server::ToGrpcStatus(checked);
    }
    MutexLock lock(&fake_.mutex_);
    fake_.state_.gets.push_back(request->name());
    const auto found = fake_.state_.sandboxes.find(request->name());
    if (found == fake_.state_.sandboxes.end()) {
      return NotFound(request->name());
    }
    *response = found->second;
    return Status::OK;
  }

  Status ListSandboxes(ServerContext*,
                       const corral::v1::ListSandboxesRequest* request,
                       corral::v1::ListSandboxesResponse* response) override {
    const absl::Status checked = CheckRequest(*request);
    if (!checked.ok()) {
      return server::ToGrpcStatus(checked);
    }
    MutexLock lock(&fake_.mutex_);
    if (request->page_token().empty()) {
      *response->mutable_unreachable() = {
          fake_.state_.unreachable_sandboxes.begin(),
          fake_.state_.unreachable_sandboxes.end()};
    }
    auto next = fake_.state_.sandboxes.upper_bound(request->page_token());
    for (; next != fake_.state_.sandboxes.end(); ++next) {
      *response->add_sandboxes() = next->second;
      if (response->sandboxes_size() == fake_.state_.page_size) {
        response->set_next_page_token(next->first);
        break;
      }
    }
    return Status::OK;
  }

  Status DeleteSandbox(ServerContext*,
                       const corral::v1::DeleteSandboxRequest* request,
                       Empty*) override {
    if (fake_.Take(&State::stalled_deletions)) {
      fake_.Stall();
    }
    const absl::Status checked = CheckName(request->name());
    if (!checked.ok()) {
      return server::ToGrpcStatus(checked);
    }
    if (!fake_.DeleteSandbox(request->name())) {
      return NotFound(request->name());
    }
    return fake_.LosesAnswer() ? Lost() : Status::OK;
  }

  Status ListNetworkEvents(
      ServerContext*, const corral::v1::ListNetworkEventsRequest* request,
      corral::v1::ListNetworkEventsResponse* response) override {
    fake_.ListNetworkEvents(*request, *response);
    return Status::OK;
  }

  Status AllowHosts(ServerContext*,
                    const corral::v1::AllowHostsRequest* request,
                    corral::v1::Sandbox*) override {
    MutexLock lock(&fake_.mutex_);
    fake_.state_.allowances.push_back(*request);
    return Status::OK;
  }

 private:
  FakeServer& fake_;
};

class FakeServer::Admin : public AdminService::Service {
 public:
  Status GetServerInfo(ServerContext*, const corral::v1::GetServerInfoRequest*,
                       corral::v1::ServerInfo* response) override {
    response->set_version("fake");
    response->set_kernel("Linux 6.1");
    auto* feature = response->add_isolation();
    feature->set_name("user namespace");
    feature->set_enforced(true);
    feature->set_required(true);
    feature->set_state(corral::v1::IsolationFeature::ENFORCED);
    feature = response->add_isolation();
    feature->set_name("landlock");
    feature->set_detail("the kernel has none");
    feature->set_state(corral::v1::IsolationFeature::MISSING);
    return Status::OK;
  }
};

FakeServer::FakeServer(FakeExecution::Script script)
    : script_(std::move(script)),
      sandbox_service_(std::make_unique<Sandboxes>(*this)),
      execution_service_(std::make_unique<Executions>(*this)),
      screen_service_(std::make_unique<Screens>(*this)),
      admin_service_(std::make_unique<Admin>()) {
  // Never shut down, because that may wait 10 s for a poller inside gRPC.
  ::grpc_init();
  char directory[] = "/tmp/fake_server.XXXXXX";
  CHECK(::mkdtemp(directory) != nullptr);
  directory_ = directory;
  address_ = absl::StrCat("unix:", directory_, "/corrald.sock");
  Start();
}

FakeServer::~FakeServer() {
  Stop();
  ::unlink((directory_ + "/corrald.sock").c_str());
  ::rmdir(directory_.c_str());
}

void FakeServer::Start() {
  InterruptAll(false);
  grpc::EnableDefaultHealthCheckService(true);
  server_ = grpc::ServerBuilder()
                .AddListeningPort(address_, grpc::InsecureServerCredentials())
                .RegisterService(sandbox_service_.get())
                .RegisterService(execution_service_.get())
                .RegisterService(screen_service_.get())
                .RegisterService(admin_service_.get())
                // Permits any number of pings, as the real server does.
                .AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0)
                .BuildAndStart();
  CHECK(server_ != nullptr);
}

void FakeServer::Stop() {
  if (server_ != nullptr) {
    InterruptAll(true);
    server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
  }
}

void FakeServer::FailStartedCommands(grpc::StatusCode code) {
  MutexLock lock(&mutex_);
  state_.start_code = code;
}

grpc::Status FakeServer::StatusOfStart() {
  MutexLock lock(&mutex_);
  return {state_.start_code,
          state_.start_code == grpc::StatusCode::OK ? "" : "the start failed"};
}

void FakeServer::FailSignals(grpc::StatusCode code) {
  MutexLock lock(&mutex_);
  state_.signal_code = code;
}

void FakeServer::HoldRuns() {
  MutexLock lock(&mutex_);
  state_.hold_runs = true;
}

void FakeServer::LoseAnswers(int count) { Set(&State::lost_answers, count); }

void FakeServer::Set(int State::*counter, int count) {
  MutexLock lock(&mutex_);
  state_.*counter = count;
}

bool FakeServer::Take(int State::*counter) {
  MutexLock lock(&mutex_);
  if (state_.*counter == 0) {
    return false;
  }
  --(state_.*counter);
  return true;
}

void FakeServer::Stall() {
  MutexLock lock(&mutex_);
  mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return state_.stopping;
  });
}

void FakeServer::WaitForRun() {
  MutexLock lock(&mutex_);
  mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !state_.runs.empty();
  });
}

void FakeServer::WaitForStreams(size_t count) {
  MutexLock lock(&mutex_);
  mutex_.Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return state_.streams.size() >= count;
  });
}

void FakeServer::WaitForWaits(size_t count) {
  MutexLock lock(&mutex_);
  mutex_.Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return state_.waits.size() >= count;
  });
}

void FakeServer::WaitForSignals(size_t count) {
  MutexLock lock(&mutex_);
  mutex_.Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return state_.signals.size() >= count;
  });
}

void FakeServer::WaitForAcknowledgements(size_t count) {
  MutexLock lock(&mutex_);
  mutex_.Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return state_.acknowledgements.size() >= count;
  });
}

void FakeServer::InterruptAll(bool interrupted) {
  MutexLock lock(&mutex_);
  state_.stopping = interrupted;
  mutex_.Signal();
  for (const auto& [name, execution] : state_.executions) {
    execution->Interrupt(interrupted);
  }
}

void FakeServer::LoseSandbox(const std::string& name) {
  MutexLock lock(&mutex_);
  state_.sandboxes.erase(name);
}

void FakeServer::LoseExecution(const std::string& name) {
  // Destroyed after the lock is released: its end waits for its script.
  std::shared_ptr<FakeExecution> doomed;
  MutexLock lock(&mutex_);
  doomed = std::move(state_.executions.at(name));
  state_.executions.erase(name);
}

bool FakeServer::DeleteSandbox(const std::string& name) {
  // Destroyed after the lock is released: their ends wait for scripts.
  std::vector<std::shared_ptr<FakeExecution>> doomed;
  MutexLock lock(&mutex_);
  const std::string prefix = absl::StrCat(name, "/");
  for (auto it = state_.executions.begin(); it != state_.executions.end();) {
    if (absl::StartsWith(it->first, prefix)) {
      it->second->Signal(9, corral::v1::ExitStatus::SANDBOX_DELETED);
      doomed.push_back(std::move(it->second));
      it = state_.executions.erase(it);
    } else {
      ++it;
    }
  }
  state_.deletions.push_back(name);
  return state_.sandboxes.erase(name) > 0;
}

void FakeServer::FailStarts(const corral::v1::StartFailure& failure) {
  MutexLock lock(&mutex_);
  state_.failure = failure;
}

void FakeServer::SetUnreachable(const std::vector<std::string>& names) {
  MutexLock lock(&mutex_);
  state_.unreachable = names;
}

void FakeServer::SetUnreachableSandboxes(
    const std::vector<std::string>& names) {
  MutexLock lock(&mutex_);
  state_.unreachable_sandboxes = names;
}

std::vector<corral::v1::RunExecutionRequest> FakeServer::runs() {
  MutexLock lock(&mutex_);
  return state_.runs;
}

std::vector<corral::v1::StartExecutionRequest> FakeServer::starts() {
  MutexLock lock(&mutex_);
  return state_.starts;
}

std::vector<corral::v1::CreateSandboxRequest> FakeServer::creations() {
  MutexLock lock(&mutex_);
  return state_.creations;
}

std::vector<corral::v1::SignalExecutionRequest> FakeServer::signals() {
  MutexLock lock(&mutex_);
  return state_.signals;
}

std::vector<std::string> FakeServer::gets() {
  MutexLock lock(&mutex_);
  return state_.gets;
}

std::vector<std::string> FakeServer::deletions() {
  MutexLock lock(&mutex_);
  return state_.deletions;
}

std::vector<corral::v1::StreamOutputRequest> FakeServer::streams() {
  MutexLock lock(&mutex_);
  return state_.streams;
}

std::vector<corral::v1::WaitExecutionRequest> FakeServer::waits() {
  MutexLock lock(&mutex_);
  return state_.waits;
}

std::vector<corral::v1::AcknowledgeOutputRequest>
FakeServer::acknowledgements() {
  MutexLock lock(&mutex_);
  return state_.acknowledgements;
}

std::vector<corral::v1::WriteInputRequest> FakeServer::inputs() {
  MutexLock lock(&mutex_);
  return state_.inputs;
}

std::shared_ptr<FakeExecution> FakeServer::FindExecution(
    const std::string& name) {
  MutexLock lock(&mutex_);
  const auto found = state_.executions.find(name);
  return found == state_.executions.end() ? nullptr : found->second;
}

}  // namespace tests
