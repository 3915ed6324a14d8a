#include "tests/benchmarks/bare_streams.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "absl/strings/numbers.h"
#include "grpcpp/grpcpp.h"

namespace tests {

using ::corral::v1::OutputEvent;
using ::sandbox::MutexLock;

class BareStreams::Writer : public grpc::ServerWriteReactor<OutputEvent> {
 public:
  Writer(uint64_t bytes, BareStreams& streams)
      : bytes_(bytes), streams_(streams) {
    event_.mutable_chunk()->set_stream(corral::v1::STDOUT);
    Write(std::min(bytes_, kFirstBytes));
  }

  void OnWriteDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status::CANCELLED);
    } else if (offset_ == kFirstBytes) {
      streams_.Enter([this] { Next(); });
    } else {
      Next();
    }
  }
  void OnDone() override { delete this; }

 private:
  static constexpr uint64_t kFirstBytes = 4 << 10;
  static constexpr uint64_t kChunkBytes = 256 << 10;

  void Next() {
    if (offset_ == bytes_) {
      Finish(grpc::Status::OK);
    } else {
      Write(std::min(bytes_ - offset_, kChunkBytes));
    }
  }

  void Write(uint64_t bytes) {
    event_.mutable_chunk()->set_offset(offset_);
    event_.mutable_chunk()->mutable_data()->resize(bytes);
    offset_ += bytes;
    StartWrite(&event_);
  }

  OutputEvent event_;
  const uint64_t bytes_;
  BareStreams& streams_;
  uint64_t offset_ = 0;
};

void BareStreams::Hold() {
  MutexLock lock(&mutex_);
  held_ = true;
}

void BareStreams::Release() {
  MutexLock lock(&mutex_);
  held_ = false;
  for (const std::function<void()>& go_on : waiting_) {
    go_on();
  }
  waiting_.clear();
}

void BareStreams::Enter(std::function<void()> go_on) {
  MutexLock lock(&mutex_);
  if (held_) {
    waiting_.push_back(std::move(go_on));
  } else {
    go_on();
  }
}

grpc::ServerWriteReactor<OutputEvent>* BareStreams::StreamOutput(
    grpc::CallbackServerContext* /*context*/,
    const corral::v1::StreamOutputRequest* request) {
  uint64_t bytes = 0;
  // Text that is no number leaves 0: an empty stream.
  (void)absl::SimpleAtoi(request->name(), &bytes);
  return new Writer(bytes, *this);
}

}  // namespace tests
