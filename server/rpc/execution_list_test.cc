// ListExecutions, from a client's side.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "gmock/gmock.h"
#include "grpcpp/support/status.h"
#include "gtest/gtest.h"
#include "server/core/recovery.h"
#include "server/core/sandbox.h"
#include "server/rpc/server_fixture.h"

namespace server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kManySandboxes = 100;
constexpr int kManyExecutions = 1000;
constexpr char kAll[] = "tenants/default/sandboxes/-";

class ExecutionListTest : public ServerFixture {
 protected:
  ExecutionListTest() : ServerFixture(kManySandboxes, kManyExecutions) {}

  grpc::Status List(const corral::v1::ListExecutionsRequest& request,
                    corral::v1::ListExecutionsResponse* response) {
    return Call(execution_stub_.get(), &ExecutionStub::ListExecutions, request,
                response);
  }
  // The names on all pages, and how many pages there are.
  std::vector<std::string> ListNames(const std::string& parent, int page_size,
                                     int* pages) {
    std::vector<std::string> names;
    corral::v1::ListExecutionsRequest request;
    request.set_parent(parent);
    request.set_page_size(page_size);
    *pages = 0;
    do {
      corral::v1::ListExecutionsResponse response;
      EXPECT_TRUE(List(request, &response).ok());
      EXPECT_LE(response.ByteSizeLong(), 2 << 20);
      for (const auto& execution : response.executions()) {
        names.push_back(execution.name());
      }
      request.set_page_token(response.next_page_token());
      ++*pages;
    } while (!request.page_token().empty());
    return names;
  }
  std::string Start(const std::string& sandbox, const std::string& id,
                    const corral::v1::Command& command = Command()) {
    corral::v1::StartExecutionRequest request;
    request.set_parent(sandbox);
    request.set_execution_id(id);
    *request.mutable_command() = command;
    corral::v1::Execution response;
    EXPECT_TRUE(Call(execution_stub_.get(), &ExecutionStub::StartExecution,
                     request, &response)
                    .ok());
    return response.name();
  }
};

TEST_F(ExecutionListTest, ListsOneSandboxOrAllInTheOrderOfNames) {
  const std::string b = CreateSandbox("b");
  const std::string a = CreateSandbox("a");
  CreateSandbox("empty");
  const std::string b1 = Start(b, "1");
  const std::string a2 = Start(a, "2");
  const std::string a1 = Start(a, "1");
  int pages = 0;
  EXPECT_THAT(ListNames(kAll, 0, &pages), ElementsAre(a1, a2, b1));
  EXPECT_EQ(pages, 1);
  EXPECT_THAT(ListNames(a, 0, &pages), ElementsAre(a1, a2));
  EXPECT_THAT(ListNames(kAll, 1, &pages), ElementsAre(a1, a2, b1));
  EXPECT_EQ(pages, 3);
  EXPECT_THAT(ListNames(kAll, 2, &pages), ElementsAre(a1, a2, b1));
  EXPECT_EQ(pages, 2);
  EXPECT_THAT(ListNames(a, 1, &pages), ElementsAre(a1, a2));
  // A token of another sandbox names none of this one.
  corral::v1::ListExecutionsRequest request;
  request.set_parent(a);
  request.set_page_token(Start(b, "3"));
  corral::v1::ListExecutionsResponse response;
  ASSERT_TRUE(List(request, &response).ok());
  EXPECT_THAT(response.executions(), SizeIs(2));
}

TEST_F(ExecutionListTest, RefusesAWrongPageAndAnUnknownSandbox) {
  corral::v1::ListExecutionsRequest request;
  corral::v1::ListExecutionsResponse response;
  request.set_parent(kAll);
  request.set_page_size(-1);
  EXPECT_EQ(Field(List(request, &response)), "page_size");
  request.set_page_size(0);
  request.set_page_token("nonsense");
  EXPECT_EQ(Field(List(request, &response)), "page_token");
  request.clear_page_token();
  request.set_parent("tenants/default/sandboxes/none");
  EXPECT_EQ(Reason(List(request, &response)), "SANDBOX_NOT_FOUND");
}

TEST_F(ExecutionListTest, ShowsTheBeginningOfACommandWithoutItsEnvironment) {
  corral::v1::Command command =
      Command({"a", std::string(100 << 10, 'x'), "last"});
  command.add_environment()->set_name("NAME");
  const std::string name = StartExecution(CreateSandbox(), command);
  corral::v1::ListExecutionsRequest request;
  request.set_parent(kAll);
  corral::v1::ListExecutionsResponse response;
  ASSERT_TRUE(List(request, &response).ok());
  const corral::v1::Command& shown = response.executions(0).command();
  ASSERT_THAT(shown.argv(), SizeIs(2));
  EXPECT_EQ(shown.argv(0), "a");
  EXPECT_LT(shown.argv(1).size(), 4096);
  EXPECT_THAT(shown.environment(), IsEmpty());
  // GetExecution has all of it.
  EXPECT_THAT(Get(name).command().argv(), SizeIs(3));
  EXPECT_EQ(Get(name).command().argv(2), "last");
  EXPECT_THAT(Get(name).command().environment(), SizeIs(1));
}

TEST_F(ExecutionListTest, NamesTheSandboxesThatItCannotListYet) {
  const std::string box = CreateSandbox("box");
  const std::string hidden = Start(box, "1");
  const std::string other = Start(CreateSandbox("other"), "1");
  const std::string records = absl::StrCat(path_, "/sandboxes/box/executions");
  std::filesystem::rename(records, records + ".away");
  const std::ofstream no_directory(records);
  Restart();

  corral::v1::ListExecutionsRequest request;
  corral::v1::ListExecutionsResponse response;
  request.set_parent(box);
  const grpc::Status status = List(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Reason(status), "SANDBOX_NOT_READY");
  request.set_parent(kAll);
  ASSERT_TRUE(List(request, &response).ok());
  ASSERT_THAT(response.executions(), SizeIs(1));
  EXPECT_EQ(response.executions(0).name(), other);
  EXPECT_THAT(response.unreachable(), ElementsAre(box));

  std::filesystem::remove(records);
  std::filesystem::rename(records + ".away", records);
  timers_.AwaitTimers(1);
  timers_.Advance(Recovery::kReadRetry);
  request.set_parent(box);
  while (!List(request, &response).ok()) {
    std::this_thread::yield();
  }
  request.set_parent(kAll);
  ASSERT_TRUE(List(request, &response).ok());
  ASSERT_THAT(response.executions(), SizeIs(2));
  EXPECT_EQ(response.executions(0).name(), hidden);
  EXPECT_THAT(response.unreachable(), IsEmpty());
}

TEST_F(ExecutionListTest, KeepsAPageBelow2MiB) {
  const std::string sandbox = CreateSandbox();
  const corral::v1::Command command = Command({std::string(4000, 'x')});
  for (int i = 0; i < 600; ++i) {
    Start(sandbox, absl::StrCat(i), command);
  }
  int pages = 0;
  EXPECT_THAT(ListNames(sandbox, 1000, &pages), SizeIs(600));
  EXPECT_EQ(pages, 2);
}

TEST_F(ExecutionListTest, ListsManySandboxesPageByPage) {
  constexpr int kEach = 10;
  for (int i = 0; i < kManySandboxes; ++i) {
    const std::string sandbox = CreateSandbox();
    corral::v1::Command command = Command();
    command.mutable_output()->set_overflow(corral::v1::OutputPolicy::BLOCK);
    for (int j = 0; j < kEach; ++j) {
      StartExecution(sandbox, command);
    }
  }
  int pages = 0;
  const absl::Time begin = absl::Now();
  const std::vector<std::string> names = ListNames(kAll, 100, &pages);
  std::cout << "a list of " << names.size() << " executions in "
            << kManySandboxes << " sandboxes took "
            << absl::FormatDuration(absl::Now() - begin) << "\n";
  EXPECT_THAT(names, SizeIs(kManySandboxes * kEach));
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_THAT(std::set<std::string>(names.begin(), names.end()),
              SizeIs(names.size()));
  EXPECT_EQ(pages, kManySandboxes * kEach / 100);
}

}  // namespace
}  // namespace server
