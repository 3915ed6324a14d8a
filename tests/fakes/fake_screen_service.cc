#include "tests/fakes/fake_screen_service.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/v1/error_reason.pb.h"
#include "sandbox/base/mutex.h"
#include "server/api/errors.h"
#include "server/api/grpc_status.h"
#include "tests/fakes/fake_execution.h"

namespace tests {

using grpc::Status;
using sandbox::MutexLock;

namespace {

Status Precondition(corral::v1::ErrorReason reason, const std::string& name,
                    const char* what) {
  return server::ToGrpcStatus(
      server::Error(absl::StatusCode::kFailedPrecondition, reason,
                    absl::StrCat(name, what), {{"name", name}}));
}

}  // namespace

Status FakeServer::Screens::Check(const std::string& name) {
  const std::shared_ptr<FakeExecution> execution = fake_.FindExecution(name);
  if (execution == nullptr) {
    return server::ToGrpcStatus(server::ExecutionNotFound(name));
  }
  return execution->command().has_terminal()
             ? Status::OK
             : Precondition(corral::v1::NOT_A_TERMINAL, name,
                            " has no terminal");
}

Status FakeServer::Screens::GetScreen(
    grpc::ServerContext*, const corral::v1::GetScreenRequest* request,
    corral::v1::GetScreenResponse* response) {
  {
    MutexLock lock(&fake_.mutex_);
    fake_.state_.screens.push_back(*request);
    *response = fake_.state_.screen;
  }
  const Status status = Check(request->name());
  if (!status.ok()) {
    return status;
  }
  if (fake_.Take(&State::refused_screens)) {
    return Precondition(corral::v1::SCREEN_UNAVAILABLE, request->name(),
                        " has no screen");
  }
  // UINT64_MAX lies behind all output, where no question is.
  if (!request->has_answers_from() || request->answers_from() == UINT64_MAX) {
    response->clear_answers();
  }
  *response->mutable_execution() =
      fake_.FindExecution(request->name())->Snapshot();
  response->mutable_execution()->clear_command();
  return Status::OK;
}

Status FakeServer::Screens::ClearScreen(
    grpc::ServerContext*, const corral::v1::ClearScreenRequest* request,
    google::protobuf::Empty*) {
  const Status status = Check(request->name());
  if (!status.ok()) {
    return status;
  }
  MutexLock lock(&fake_.mutex_);
  fake_.state_.clearings.push_back(request->name());
  return Status::OK;
}

Status FakeServer::Screens::ListTerminalTimes(
    grpc::ServerContext*, const corral::v1::ListTerminalTimesRequest* request,
    corral::v1::ListTerminalTimesResponse* response) {
  const Status status = Check(request->name());
  if (!status.ok()) {
    return status;
  }
  MutexLock lock(&fake_.mutex_);
  const auto& times = fake_.state_.times;
  const size_t begin = std::min<size_t>(request->skip(), times.size());
  const size_t end =
      std::min<size_t>(begin + fake_.state_.times_page, times.size());
  for (size_t i = begin; i < end; ++i) {
    *response->add_times() = times[i];
  }
  return Status::OK;
}

void FakeServer::SetScreen(const corral::v1::GetScreenResponse& screen) {
  MutexLock lock(&mutex_);
  state_.screen = screen;
}

void FakeServer::SetTimes(const std::vector<corral::v1::TerminalTime>& times,
                          int page) {
  MutexLock lock(&mutex_);
  state_.times = times;
  state_.times_page = page;
}

std::vector<corral::v1::GetScreenRequest> FakeServer::screens() {
  MutexLock lock(&mutex_);
  return state_.screens;
}

std::vector<std::string> FakeServer::clearings() {
  MutexLock lock(&mutex_);
  return state_.clearings;
}

}  // namespace tests
