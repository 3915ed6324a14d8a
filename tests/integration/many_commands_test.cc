// Many commands over one stream.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "grpcpp/client_context.h"
#include "gtest/gtest.h"
#include "tests/integration/integration_test.h"
#include "tests/text_file.h"

namespace tests {
namespace {

using ::corral::v1::Execution;
using ::corral::v1::RunExecutionsRequest;
using ::corral::v1::RunExecutionsResponse;
using ::corral::v1::StartExecutionRequest;

constexpr int kCommands = 200;
// Starts in one request.
constexpr int kStarts = 60;
// Commands exit with their number modulo this.
constexpr int kCodes = 7;

class ManyCommandsTest : public IntegrationTest {
 protected:
  // Adds a command that leaves a letter in a file and exits with a code of its
  // own.
  void Add(const std::string& sandbox) {
    const auto number = static_cast<int>(waiting_.size());
    StartExecutionRequest start;
    start.set_parent(sandbox);
    start.set_execution_id(absl::StrCat("e", number));
    start.set_request_id(absl::StrCat("6f2c1b54-", number));
    *start.mutable_command() =
        MakeCommand({"/bin/sh", "-c",
                     absl::StrCat("printf x >> runs; exit ", number % kCodes)});
    waiting_[number] = std::move(start);
  }
  // Starts all that were not answered, and reads the answers until the call
  // ends. Calls `each` after each message.
  void Run(const std::function<void()>& each) {
    Client client(server_.Connect());
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    const auto call = client.executions().RunExecutions(&context);
    std::vector<int> numbers;
    RunExecutionsRequest request;
    for (const auto& [number, start] : waiting_) {
      *request.add_starts() = start;
      numbers.push_back(number);
      if (request.starts_size() == kStarts ||
          numbers.size() == waiting_.size()) {
        call->Write(request);
        request.clear_starts();
      }
    }
    call->WritesDone();
    RunExecutionsResponse response;
    while (call->Read(&response)) {
      for (const auto& answer : response.answers()) {
        if (answer.has_ended()) {
          End(numbers.at(answer.start_number()), answer.ended());
        } else {
          EXPECT_EQ(answer.error().code(), grpc::StatusCode::UNAVAILABLE)
              << answer.error().message();
        }
      }
      each();
    }
    const grpc::Status status = call->Finish();
    EXPECT_TRUE(status.ok() ||
                status.error_code() == grpc::StatusCode::UNAVAILABLE)
        << status.error_message();
  }
  void End(int number, const Execution& ended) {
    EXPECT_EQ(ended.state(), Execution::EXITED) << ended.ShortDebugString();
    EXPECT_EQ(ended.exit().code(), number % kCodes);
    EXPECT_EQ(waiting_.erase(number), 1) << "answered twice: " << number;
  }
  size_t Runs() const { return ReadFile(server_.workspace() + "/runs").size(); }

  // The starts that were not answered, by number.
  std::map<int, StartExecutionRequest> waiting_;
};

TEST_F(ManyCommandsTest, EachIsAnsweredWithItsEnd) {
  const std::string sandboxes[] = {CreateSandbox(), CreateSandbox()};
  for (int i = 0; i < kCommands; ++i) {
    Add(sandboxes[i % 2]);
  }
  Run([] {});
  EXPECT_TRUE(waiting_.empty());
  EXPECT_EQ(Runs(), kCommands);
}

TEST_F(ManyCommandsTest, NoneIsLostAndNoneRunsTwiceWhenTheServerIsKilled) {
  const std::string sandbox = CreateSandbox();
  for (int i = 0; i < kCommands; ++i) {
    Add(sandbox);
  }
  bool killed = false;
  while (!waiting_.empty() && !HasFailure()) {
    Run([&] {
      if (!std::exchange(killed, true)) {
        server_.Kill();
        server_.Start();
      }
    });
  }
  client_ = std::make_unique<Client>(server_.Connect());
  EXPECT_EQ(Runs(), kCommands);
}

}  // namespace
}  // namespace tests
