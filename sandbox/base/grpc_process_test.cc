#include "sandbox/base/grpc_process.h"

#include <sys/resource.h>

#include <cstddef>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandbox {
namespace {

using ::testing::Lt;

// Takes memory for eight messages at once and frees it, a hundred times.
// Returns how many pages the kernel had to provide.
long FaultsOfMessages() {
  constexpr size_t kMessage = size_t{256} << 10;
  rusage before;
  rusage after;
  ::getrusage(RUSAGE_THREAD, &before);
  for (int i = 0; i < 100; ++i) {
    const std::vector<std::string> messages(8, std::string(kMessage, 'x'));
  }
  ::getrusage(RUSAGE_THREAD, &after);
  return after.ru_minflt - before.ru_minflt;
}

TEST(GrpcProcessTest, KeepsTheMemoryOfMessagesForTheNextOnes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers have allocators of their own";
#endif
  PrepareForGrpc();
  FaultsOfMessages();
  EXPECT_THAT(FaultsOfMessages(), Lt(100));
}

}  // namespace
}  // namespace sandbox
