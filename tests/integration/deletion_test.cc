// Deletions that take long.

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/faults/tracer.h"
#include "tests/integration/integration_test.h"

namespace tests {
namespace {

namespace fs = std::filesystem;

// With 20 ms for each, a removal lasts until the test lets it go on.
constexpr int kFiles = 2000;
// More than the server has threads for removals.
constexpr int kBigSandboxes = 4;

class DeletionTest : public IntegrationTest {
 protected:
  // The directory of a sandbox's executions.
  std::string ExecutionsOf(const std::string& sandbox) const {
    return absl::StrCat(server_.state_directory(), "/sandboxes/",
                        fs::path(sandbox).filename().string(), "/executions");
  }

  std::string CreateBigSandbox() {
    std::string sandbox = CreateSandbox();
    const std::string directory = ExecutionsOf(sandbox) + "/old";
    fs::create_directories(directory);
    for (int i = 0; i < kFiles; ++i) {
      std::ofstream file(absl::StrCat(directory, "/", i));
    }
    return sandbox;
  }
};

TEST_F(DeletionTest, RemovingBigSandboxesDelaysNoKill) {
  if (!Tracer::IsPermitted()) {
    GTEST_SKIP() << "strace cannot trace here";
  }
  std::vector<std::string> big;
  big.reserve(kBigSandboxes);
  for (int i = 0; i < kBigSandboxes; ++i) {
    big.push_back(CreateBigSandbox());
  }
  const std::string small = CreateSandbox();
  const auto stream = client_->Stream(
      client_->Start(small, MakeCommand({"sleep", "1000"})).name());
  ASSERT_TRUE(stream->Next());

  const std::string record = server_.directory() + "/strace";
  Tracer slow(server_.pid(), {"unlink,unlinkat", "delay_enter=20000", 1, true},
              record);
  std::atomic<int> deleted = 0;
  std::vector<std::thread> deletions;
  deletions.reserve(kBigSandboxes + 1);
  for (const std::string& sandbox : big) {
    deletions.emplace_back([&] {
      Client(server_.Connect()).DeleteSandbox(sandbox);
      ++deleted;
    });
  }
  while (!Tracer::HasStruck(record)) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  deletions.emplace_back(
      [&] { Client(server_.Connect()).DeleteSandbox(small); });
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(stream->ended.exit().cause(),
            corral::v1::ExitStatus::SANDBOX_DELETED);
  EXPECT_EQ(deleted, 0);
  slow.Detach();
  for (std::thread& deletion : deletions) {
    deletion.join();
  }
}

}  // namespace
}  // namespace tests
