#include "bridge/mcp/options.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bridge/jsonrpc/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/text_file.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(McpOptions, HasTheDefaultsOfTerminalMcp) {
  const McpOptions options = ParseMcpOptions({}).value();
  EXPECT_EQ(options.terminals.shell.columns, 120);
  EXPECT_EQ(options.terminals.shell.rows, 40);
  EXPECT_EQ(options.terminals.max_sessions, 5);
  EXPECT_FALSE(options.terminals.shell.shell.empty());
}

TEST(McpOptions, TakesTheShellOfTheUser) {
  const std::pair<const char*, const char*> cases[] = {
      {"/bin/zsh", "/bin/zsh"}, {"", "/bin/bash"}, {nullptr, "/bin/bash"}};
  for (const auto& [variable, shell] : cases) {
    if (variable == nullptr) {
      ::unsetenv("SHELL");
    } else {
      ::setenv("SHELL", variable, 1);
    }
    const McpOptions options = ParseMcpOptions({}).value();
    EXPECT_EQ(options.terminals.shell.shell, shell);
    // The rules judge the same one.
    EXPECT_THAT(options.gate->Judge("type", OrderedJson())->command.argv,
                ElementsAre(shell));
  }
}

TEST(McpOptions, StartsShellsInTheCurrentDirectoryIfItIsInTheWorkspace) {
  ASSERT_EQ(::chdir("/usr/bin"), 0);
  EXPECT_EQ(ParseMcpOptions({})->terminals.sandbox.sandbox.workspace().path(),
            "/usr/bin");
  EXPECT_EQ(ParseMcpOptions({"--workspace", "/usr"})->terminals.directory,
            "/usr/bin");
  EXPECT_EQ(ParseMcpOptions({"--workspace", "/etc"})->terminals.directory, "");
  EXPECT_EQ(ParseMcpOptions({"--no-workspace"})->terminals.directory, "");
  EXPECT_EQ(ParseMcpOptions({"--sandbox", "s1"})->terminals.directory, "");
}

TEST(McpOptions, TakesTheOptionsOfTerminalsAndSandboxes) {
  const McpOptions options =
      ParseMcpOptions({"--headless", "--cols", "100", "--rows=30", "--shell",
                       "/bin/sh", "--max-sessions", "2", "--memory", "64M",
                       "--server", "unix:/x"})
          .value();
  EXPECT_EQ(options.terminals.shell.columns, 100);
  EXPECT_EQ(options.terminals.shell.rows, 30);
  EXPECT_EQ(options.terminals.shell.shell, "/bin/sh");
  EXPECT_EQ(options.terminals.max_sessions, 2);
  EXPECT_EQ(options.terminals.sandbox.sandbox.limits().memory_bytes(),
            64 << 20);
  EXPECT_EQ(options.terminals.sandbox.server.server, "unix:/x");
}

TEST(McpOptions, ProtectsHostToolsByDefault) {
  const auto workspace = [](const std::vector<std::string>& words) {
    return ParseMcpOptions(words)->terminals.sandbox.sandbox.workspace();
  };
  EXPECT_TRUE(workspace({}).protect_host_tools());
  EXPECT_FALSE(workspace({"--protect-host-tools", "no"}).protect_host_tools());
}

TEST(McpOptions, NamesASandboxThatExistsOrThatStays) {
  EXPECT_EQ(ParseMcpOptions({"--sandbox", "s1"})->terminals.sandbox.existing,
            "tenants/default/sandboxes/s1");
  EXPECT_EQ(ParseMcpOptions({"--name", "s1"})->terminals.sandbox.lasting_id,
            "s1");
  EXPECT_FALSE(ParseMcpOptions({"--name", "s1", "--sandbox", "s1"}).ok());
  EXPECT_TRUE(ParseMcpOptions({"--name", "s1", "--http", "0"}).ok());
  EXPECT_FALSE(ParseMcpOptions({"--sandbox", "no name"}).ok());
}

TEST(McpOptions, ServesHttpToOtherMachinesOnlyWithAToken) {
  const std::string file = ::testing::TempDir() + "/token";
  tests::WriteFile(file, "0123456789abcdef\n");
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  EXPECT_FALSE(ParseMcpOptions({})->http.has_value());
  const McpOptions local = ParseMcpOptions({"--http", "8737"}).value();
  EXPECT_EQ(local.http->ToString(), "127.0.0.1:8737");
  EXPECT_EQ(local.token, "");
  const auto error = [](const std::vector<std::string>& words) {
    return std::string(ParseMcpOptions(words).status().message());
  };
  EXPECT_THAT(
      error({"--http", "0.0.0.0:80"}),
      HasSubstr("--http 0.0.0.0:80 can be reached from other machines"));
  EXPECT_EQ(ParseMcpOptions({"--http", "0.0.0.0:80", "--http-token-file", file})
                ->token,
            "0123456789abcdef");
  EXPECT_THAT(error({"--http-token-file", file}), HasSubstr("needs --http"));
  ASSERT_EQ(::chmod(file.c_str(), 0640), 0);
  EXPECT_THAT(error({"--http", "80", "--http-token-file", file}),
              HasSubstr("can be used by others"));
  EXPECT_THAT(error({"--http", "x"}), HasSubstr("ADDRESS:PORT"));
}

TEST(McpOptions, ReadsTheRulesAboutCommands) {
  const std::string file = ::testing::TempDir() + "/rules";
  tests::WriteFile(file, R"(rule { decision: DENY program: "rm" })");
  const McpOptions options = ParseMcpOptions({"--gate", file}).value();
  EXPECT_EQ(options.gate->Judge("run", {{"command", "rm x"}})->ruling.decision,
            corral::config::v1::DENY);
  for (const char* const limit : {R"(timeout: "5s")", R"(memory: "1G")"}) {
    tests::WriteFile(file, absl::StrCat("rule { decision: ALLOW ", limit, "}"));
    EXPECT_THAT(
        std::string(ParseMcpOptions({"--gate", file}).status().message()),
        HasSubstr("rule 1 limits its commands"));
  }
  EXPECT_FALSE(ParseMcpOptions({"--gate", "/nonexistent"}).ok());
}

TEST(McpOptions, RefusesSizesWithoutAScreen) {
  const absl::Status status = ParseMcpOptions({"--cols", "5000"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("from 1 to 4096"));
  EXPECT_FALSE(ParseMcpOptions({"--rows", "0"}).ok());
}

TEST(McpOptions, TakesNumbersUpToTheirLimits) {
  const std::pair<const char*, int> limits[] = {
      {"--cols", 4096}, {"--rows", 2048}, {"--max-sessions", 100}};
  for (const auto& [option, limit] : limits) {
    EXPECT_TRUE(ParseMcpOptions({option, absl::StrCat(limit)}).ok()) << option;
    for (const int wrong : {0, limit + 1}) {
      EXPECT_THAT(
          std::string(ParseMcpOptions({option, absl::StrCat(wrong)})
                          .status()
                          .message()),
          HasSubstr(absl::StrCat("allowed is a number from 1 to ", limit)));
    }
  }
  EXPECT_FALSE(ParseMcpOptions({"--cols", "x"}).ok());
}

}  // namespace
}  // namespace bridge
