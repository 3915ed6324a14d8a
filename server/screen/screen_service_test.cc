// ScreenService, from a client's side.

#include "server/screen/screen_service.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/screen_service.grpc.pb.h"
#include "google/protobuf/empty.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "sandbox/client/supervisor_connection.h"
#include "sandbox/storage/terminal_times.h"
#include "server/rpc/server_fixture.h"

namespace server {
namespace {

namespace wire = sandbox::wire;

class ScreenServiceTest : public ServerFixture {
 protected:
  using Stub = corral::v1::ScreenService::Stub;

  ScreenServiceTest() : service_(sandboxes_.get(), &timers_, activity_.get()) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    screens_ = builder.BuildAndStart();
    stub_ = corral::v1::ScreenService::NewStub(
        screens_->InProcessChannel(grpc::ChannelArguments()));
  }
  ~ScreenServiceTest() override { screens_->Shutdown(); }

  std::string StartOnTerminal() {
    corral::v1::Command command = Command();
    command.mutable_terminal()->set_rows(4);
    command.mutable_terminal()->set_columns(20);
    return StartExecution(CreateSandbox("box"), command);
  }
  // Returns the path of the file with the times of a terminal.
  std::string TimesOf(const std::string& name) const {
    return absl::StrCat(path_, "/sandboxes/box/executions/",
                        name.substr(name.rfind('/') + 1),
                        sandbox::kTerminalTimes);
  }
  grpc::Status Get(const std::string& name, uint32_t scrollback_lines,
                   corral::v1::GetScreenResponse* response) {
    corral::v1::GetScreenRequest request;
    request.set_name(name);
    request.set_scrollback_lines(scrollback_lines);
    return Call(stub_.get(), &Stub::GetScreen, request, response);
  }
  grpc::Status Clear(const std::string& name) {
    corral::v1::ClearScreenRequest request;
    request.set_name(name);
    google::protobuf::Empty response;
    return Call(stub_.get(), &Stub::ClearScreen, request, &response);
  }
  grpc::Status ListTimes(const std::string& name, uint64_t skip,
                         corral::v1::ListTerminalTimesResponse* response) {
    corral::v1::ListTerminalTimesRequest request;
    request.set_name(name);
    request.set_skip(skip);
    return Call(stub_.get(), &Stub::ListTerminalTimes, request, response);
  }
  grpc::Status ListTimes(const std::string& name, uint64_t skip) {
    corral::v1::ListTerminalTimesResponse response;
    const grpc::Status status = ListTimes(name, skip, &response);
    EXPECT_EQ(response.times_size(), 0);
    return status;
  }

  ScreenService service_;
  std::unique_ptr<grpc::Server> screens_;
  std::unique_ptr<Stub> stub_;
};

TEST_F(ScreenServiceTest, ShowsAndClearsTheScreenOfATerminal) {
  const std::string name = StartOnTerminal();
  factory_.Write(name, wire::TERMINAL, "old\r\n$ ");
  corral::v1::GetScreenResponse response;
  ASSERT_TRUE(Get(name, 1000, &response).ok());
  EXPECT_EQ(response.screen().lines(0).text(), "old");
  EXPECT_TRUE(Clear(name).ok());
  ASSERT_TRUE(Get(name, 0, &response).ok());
  EXPECT_EQ(response.screen().lines(0).text(), "$ ");
  EXPECT_TRUE(ListTimes(name, uint64_t{1} << 32).ok());
}

TEST_F(ScreenServiceTest, RefusesACommandWithoutATerminal) {
  const std::string name = StartOne();
  corral::v1::GetScreenResponse response;
  EXPECT_EQ(Reason(Get(name, 0, &response)), "NOT_A_TERMINAL");
  EXPECT_EQ(Reason(Clear(name)), "NOT_A_TERMINAL");
  EXPECT_EQ(Reason(ListTimes(name, 0)), "NOT_A_TERMINAL");
}

TEST_F(ScreenServiceTest, RefusesAnUnknownExecutionAndAWrongNumber) {
  const std::string name = StartOnTerminal();
  const std::string other = absl::StrCat(name, "x");
  corral::v1::GetScreenResponse response;
  EXPECT_EQ(Reason(Get(other, 0, &response)), "EXECUTION_NOT_FOUND");
  EXPECT_EQ(Reason(Clear(other)), "EXECUTION_NOT_FOUND");
  EXPECT_EQ(Reason(ListTimes(other, 0)), "EXECUTION_NOT_FOUND");
  EXPECT_EQ(Field(Get(name, 1001, &response)), "scrollback_lines");
  EXPECT_EQ(Field(ListTimes(name, (uint64_t{1} << 32) + 1)), "skip");
}

TEST_F(ScreenServiceTest, ListsTheTimesAndSizesOfATerminal) {
  const std::string name = StartOnTerminal();
  sandbox::TerminalTimesWriter times(TimesOf(name), 0);
  times.OnOutput(5, 1500);
  times.OnResize(3, 9, 2000);
  corral::v1::ListTerminalTimesResponse response;
  ASSERT_TRUE(ListTimes(name, 0, &response).ok());
  EXPECT_EQ(response.ShortDebugString(),
            "times { elapsed { seconds: 1 nanos: 500000000 } } times { offset: "
            "5 elapsed { seconds: 2 } size { rows: 3 columns: 9 } }");
  ASSERT_TRUE(ListTimes(name, 1, &response).ok());
  ASSERT_EQ(response.times_size(), 1);
  EXPECT_EQ(response.times(0).offset(), 5);
}

TEST_F(ScreenServiceTest, ListsTenThousandTimesAtOnce) {
  const std::string name = StartOnTerminal();
  sandbox::TerminalTimesWriter times(TimesOf(name), 0);
  for (uint64_t now = 0; now < 10'002; ++now) {
    times.OnResize(3, 9, now);
  }
  corral::v1::ListTerminalTimesResponse response;
  ASSERT_TRUE(ListTimes(name, 0, &response).ok());
  EXPECT_EQ(response.times_size(), 10'000);
  ASSERT_TRUE(ListTimes(name, 10'000, &response).ok());
  EXPECT_EQ(response.times_size(), 2);
}

TEST_F(ScreenServiceTest, ReportsTimesThatTheDiskDoesNotGive) {
  const std::string name = StartOnTerminal();
  std::filesystem::create_directory(TimesOf(name));
  EXPECT_EQ(Reason(ListTimes(name, 0)), "SERVER_FAULT");
}

}  // namespace
}  // namespace server
