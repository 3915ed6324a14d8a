// corral-mcp between a client on its pipes and the real server.

#ifndef TESTS_INTEGRATION_MCP_FIXTURE_H_
#define TESTS_INTEGRATION_MCP_FIXTURE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bridge/jsonrpc/json.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "gtest/gtest.h"
#include "tests/integration/integration_test.h"
#include "tests/process.h"

namespace tests {

class McpTest : public IntegrationTest {
 protected:
  void SetUp() override {
    IntegrationTest::SetUp();
    StartMcp({});
  }
  void TearDown() override {
    mcp_->CloseInput();
    EXPECT_EQ(mcp_->Wait(), 0) << mcp_->ReadError();
    EXPECT_EQ(SandboxCount(), 0);
    IntegrationTest::TearDown();
  }

  void StartMcp(const std::vector<std::string>& options) {
    std::vector<std::string> words = {"./corral-mcp",
                                      "--server",
                                      server_.address(),
                                      "--workspace",
                                      server_.workspace(),
                                      "--shell",
                                      "/bin/bash",
                                      "--cols",
                                      "80",
                                      "--rows",
                                      "10"};
    words.insert(words.end(), options.begin(), options.end());
    mcp_ = std::make_unique<Process>(
        words, std::vector<std::string>{"HOME=/nonexistent"});
  }
  void EndMcp() {
    mcp_->CloseInput();
    EXPECT_EQ(mcp_->Wait(), 0) << mcp_->ReadError();
  }
  void DeleteSandbox(const std::string& id) {
    corral::v1::DeleteSandboxRequest request;
    request.set_name(absl::StrCat(kTenant, "/sandboxes/", id));
    google::protobuf::Empty empty;
    EXPECT_TRUE(
        client_->Call(&Client::SandboxStub::DeleteSandbox, request, &empty)
            .ok());
  }

  bridge::OrderedJson Ask(const std::string& method,
                          const bridge::OrderedJson& params) {
    const bridge::OrderedJson request = {{"jsonrpc", "2.0"},
                                         {"id", ++id_},
                                         {"method", method},
                                         {"params", params}};
    mcp_->Write(bridge::SerializeOrdered(request) + "\n");
    const auto answer = bridge::ParseOrderedJson(mcp_->ReadLine());
    EXPECT_TRUE(answer.has_value()) << mcp_->ReadError();
    return answer.value_or(bridge::OrderedJson());
  }
  // The text that a tool answers.
  std::string Call(const std::string& tool,
                   const bridge::OrderedJson& arguments) {
    const bridge::OrderedJson answer =
        Ask("tools/call", {{"name", tool}, {"arguments", arguments}});
    return answer["result"]["content"][0]["text"].get<std::string>();
  }
  // Reads the terminal until it holds `text`.
  std::string AwaitContent(const std::string& text) {
    std::string content;
    while (!absl::StrContains(content, text) && !HasFailure()) {
      content = Call("getContent", bridge::OrderedJson::object());
    }
    return content;
  }
  void Type(const std::string& line) {
    EXPECT_TRUE(
        absl::StartsWith(Call("type", {{"text", line + "\r"}}), "Typed "));
  }
  int64_t SandboxCount() { return client_->GetInfo().sandboxes(); }

  std::unique_ptr<Process> mcp_;
  int id_ = 0;
};

}  // namespace tests

#endif  // TESTS_INTEGRATION_MCP_FIXTURE_H_
