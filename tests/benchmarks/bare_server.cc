#include "tests/benchmarks/bare_server.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpcpp/grpcpp.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/bare_service.h"
#include "tests/benchmarks/corral.h"

namespace tests {

using ::corral::v1::OutputEvent;

absl::StatusOr<std::unique_ptr<BareServer>> BareServer::Start(
    const std::string& socket) {
  const std::string address = absl::StrCat("unix:", socket);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ErrnoToStatus(errno, "socketpair");
  }
  sandbox::UniqueFd mine(ends[0]);
  sandbox::UniqueFd its(ends[1]);
  const pid_t process = ::fork();
  if (process < 0) {
    return absl::ErrnoToStatus(errno, "fork");
  }
  if (process == 0) {
    mine.Reset();
    ::_exit(ServeBare(address, its.get()) ? 0 : 1);
  }
  std::unique_ptr<BareServer> bare(new BareServer(process, std::move(mine)));
  its.Reset();
  RETURN_IF_ERROR(bare->Connect(address));
  return bare;
}

absl::Status BareServer::Connect(const std::string& address) {
  char ready = 0;
  if (::recv(control_.get(), &ready, 1, 0) != 1) {
    return absl::UnavailableError(absl::StrCat("cannot listen at ", address));
  }
  const auto channel =
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  admin_ = corral::v1::AdminService::NewStub(channel);
  executions_ = corral::v1::ExecutionService::NewStub(channel);
  return absl::OkStatus();
}

BareServer::~BareServer() {
  control_.Reset();
  ::waitpid(process_, nullptr, 0);
}

absl::StatusOr<absl::Duration> BareServer::TimeHop() {
  const absl::Time begin = absl::Now();
  grpc::ClientContext context;
  corral::v1::ServerInfo response;
  const grpc::Status status = admin_->GetServerInfo(&context, {}, &response);
  const absl::Duration elapsed = absl::Now() - begin;
  if (!status.ok()) {
    return FromGrpc(status);
  }
  return elapsed;
}

absl::Status BareServer::ReadStream(uint64_t bytes,
                                    absl::FunctionRef<void()> on_first_byte) {
  grpc::ClientContext context;
  corral::v1::StreamOutputRequest request;
  request.set_name(absl::StrCat(bytes));
  auto reader = executions_->StreamOutput(&context, request);
  OutputEvent event;
  uint64_t received = 0;
  while (reader->Read(&event)) {
    if (received == 0) {
      on_first_byte();
    }
    received += event.chunk().data().size();
  }
  RETURN_IF_ERROR(FromGrpc(reader->Finish()));
  if (received != bytes) {
    return absl::DataLossError(absl::StrCat(received, " of ", bytes));
  }
  return absl::OkStatus();
}

absl::Status BareServer::Hold() { return Command(kHold); }

absl::Status BareServer::Release() { return Command(kRelease); }

absl::Status BareServer::Command(char command) {
  char answer = 0;
  if (::send(control_.get(), &command, 1, MSG_NOSIGNAL) != 1 ||
      ::recv(control_.get(), &answer, 1, 0) != 1) {
    return absl::UnavailableError("the bare server is gone");
  }
  return absl::OkStatus();
}

}  // namespace tests
