// Streams of bytes from memory, as many as the name in the request says: 4 KiB,
// and when streams are not held back, the rest in chunks of 256 KiB, as corrald
// sends them.
//
// May be used by any thread.

#ifndef TESTS_BENCHMARKS_BARE_STREAMS_H_
#define TESTS_BENCHMARKS_BARE_STREAMS_H_

#include <functional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "sandbox/base/mutex.h"

namespace tests {

class BareStreams : public corral::v1::ExecutionService::CallbackService {
 public:
  // Holds streams back after their first chunk. They must be released before
  // the server ends.
  void Hold();
  void Release();

  grpc::ServerWriteReactor<corral::v1::OutputEvent>* StreamOutput(
      grpc::CallbackServerContext* context,
      const corral::v1::StreamOutputRequest* request) override;

 private:
  class Writer;

  // Calls `go_on` once streams are not held back.
  void Enter(std::function<void()> go_on);

  sandbox::Mutex mutex_;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::function<void()>> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tests

#endif  // TESTS_BENCHMARKS_BARE_STREAMS_H_
