// Deletions that take long.

#include <signal.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "gmock/gmock.h"
#include "google/protobuf/empty.pb.h"
#include "grpcpp/client_context.h"
#include "gtest/gtest.h"
#include "tests/integration/integration_test.h"
#include "tests/tracer.h"

namespace tests {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// With 20 ms for each file, a removal outlasts the patience of a server that
// ends, and goes on until the test ends the delay.
constexpr int kFiles = 2000;
// More sandboxes than the server has threads for removals.
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

TEST_F(DeletionTest, NextServerRemovesFilesThatAServerLeft) {
  if (!Tracer::IsPermitted()) {
    GTEST_SKIP() << "strace cannot trace here";
  }
  CreateBigSandbox();
  const std::string other = CreateBigSandbox();
  std::thread waits;  // for a removal that does not end with this server
  {
    const std::string record = server_.directory() + "/strace";
    const Tracer slow(server_.pid(),
                      {"unlink,unlinkat", "delay_enter=20000", 1, true},
                      record);
    waits = std::thread([this, &other] {
      grpc::ClientContext context;
      corral::v1::DeleteSandboxRequest request;
      request.set_name(other);
      google::protobuf::Empty response;
      EXPECT_EQ(corral::v1::SandboxService::NewStub(server_.Connect())
                    ->DeleteSandbox(&context, request, &response)
                    .error_code(),
                grpc::StatusCode::UNAVAILABLE);
    });
    while (!Tracer::HasStruck(record)) {
      absl::SleepFor(absl::Milliseconds(5));
    }
    server_.Signal(SIGTERM);
    EXPECT_EQ(server_.Wait(), 0) << server_.log();
  }
  waits.join();
  EXPECT_THAT(server_.log(), HasSubstr("the server ends without them"));
  const std::set<std::string> left = server_.SandboxDirectories();
  EXPECT_THAT(left, Not(IsEmpty()));
  ASSERT_NO_FATAL_FAILURE(server_.Start());
  client_ = std::make_unique<Client>(server_.Connect());
  server_.AwaitRemoval(left);
}

}  // namespace
}  // namespace tests
