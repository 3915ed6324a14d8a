#include "bridge/acp/options.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/text_file.h"

namespace bridge {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;
using ::tests::IsOk;
using ::tests::StatusIs;

TEST(ParseOptionsTest, ReadsTheOptionsOfTheEditor) {
  const std::string audit = ::testing::TempDir() + "/audit.jsonl";
  const std::string gate = ::testing::TempDir() + "/gate";
  tests::WriteFile(gate, "otherwise: DENY");
  const auto options =
      ParseOptions({"--display=mirror", "--map", "/a=/b", "--map", "/c=/d",
                    "--cpu-timeout", "5s", "--signal-exit-codes", "shell",
                    "--audit", audit, "--gate", gate, "agent"},
                   "/d");
  ASSERT_THAT(options.status(), IsOk());
  const BridgeOptions& bridge = options->bridge;
  EXPECT_EQ(bridge.display.choice, DisplayChoice::kMirror);
  EXPECT_EQ(bridge.workplace.map.ToRemote("/a/x"), "/b/x");
  EXPECT_EQ(bridge.workplace.map.ToRemote("/c/x"), "/d/x");
  EXPECT_EQ(bridge.limits.cpu_timeout, absl::Seconds(5));
  EXPECT_EQ(bridge.signal_codes, SignalCodes::kAsShell);
  EXPECT_EQ(bridge.gate.Rule({"s", {"ls"}, {}, "/"}).by, "otherwise");
  EXPECT_EQ(bridge.preparation, Preparation::kWithSession);
}

TEST(ParseOptionsTest, ReadsWhatCommandsMayDo) {
  const auto options = ParseOptions({"--profile", "strict", "--allow-host",
                                     "a.example", "--memory", "64M", "agent"},
                                    "/d");
  ASSERT_THAT(options.status(), IsOk());
  const corral::v1::Sandbox& sandbox = options->bridge.workplace.sandbox;
  EXPECT_EQ(sandbox.profile(), corral::v1::Sandbox::STRICT);
  EXPECT_EQ(sandbox.network(), corral::v1::Sandbox::ALLOW_LIST);
  EXPECT_EQ(sandbox.egress_rules(0).host(), "a.example");
  EXPECT_EQ(sandbox.limits().memory_bytes(), 64 << 20);
}

TEST(ParseOptionsTest, ProtectsHostToolsByDefault) {
  const auto protection = [](std::vector<std::string> words) {
    words.emplace_back("agent");
    return ParseOptions(words, "/d")
        ->bridge.workplace.protection.ShortDebugString();
  };
  EXPECT_EQ(protection({}), "protect_host_tools: true");
  EXPECT_EQ(
      protection({"--protect-host-tools", "no", "--read-only-path", "ci"}),
      "read_only_paths: \"ci\"");
  EXPECT_THAT(ParseOptions({"--profile", "nested", "agent"}, "/d").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("needs --protect-host-tools no")));
}

TEST(ParseOptionsTest, AsksAboutHostsOnlyWithAnAllowList) {
  const auto is_asking = [](std::vector<std::string> words) {
    words.emplace_back("agent");
    const auto options = ParseOptions(words, "/d");
    EXPECT_THAT(options.status(), IsOk());
    return options.ok() && options->bridge.ask_hosts;
  };
  EXPECT_TRUE(is_asking({"--ask-hosts", "--network", "allow-list"}));
  EXPECT_TRUE(is_asking({"--ask-hosts", "--allow-host", "a.example"}));
  EXPECT_FALSE(is_asking({"--allow-host", "a.example"}));
  EXPECT_FALSE(is_asking({}));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--ask-hosts", "agent"},
        {"--ask-hosts", "--network", "none", "agent"},
        {"--ask-hosts", "--agent-in-sandbox", "--network", "none", "gemini"}}) {
    EXPECT_THAT(ParseOptions(words, "/d").status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("--ask-hosts goes with an allow-list only; "
                                   "give --allow-host or --network "
                                   "allow-list, too")));
  }
  // The profile has hosts.
  EXPECT_THAT(
      ParseOptions({"--ask-hosts", "--agent-in-sandbox", "gemini"}, "/d")
          .status(),
      IsOk());
}

TEST(ParseOptionsTest, OffersCorralMcpOnlyWithRulesThatItCanHold) {
  const std::string gate = ::testing::TempDir() + "/gate";
  tests::WriteFile(gate, "rule { decision: ALLOW timeout: '5s' }");
  EXPECT_THAT(ParseOptions({"--mcp", "--gate", gate, "agent"}, "/d").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--mcp: rule 1 of --gate limits")));
  // No corral-mcp stands next to this test.
  EXPECT_THAT(ParseOptions({"--mcp", "agent"}, "/d").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no corral-mcp stands next to")));
}

TEST(ParseOptionsTest, ReadsWhatTheDoctorChecks) {
  const auto options = ParseOptions(
      {"doctor", "--map", "/here=/there", "--read-only"}, "/here/a");
  ASSERT_THAT(options.status(), IsOk());
  EXPECT_EQ(options->task, Options::Task::kExamine);
  const Checkup checkup = ToCheckup(*options);
  EXPECT_EQ(checkup.sandbox.workspace().path(), "/there/a");
  EXPECT_TRUE(checkup.sandbox.workspace().read_only());
  EXPECT_THAT(checkup.agent, ElementsAre());
  auto other_options =
      ParseOptions({"doctor", "--server", "unix:/s", "agent"}, "/d");
  ASSERT_THAT(other_options.status(), IsOk());
  other_options->bridge.display.attach = {"corral", "attach"};
  const Checkup other = ToCheckup(*other_options);
  EXPECT_EQ(other.server.server, "unix:/s");
  EXPECT_THAT(other.agent, ElementsAre("agent"));
  EXPECT_THAT(other.attach, ElementsAre("corral", "attach"));
}

TEST(ParseOptionsTest, ReadsEveryOption) {
  const auto options =
      ParseOptions({"--server",    "unix:/s",    "--workspace=sub/../w",
                    "--read-only", "--memory",   "512M",
                    "--pids=100",  "--cpus",     "1.5",
                    "--timeout",   "1m30s",      "--tls-ca",
                    "ca",          "--tls-cert", "cert",
                    "--tls-key",   "key",        "--",
                    "agent",       "--memory",   "--"},
                   "/d");
  ASSERT_THAT(options.status(), IsOk());
  const BridgeOptions& bridge = options->bridge;
  EXPECT_EQ(bridge.server.server, "unix:/s");
  EXPECT_EQ(bridge.server.tls_ca_file, "ca");
  EXPECT_EQ(bridge.server.tls_certificate_file, "cert");
  EXPECT_EQ(bridge.server.tls_key_file, "key");
  EXPECT_EQ(bridge.workplace.workspace, "/d/w");
  EXPECT_TRUE(bridge.workplace.read_only);
  EXPECT_EQ(bridge.workplace.sandbox.limits().memory_bytes(), 512u << 20);
  EXPECT_EQ(bridge.workplace.sandbox.limits().pids(), 100u);
  EXPECT_EQ(bridge.workplace.sandbox.limits().cpu_millis(), 1500u);
  EXPECT_EQ(bridge.limits.timeout, absl::Seconds(90));
  EXPECT_THAT(options->agent, ElementsAre("agent", "--memory", "--"));
}

TEST(ParseOptionsTest, SetsOnlyGivenOptions) {
  const auto options = ParseOptions({"agent", "--help"}, "/d");
  ASSERT_THAT(options.status(), IsOk());
  EXPECT_FALSE(options->help);
  EXPECT_THAT(options->agent, ElementsAre("agent", "--help"));
  EXPECT_EQ(options->bridge.workplace.workspace, "");
  EXPECT_FALSE(options->bridge.workplace.sandbox.limits().has_memory_bytes());
  EXPECT_EQ(options->bridge.limits.timeout, absl::InfiniteDuration());
  EXPECT_EQ(options->bridge.limits.cpu_timeout, absl::InfiniteDuration());
  EXPECT_EQ(options->bridge.display.choice, DisplayChoice::kAuto);
  EXPECT_EQ(options->bridge.signal_codes, SignalCodes::kNone);
  EXPECT_EQ(options->task, Options::Task::kBridge);
  EXPECT_FALSE(options->bridge.workplace.read_only);
}

TEST(ParseOptionsTest, TakesTheLastWayToShowASignal) {
  EXPECT_EQ(ParseOptions({"--signal-exit-codes", "shell", "--signal-exit-codes",
                          "none", "agent"},
                         "/d")
                ->bridge.signal_codes,
            SignalCodes::kNone);
}

TEST(ParseOptionsTest, AnAgentInASandboxHasTheWorkingDirectory) {
  const auto options =
      ParseOptions({"--agent-in-sandbox", "--env", "A", "-e", "B", "--mount",
                    "/none/x:/y:rw", "--home=/none/home", "agent"},
                   "/none/d");
  ASSERT_THAT(options.status(), IsOk());
  EXPECT_TRUE(options->agent_in_sandbox);
  EXPECT_THAT(options->variables, ElementsAre("A", "B"));
  const WorkplaceOptions& workplace = options->bridge.workplace;
  EXPECT_EQ(workplace.workspace, "/none/d");
  ASSERT_EQ(workplace.sandbox.mounts_size(), 2);
  EXPECT_EQ(workplace.sandbox.mounts(0).target(), "/y");
  EXPECT_EQ(workplace.sandbox.mounts(1).target(), "/home/corral");
  EXPECT_EQ(ParseOptions({"--agent-in-sandbox", "--workspace", "w", "agent"},
                         "/none/d")
                ->bridge.workplace.workspace,
            "/none/d/w");
  EXPECT_FALSE(ParseOptions({"agent"}, "/d")->agent_in_sandbox);
}

std::vector<std::string> HostsOf(const Options& options) {
  std::vector<std::string> hosts;
  for (const auto& rule : options.bridge.workplace.sandbox.egress_rules()) {
    hosts.push_back(rule.host());
  }
  return hosts;
}

TEST(ParseOptionsTest, AnAgentInASandboxHasTheProfileOfItsName) {
  const auto options =
      ParseOptions({"--agent-in-sandbox", "--env", "NO_BROWSER", "--allow-host",
                    "a.example", "/x/codex-acp"},
                   "/d");
  ASSERT_THAT(options.status(), IsOk());
  ASSERT_NE(options->profile, nullptr);
  EXPECT_EQ(options->profile->name(), "codex");
  EXPECT_THAT(options->variables,
              IsSupersetOf({"NO_BROWSER", "OPENAI_API_KEY",
                            "INITIAL_AGENT_MODE=agent-full-access",
                            "npm_config_fetch_retries=0"}));
  // A variable that the options name is the user's own.
  EXPECT_THAT(options->variables, Not(Contains("NO_BROWSER=1")));
  // Rules of the options decide first.
  EXPECT_THAT(HostsOf(*options), ElementsAre("a.example", "api.openai.com",
                                             "auth.openai.com", "chatgpt.com"));
  EXPECT_EQ(options->bridge.workplace.sandbox.network(),
            corral::v1::Sandbox::ALLOW_LIST);
}

TEST(ParseOptionsTest, AProfileOpensNoNetworkThatTheOptionsClose) {
  const auto options =
      ParseOptions({"--agent-in-sandbox", "--network", "none", "gemini"}, "/d");
  ASSERT_THAT(options.status(), IsOk());
  EXPECT_THAT(HostsOf(*options), ElementsAre());
  EXPECT_EQ(options->bridge.workplace.sandbox.network(),
            corral::v1::Sandbox::NONE);
  EXPECT_THAT(options->variables, Contains("SANDBOX=corral"));
}

TEST(ParseOptionsTest, AProfileLeadsToTheServicesThatTheOptionsName) {
  const auto options = ParseOptions(
      {"--agent-in-sandbox", "--service", "gemini", "gemini"}, "/d");
  ASSERT_THAT(options.status(), IsOk());
  EXPECT_THAT(HostsOf(*options), ElementsAre());
  EXPECT_THAT(options->variables,
              Contains("GOOGLE_GEMINI_BASE_URL=http://gemini.corral.internal"));
}

TEST(ParseOptionsTest, AnAgentHasAnotherProfileOrNoneIfTheOptionsSaySo) {
  const auto other = ParseOptions(
      {"--agent-in-sandbox", "--agent-profile", "kimi", "gemini"}, "/d");
  EXPECT_EQ(other->profile->name(), "kimi");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--agent-in-sandbox", "--agent-profile=none",
                                 "gemini"},
        {"--agent-in-sandbox", "agent"},
        {"gemini"},
        {"doctor", "--agent-in-sandbox"}}) {
    const auto none = ParseOptions(words, "/d");
    ASSERT_THAT(none.status(), IsOk());
    EXPECT_EQ(none->profile, nullptr);
    EXPECT_THAT(HostsOf(*none), ElementsAre());
    EXPECT_THAT(none->variables, ElementsAre());
  }
}

TEST(ParseOptionsTest, NotesWhatMattersForAnAgentInside) {
  auto options = ParseOptions({"--agent-in-sandbox", "kimi"}, "/d");
  const AgentRuntime runtime = {"/x/kimi", {"/x", "/y"}, {}};
  EXPECT_THAT(
      NotesInside(*options, runtime),
      ElementsAre(HasSubstr("the profile kimi (Kimi Code)"),
                  HasSubstr("needs /x, which"), HasSubstr("needs /y, which"),
                  HasSubstr("keeps in ~/.kimi, ~/.kimi-code is lost")));
  const Checkup checkup = ToCheckup(*options, runtime);
  ASSERT_TRUE(checkup.inside.has_value());
  EXPECT_THAT(checkup.inside->argv, ElementsAre("/x/kimi"));
  EXPECT_THAT(checkup.inside->variables,
              IsSupersetOf({"KIMI_MODEL_NAME", "KIMI_CODE_NO_AUTO_UPDATE=1"}));
  EXPECT_FALSE(ToCheckup(*options).inside.has_value());
  options = ParseOptions({"--agent-in-sandbox", "--home", "/h", "kimi"}, "/d");
  EXPECT_THAT(NotesInside(*options, {}), SizeIs(1));
  options = ParseOptions({"--agent-in-sandbox", "agent"}, "/d");
  EXPECT_THAT(NotesInside(*options, {}),
              ElementsAre(HasSubstr("no profile; there are claude, codex")));
}

TEST(ParseOptionsTest, AddsWhatTheAgentsProgramNeeds) {
  auto options = ParseOptions(
      {"--agent-in-sandbox", "--workspace", "/none", "/bin/sh"}, "/d");
  ASSERT_THAT(options.status(), IsOk());
  const auto runtime = AddRuntime("/d", *options);
  ASSERT_THAT(runtime.status(), IsOk());
  EXPECT_EQ(runtime->program, "/usr/bin/sh");
  EXPECT_EQ(options->bridge.workplace.sandbox.mounts_size(), 0);
}

TEST(ParseOptionsTest, FindsTheProgramByWhatTheUserHas) {
  std::string home = "/tmp/options_XXXXXX";
  ASSERT_NE(::mkdtemp(home.data()), nullptr);
  for (const char* program : {"/bin/agent", "/w/agent"}) {
    std::filesystem::create_directory(
        std::filesystem::path(home + program).parent_path());
    tests::WriteFile(home + program, "#!/bin/sh\n");
    ASSERT_EQ(::chmod((home + program).c_str(), 0755), 0);
  }
  std::filesystem::create_directory_symlink("w", home + "/link");
  ASSERT_EQ(::setenv("PATH", (home + "/bin").c_str(), 1), 0);
  ASSERT_EQ(::setenv("HOME", home.c_str(), 1), 0);
  const auto mounts = [&](const std::string& agent) {
    auto options = ParseOptions({"--agent-in-sandbox", agent}, home + "/link");
    EXPECT_EQ(options->bridge.workplace.workspace, home + "/w");
    EXPECT_THAT(AddRuntime(home + "/w", *options).status(), IsOk());
    std::vector<std::string> sources;
    for (const auto& mount : options->bridge.workplace.sandbox.mounts()) {
      sources.push_back(mount.source());
    }
    return sources;
  };
  // The directory "bin" of the home alone is shown, not the home.
  EXPECT_THAT(mounts("agent"), ElementsAre(home + "/bin"));
  EXPECT_THAT(mounts("./agent"), ElementsAre());
  EXPECT_EQ(ParseOptions({"--workspace", home + "/link", "agent"}, "/d")
                ->bridge.workplace.workspace,
            home + "/link");
  std::filesystem::remove_all(home);
}

TEST(ParseOptionsTest, AcceptsHelpWithoutAnAgent) {
  EXPECT_TRUE(ParseOptions({"--help"}, "/d")->help);
  for (const char* text : {"[doctor] [OPTIONS] [--] AGENT", "--workspace DIR",
                           "--agent-in-sandbox", "--display HOW"}) {
    EXPECT_THAT(HelpText(), HasSubstr(text));
  }
}

TEST(ParseOptionsTest, NamesTheWrongOption) {
  const struct {
    std::vector<std::string> arguments;
    const char* message;
  } cases[] = {
      {{}, "no agent"},
      {{"--"}, "no agent"},
      {{"--", ""}, "no agent"},
      {{"--nope", "a"}, "unknown option --nope"},
      {{"--read-only=1", "a"},
       "--read-only takes no value, but \"1\" is given"},
      {{"--memory"}, "--memory takes a value: SIZE"},
      {{"--memory", "x", "a"}, "--memory \"x\":"},
      {{"--memory", "", "a"}, "--memory \"\":"},
      {{"--memory", "0", "a"}, "--memory \"0\":"},
      {{"--memory", "-1M", "a"}, "--memory \"-1M\":"},
      {{"--memory", "99999999999T", "a"}, "--memory \"99999999999T\":"},
      {{"--pids=7", "a"}, "--pids \"7\": allowed is 8 to"},
      {{"--pids", "1.5", "a"}, "--pids \"1.5\":"},
      {{"--cpus", "0", "a"}, "--cpus \"0\":"},
      {{"--cpus", "nan", "a"}, "--cpus \"nan\": allowed is"},
      {{"--timeout", "1y", "a"}, "--timeout \"1y\":"},
      {{"--timeout", "-1s", "a"}, "--timeout \"-1s\":"},
      {{"--timeout", "inf", "a"}, "--timeout \"inf\":"},
      {{"--env", "A", "a"}, "--env goes with --agent-in-sandbox only"},
      {{"--publish", "80", "a"}, "--publish goes with --agent-in-sandbox only"},
      {{"--agent-profile", "kimi", "a"},
       "--agent-profile goes with --agent-in-sandbox only"},
      {{"--agent-in-sandbox", "--agent-profile", "x", "a"},
       "--agent-profile \"x\": allowed is none or"},
      {{"--agent-in-sandbox", "--env=", "a"}, "--env \"\":"},
      {{"--agent-in-sandbox", "--env=A=b", "a"}, "--env \"A=b\":"},
      {{"--agent-in-sandbox", "--mcp", "a"}, "--mcp does not go with"},
      {{"--agent-in-sandbox", "--map", "/a=/b", "a"}, "--map does not go with"},
      {{"--mount", "a:b", "a"}, "--mount \"a:b\":"},
      {{"--display", "x", "a"}, "--display \"x\": allowed is auto, meta"},
      {{"--signal-exit-codes", "x", "a"},
       "--signal-exit-codes \"x\": allowed is none or shell"},
      {{"--map", "/a", "a"}, "--map \"/a\": allowed is LOCAL=REMOTE"},
      {{"--cpu-timeout", "1y", "a"}, "--cpu-timeout \"1y\":"},
  };
  for (const auto& example : cases) {
    EXPECT_THAT(ParseOptions(example.arguments, "/d").status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(example.message)));
  }
}

}  // namespace
}  // namespace bridge
