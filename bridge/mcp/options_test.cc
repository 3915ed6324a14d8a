#include "bridge/mcp/options.h"

#include <unistd.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/text_file.h"

namespace bridge {
namespace {

using ::testing::HasSubstr;

TEST(McpOptions, HasTheDefaultsOfTerminalMcp) {
  const McpOptions options = ParseMcpOptions({}).value();
  EXPECT_EQ(options.terminals.shell.columns, 120);
  EXPECT_EQ(options.terminals.shell.rows, 40);
  EXPECT_EQ(options.terminals.max_sessions, 5);
  EXPECT_FALSE(options.terminals.shell.shell.empty());
}

TEST(McpOptions, StartsShellsInTheCurrentDirectoryIfItIsInTheWorkspace) {
  ASSERT_EQ(::chdir("/usr/bin"), 0);
  EXPECT_EQ(ParseMcpOptions({})->terminals.sandbox.sandbox.workspace().path(),
            "/usr/bin");
  EXPECT_EQ(ParseMcpOptions({"--workspace", "/usr"})->terminals.directory,
            "/usr/bin");
  EXPECT_EQ(ParseMcpOptions({"--workspace", "/etc"})->terminals.directory, "");
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

TEST(McpOptions, NamesASandboxThatExistsOrThatStays) {
  EXPECT_EQ(ParseMcpOptions({"--sandbox", "s1"})->terminals.sandbox.existing,
            "tenants/default/sandboxes/s1");
  EXPECT_EQ(ParseMcpOptions({"--name", "s1"})->terminals.sandbox.lasting_id,
            "s1");
  EXPECT_FALSE(ParseMcpOptions({"--name", "s1", "--sandbox", "s1"}).ok());
  EXPECT_TRUE(ParseMcpOptions({"--name", "s1", "--http", "0"}).ok());
  EXPECT_FALSE(ParseMcpOptions({"--sandbox", "no name"}).ok());
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

}  // namespace
}  // namespace bridge
