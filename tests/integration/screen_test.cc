// GetScreen and ClearScreen with the real server and programs in a terminal.

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bridge/jsonrpc/json.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "corral/v1/screen_service.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "tests/integration/integration_test.h"
#include "tests/process.h"

namespace tests {
namespace {

using corral::v1::GetScreenRequest;
using corral::v1::GetScreenResponse;
using corral::v1::TERMINAL;

// The emulators that the process `parent` has started.
std::vector<pid_t> Emulators(pid_t parent) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string pid;
    std::string name;
    std::string state;
    pid_t owner = 0;
    if (file >> pid >> name >> state >> owner && owner == parent &&
        name == "(corral-emulator)") {
      found.push_back(std::stoi(pid));
    }
  }
  return found;
}

class ScreenTest : public IntegrationTest {
 protected:
  // Starts bash in a terminal of 5 x 40, and streams its output.
  void StartShell() {
    corral::v1::Command command =
        MakeCommand({"bash", "--norc", "--noprofile", "-i"});
    command.mutable_terminal()->set_rows(5);
    command.mutable_terminal()->set_columns(40);
    auto* prompt = command.add_environment();
    prompt->set_name("PS1");
    prompt->set_value("$ ");
    shell_ = client_->Start(CreateSandbox(), command).name();
    output_ = client_->Stream(shell_);
    output_->ReadUntil(TERMINAL, "$ ");
  }
  // Types a line, and returns when its output holds `text`.
  void Type(const std::string& line, const std::string& text) {
    client_->WriteInput(shell_, typed_, line + "\r");
    typed_ += line.size() + 1;
    output_->ReadUntil(TERMINAL, text);
  }
  grpc::Status Get(const GetScreenRequest& request,
                   GetScreenResponse* response) {
    grpc::ClientContext context;
    return corral::v1::ScreenService::NewStub(server_.Connect())
        ->GetScreen(&context, request, response);
  }
  GetScreenResponse GetScreen() {
    GetScreenRequest request;
    request.set_name(shell_);
    request.set_scrollback_lines(1000);
    GetScreenResponse response;
    const grpc::Status status = Get(request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  std::string AllText() {
    const GetScreenResponse response = GetScreen();
    std::string text;
    for (const auto& line : response.screen().scrollback()) {
      absl::StrAppend(&text, line.text(), "|");
    }
    for (const auto& line : response.screen().lines()) {
      absl::StrAppend(&text, line.text(), "|");
    }
    return text;
  }

  void Resize(uint32_t rows, uint32_t columns) {
    corral::v1::ResizeTerminalRequest resize;
    resize.set_name(shell_);
    resize.mutable_size()->set_rows(rows);
    resize.mutable_size()->set_columns(columns);
    google::protobuf::Empty empty;
    ASSERT_TRUE(
        client_->Call(&Client::ExecutionStub::ResizeTerminal, resize, &empty)
            .ok());
  }

  std::string shell_;
  std::unique_ptr<OutputCall> output_;
  uint64_t typed_ = 0;
};

TEST_F(ScreenTest, ShowsTheTerminalOfAShell) {
  StartShell();
  Type("seq 1 6; echo do''ne", "done");
  const std::string text = AllText();
  EXPECT_TRUE(absl::StrContains(text, "|1|2|3|4|5|6|done|")) << text;
}

TEST_F(ScreenTest, SurvivesKillsOfTheEmulatorAndOfTheServer) {
  StartShell();
  Type("echo fir''st", "first");
  AllText();
  const std::vector<pid_t> emulators = Emulators(server_.pid());
  ASSERT_EQ(emulators.size(), 1);
  ASSERT_EQ(::kill(emulators.front(), SIGKILL), 0);
  EXPECT_TRUE(absl::StrContains(AllText(), "|first|"));
  server_.Kill();
  server_.Start();
  EXPECT_TRUE(absl::StrContains(AllText(), "|first|"));
}

TEST_F(ScreenTest, HasTheSizeOfTheTerminal) {
  StartShell();
  Resize(7, 50);
  const GetScreenResponse response = GetScreen();
  EXPECT_EQ(response.screen().size().columns(), 50);
  EXPECT_EQ(response.screen().lines_size(), 7);
}

TEST_F(ScreenTest, KeepsTheSizeOfTheTerminalWhenTheServerIsKilled) {
  StartShell();
  Resize(7, 50);
  server_.Kill();
  server_.Start();
  const GetScreenResponse response = GetScreen();
  EXPECT_EQ(response.screen().size().columns(), 50);
  EXPECT_EQ(response.screen().lines_size(), 7);
}

TEST_F(ScreenTest, IsRecordedFromTheBegin) {
  StartShell();
  Type("echo bef''ore", "before\r\n");
  Resize(7, 50);
  Type("echo aft''er; exit", "after");
  client_->Wait(shell_);
  server_.Kill();
  server_.Start();
  std::istringstream recording(RunProgram(
      {"./corral", "--server", server_.address(), "record", shell_}));
  std::string line;
  std::getline(recording, line);
  EXPECT_TRUE(absl::StartsWith(line, R"({"version":2,"width":40,"height":5,)"))
      << line;
  std::string output;
  double time = 0;
  while (std::getline(recording, line)) {
    const auto event = bridge::ParseJson(line).value();
    EXPECT_GE(event[0].get<double>(), time);
    time = event[0].get<double>();
    output += event[1] == "o"
                  ? event[2].get<std::string>()
                  : absl::StrCat("<", event[2].get<std::string>(), ">");
  }
  const size_t resize = output.find("<50x7>");
  EXPECT_LT(output.find("before\r\n"), resize) << output;
  EXPECT_LT(resize, output.find("after\r\n")) << output;
  EXPECT_NE(output.find("after\r\n"), output.npos) << output;
}

TEST_F(ScreenTest, ClearsForEveryClient) {
  StartShell();
  Type("echo o''ld; PS1='%'' '", "% ");
  corral::v1::ClearScreenRequest request;
  request.set_name(shell_);
  google::protobuf::Empty empty;
  grpc::ClientContext context;
  ASSERT_TRUE(corral::v1::ScreenService::NewStub(server_.Connect())
                  ->ClearScreen(&context, request, &empty)
                  .ok());
  EXPECT_EQ(AllText(), "% |||||");
}

TEST_F(ScreenTest, ShowsTheLastScreenOfAProgramThatHasEnded) {
  StartShell();
  Type("echo la''st; exit 3", "last");
  EXPECT_EQ(client_->Wait(shell_).exit().code(), 3);
  const GetScreenResponse response = GetScreen();
  EXPECT_TRUE(absl::StrContains(AllText(), "|last|"));
  EXPECT_EQ(response.execution().state(), corral::v1::Execution::EXITED);
}

TEST_F(ScreenTest, IsPrintedByTheCommandLine) {
  StartShell();
  Type("echo pri''nted", "printed");
  const std::string text =
      RunProgram({"./corral", "--server", server_.address(), "screen", shell_});
  EXPECT_TRUE(absl::StrContains(text, "\nprinted\n")) << text;
  EXPECT_TRUE(
      absl::StrContains(RunProgram({"./corral", "--server", server_.address(),
                                    "screen", "--json", shell_}),
                        "\"cursor\""));
}

TEST_F(ScreenTest, RefusesBadRequests) {
  const std::string command =
      client_->Start(CreateSandbox(), MakeCommand({"true"})).name();
  GetScreenRequest request;
  GetScreenResponse response;
  request.set_name(command);
  EXPECT_EQ(Reason(Get(request, &response)), "NOT_A_TERMINAL");
  request.set_name(command + "x");
  EXPECT_EQ(Reason(Get(request, &response)), "EXECUTION_NOT_FOUND");
  request.set_scrollback_lines(1001);
  EXPECT_EQ(Field(Get(request, &response)), "scrollback_lines");
}

}  // namespace
}  // namespace tests
