#include "tests/benchmarks/bare_server.h"

#include <algorithm>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpcpp/grpcpp.h"
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

class ChunkWriter : public grpc::ServerWriteReactor<OutputEvent> {
 public:
  explicit ChunkWriter(uint64_t bytes) : bytes_(bytes) {
    event_.mutable_chunk()->set_stream(corral::v1::STDOUT);
    event_.mutable_chunk()->set_data(std::string(kChunkBytes, '\0'));
    Next();
  }

  void OnWriteDone(bool ok) override {
    if (ok) {
      Next();
    } else {
      Finish(grpc::Status::CANCELLED);
    }
  }
  void OnDone() override { delete this; }

 private:
  static constexpr uint64_t kChunkBytes = 256 << 10;

  void Next() {
    if (offset_ >= bytes_) {
      Finish(grpc::Status::OK);
      return;
    }
    event_.mutable_chunk()->set_offset(offset_);
    offset_ += kChunkBytes;
    StartWrite(&event_);
  }

  OutputEvent event_;
  const uint64_t bytes_;
  uint64_t offset_ = 0;
};

class Stream : public corral::v1::ExecutionService::CallbackService {
 public:
  grpc::ServerWriteReactor<OutputEvent>* StreamOutput(
      grpc::CallbackServerContext* /*context*/,
      const corral::v1::StreamOutputRequest* request) override {
    uint64_t bytes = 0;
    // Text that is no number leaves 0: an empty stream.
    (void)absl::SimpleAtoi(request->name(), &bytes);
    return new ChunkWriter(bytes);
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<BareServer>> BareServer::Start(
    const std::string& socket) {
  std::unique_ptr<BareServer> bare(new BareServer);
  bare->admin_service_ = std::make_unique<Hop>();
  bare->execution_service_ = std::make_unique<Stream>();
  const std::string address = absl::StrCat("unix:", socket);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(bare->admin_service_.get());
  builder.RegisterService(bare->execution_service_.get());
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

absl::StatusOr<absl::Duration> BareServer::TimeStream(uint64_t bytes) {
  grpc::ClientContext context;
  corral::v1::StreamOutputRequest request;
  request.set_name(absl::StrCat(bytes));
  auto reader = executions_->StreamOutput(&context, request);
  OutputEvent event;
  absl::Time begin = absl::InfiniteFuture();
  uint64_t received = 0;
  while (reader->Read(&event)) {
    begin = std::min(begin, absl::Now());
    received += event.chunk().data().size();
  }
  const absl::Duration elapsed = absl::Now() - begin;
  const grpc::Status status = reader->Finish();
  if (!status.ok()) {
    return FromGrpc(status);
  }
  if (received != bytes) {
    return absl::DataLossError(absl::StrCat(received, " of ", bytes));
  }
  return elapsed;
}

}  // namespace tests
