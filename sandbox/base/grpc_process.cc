#include "sandbox/base/grpc_process.h"

#include <malloc.h>

#include "absl/synchronization/mutex.h"

namespace sandbox {
namespace {

constexpr int kMappedBytes = 8 << 20;
constexpr int kKeptBytes = 16 << 20;

}  // namespace

void PrepareForGrpc() {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  ::mallopt(M_MMAP_THRESHOLD, kMappedBytes);
  ::mallopt(M_TRIM_THRESHOLD, kKeptBytes);
}

}  // namespace sandbox
