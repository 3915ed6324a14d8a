#include "tests/benchmarks/bare_server.h"

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpcpp/grpcpp.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/bare_streams.h"
#include "tests/benchmarks/corral.h"

namespace tests {
namespace {

using ::corral::v1::OutputEvent;

class Hop : public corral::v1::AdminService::CallbackService {
 public:
  grpc::ServerUnaryReactor* GetServerInfo(
      grpc::CallbackServerContext* context,
      const corral::v1::GetServerInfoRequest* /*request*/,
      corral::v1::ServerInfo* /*response*/) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<BareServer>> BareServer::Start(
    const std::string& socket) {
  std::unique_ptr<BareServer> bare(new BareServer);
  bare->admin_service_ = std::make_unique<Hop>();
  bare->streams_ = std::make_unique<BareStreams>();
  const std::string address = absl::StrCat("unix:", socket);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(bare->admin_service_.get());
  builder.RegisterService(bare->streams_.get());
  bare->server_ = builder.BuildAndStart();
  if (bare->server_ == nullptr) {
    return absl::UnavailableError(absl::StrCat("cannot listen at ", address));
  }
  const auto channel =
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  bare->admin_ = corral::v1::AdminService::NewStub(channel);
  bare->executions_ = corral::v1::ExecutionService::NewStub(channel);
  return bare;
}

BareServer::~BareServer() {
  if (server_ != nullptr) {
    server_->Shutdown();
  }
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

}  // namespace tests
