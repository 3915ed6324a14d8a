// corral-mcp as an HTTP server, with the real corrald.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "bridge/jsonrpc/json.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/integration/integration_test.h"
#include "tests/process.h"

namespace tests {
namespace {

using bridge::OrderedJson;

constexpr uid_t kNobody = 65534;
constexpr char kMeta[] =
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
    R"("io.modelcontextprotocol/clientCapabilities":{}})";

class McpHttpTest : public IntegrationTest {
 protected:
  void SetUp() override {
    IntegrationTest::SetUp();
    StartMcp({"--http", "0"});
  }
  void TearDown() override {
    mcp_->Signal(SIGTERM);
    EXPECT_EQ(mcp_->Wait(), 0) << mcp_->ReadError();
    EXPECT_EQ(SandboxCount(), 0);
    IntegrationTest::TearDown();
  }

  void StartMcp(const std::vector<std::string>& options) {
    std::vector<std::string> words = {
        "./corral-mcp",      "--server", server_.address(), "--workspace",
        server_.workspace(), "--shell",  "/bin/bash"};
    words.insert(words.end(), options.begin(), options.end());
    mcp_ = std::make_unique<Process>(words);
    std::string said;
    while (!absl::StrContains(said, "/mcp\n") && mcp_->IsRunning()) {
      said = mcp_->ReadError();
    }
    const size_t end = said.rfind("/mcp");
    const size_t begin = said.rfind(':', end) + 1;
    ASSERT_TRUE(absl::SimpleAtoi(said.substr(begin, end - begin), &port_))
        << said;
  }

  sandbox::UniqueFd Connect() const {
    sandbox::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(
        ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                  sizeof(address)),
        0);
    return socket;
  }
  static void Send(const sandbox::UniqueFd& socket, const std::string& body,
                   const std::string& fields) {
    const std::string text = absl::StrCat(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        "Content-Type: application/json\r\nContent-Length: ",
        body.size(), "\r\n", fields, "\r\n", body);
    EXPECT_EQ(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  // Reads until the text holds `wanted`, or to the end.
  static std::string Read(const sandbox::UniqueFd& socket,
                          const std::string& wanted = "\377") {
    std::string text;
    char buffer[4096];
    for (ssize_t got = 1; got > 0 && !absl::StrContains(text, wanted);) {
      got = ::read(socket.get(), buffer, sizeof(buffer));
      text.append(buffer, got > 0 ? got : 0);
    }
    return text;
  }
  std::string Post(const std::string& body, const std::string& fields = "") {
    const sandbox::UniqueFd socket = Connect();
    Send(socket, body, fields);
    return Read(socket);
  }

  static std::string Request(const std::string& method,
                             const std::string& params) {
    return absl::StrCat(R"({"jsonrpc":"2.0","id":1,"method":")", method,
                        R"(","params":)", params, "}");
  }
  static std::string Call(const std::string& tool, const OrderedJson& arguments,
                          const std::string& more = "") {
    return Request(
        "tools/call",
        absl::StrCat(R"({"name":")", tool, R"(","arguments":)",
                     bridge::SerializeOrdered(arguments), more, "}"));
  }
  // The field that names a new session.
  std::string Begin() {
    const std::string answer =
        Post(Request("initialize", R"({"protocolVersion":"2025-11-25"})"));
    const size_t at = answer.find("Mcp-Session-Id: ");
    EXPECT_NE(at, answer.npos) << answer;
    return answer.substr(at, answer.find('\n', at) + 1 - at);
  }
  int64_t SandboxCount() { return client_->GetInfo().sandboxes(); }

  std::unique_ptr<Process> mcp_;
  int port_ = 0;
};

TEST_F(McpHttpTest, GivesEachSessionTerminalsOfItsOwn) {
  const std::string first = Begin();
  const std::string second = Begin();
  EXPECT_EQ(SandboxCount(), 0);
  EXPECT_TRUE(absl::StrContains(
      Post(Call("run", {{"command", "x=1; echo x is $x"}}), first), "x is 1"));
  EXPECT_TRUE(absl::StrContains(
      Post(Call("run", {{"command", "echo x is $x"}}), second), "x is\\n"));
  EXPECT_EQ(SandboxCount(), 2);
}

TEST_F(McpHttpTest, StreamsAnAnswerThatTakesLong) {
  const std::string session = Begin();
  const sandbox::UniqueFd socket = Connect();
  Send(
      socket,
      Call("run", {{"command", "read x; echo got $x"}, {"timeoutMs", 600'000}}),
      session + "Accept: application/json, text/event-stream\r\n");
  EXPECT_TRUE(absl::StrContains(Read(socket, "begun"), "text/event-stream"));
  Post(Call("type", {{"text", "it\r"}}), session);
  EXPECT_TRUE(absl::StrContains(Read(socket), "got it"));
}

TEST_F(McpHttpTest, EndsAStatelessCallWhoseClientHasGone) {
  const std::string fields =
      "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"
      "Accept: application/json, text/event-stream\r\nMcp-Name: wait\r\n";
  const std::string wait =
      Call("wait", {{"text", "never"}, {"timeoutMs", 3'600'000}},
           absl::StrCat(",", kMeta));
  // No more calls may wait at one time.
  constexpr int kCalls = 32;
  std::vector<sandbox::UniqueFd> waiting;
  for (int i = 0; i < kCalls; ++i) {
    waiting.push_back(Connect());
    Send(waiting.back(), wait, fields);
  }
  for (const sandbox::UniqueFd& socket : waiting) {
    EXPECT_TRUE(absl::StrContains(Read(socket, ": begun"), "begun"));
  }
  EXPECT_TRUE(absl::StrContains(Post(wait, fields), "too many calls"));
  waiting.clear();
  std::string answer = "too many calls";
  while (absl::StrContains(answer, "too many calls")) {
    const sandbox::UniqueFd socket = Connect();
    Send(socket, wait, fields);
    answer = Read(socket, ": begun");
  }
  EXPECT_TRUE(absl::StrContains(answer, ": begun"));
}

TEST_F(McpHttpTest, ServesNoOtherUserWithoutAToken) {
  const std::string session = Begin();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const sandbox::UniqueFd output(ends[0]);
  sandbox::UniqueFd input(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setresuid(kNobody, kNobody, kNobody) != 0) {
      ::_exit(1);
    }
    const std::string answer = Post(Request("tools/list", "{}"), session);
    const ssize_t put = ::write(input.get(), answer.data(), answer.size());
    ::_exit(put > 0 ? 0 : 1);
  }
  input.Reset();
  EXPECT_TRUE(absl::StartsWith(Read(output), "HTTP/1.1 403 "));
  ::waitpid(child, nullptr, 0);
}

TEST_F(McpHttpTest, DemandsTheTokenOnOtherAddresses) {
  Process refused({"./corral-mcp", "--http", "0.0.0.0:0"});
  EXPECT_EQ(refused.Wait(), 2);
  EXPECT_TRUE(absl::StrContains(refused.ReadError(), "--http-token-file"));

  mcp_->Signal(SIGTERM);
  EXPECT_EQ(mcp_->Wait(), 0);
  const std::string file = server_.directory() + "/token";
  std::ofstream(file) << "0123456789abcdef";
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  StartMcp({"--http", "0.0.0.0:0", "--http-token-file", file});
  EXPECT_TRUE(
      absl::StartsWith(Post(Request("initialize", "{}")), "HTTP/1.1 401 "));
  EXPECT_TRUE(
      absl::StartsWith(Post(Request("initialize", "{}"),
                            "Authorization: Bearer 0123456789abcdef\r\n"),
                       "HTTP/1.1 200 "));
}

TEST_F(McpHttpTest, RefusesABodyThatIsTooLarge) {
  const sandbox::UniqueFd socket = Connect();
  const std::string head =
      "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
      "application/json\r\nConnection: close\r\nContent-Length: "
      "5000000\r\n\r\n";
  ASSERT_EQ(::send(socket.get(), head.data(), head.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(head.size()));
  const std::string body(5'000'000, ' ');
  for (size_t at = 0; at < body.size();) {
    const ssize_t put =
        ::send(socket.get(), body.data() + at, body.size() - at, MSG_NOSIGNAL);
    ASSERT_GT(put, 0);
    at += put;
  }
  EXPECT_TRUE(absl::StartsWith(Read(socket), "HTTP/1.1 413 "));
}

}  // namespace
}  // namespace tests
