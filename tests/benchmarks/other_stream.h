// The stream of a command that runs beside the measured one.

#ifndef TESTS_BENCHMARKS_OTHER_STREAM_H_
#define TESTS_BENCHMARKS_OTHER_STREAM_H_

#include <memory>
#include <string>
#include <thread>

#include "corral/v1/execution_service.grpc.pb.h"
#include "grpcpp/grpcpp.h"

namespace tests {

// Reads the output of a command on a thread of its own, until it is destroyed.
class OtherStream {
 public:
  // `stub` must outlive this object.
  OtherStream(corral::v1::ExecutionService::Stub& stub,
              const std::string& execution) {
    request_.set_name(execution);
    reader_ = stub.StreamOutput(&context_, request_);
    thread_ = std::thread([this] {
      corral::v1::OutputEvent event;
      while (reader_->Read(&event)) {
      }
      reader_->Finish();
    });
  }
  OtherStream(const OtherStream&) = delete;
  OtherStream& operator=(const OtherStream&) = delete;
  ~OtherStream() {
    context_.TryCancel();
    thread_.join();
  }

 private:
  grpc::ClientContext context_;
  corral::v1::StreamOutputRequest request_;
  std::unique_ptr<grpc::ClientReader<corral::v1::OutputEvent>> reader_;
  std::thread thread_;
};

}  // namespace tests

#endif  // TESTS_BENCHMARKS_OTHER_STREAM_H_
