// The way out of a sandbox, as its supervisor keeps it.

#include <linux/capability.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/failure.h"
#include "sandbox/storage/network_log.h"
#include "tests/network/name_server.h"
#include "tests/network/upstream_server.h"
#include "tests/status_matchers.h"
#include "tests/supervisor/sandbox_fixture.h"

namespace sandbox {
namespace {

using ::corral::egress::v1::Event;
using ::corral::egress::v1::Rule;
using ::testing::HasSubstr;
using ::tests::IsOk;

std::string LineOf(const std::string& path, const std::string& prefix) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line) && !absl::StartsWith(line, prefix)) {
  }
  return line.substr(std::min(line.size(), prefix.size()));
}

class WayOutTest : public ::testing::Test {
 protected:
  WayOutTest() {
    names_.Set("api.example", {"127.0.0.1"});
    wire::Egress& egress = *sandbox_.spec().mutable_egress();
    egress.add_name_servers(names_.address());
    egress.mutable_policy()->add_private_networks("127.0.0.1");
    Rule* const rule = egress.mutable_policy()->add_rules();
    rule->set_host("api.example");
    rule->add_ports(upstream_.port());
    rule->set_protocol(Rule::TCP);
  }
  // A command that sends a line to the host and prints what comes back.
  wire::StartExecution Talk(const std::string& id, const std::string& first) {
    const std::string connection =
        absl::StrCat("3<>/dev/tcp/api.example/", upstream_.port());
    return sandbox_.Command(
        id, {"/bin/bash", "-c",
             absl::StrCat("PORT=", upstream_.port(), "; ", first,
                          "(echo hello >&3; read -r line <&3; "
                          "echo \"$line\") ",
                          connection)});
  }
  absl::Status Allow(const wire::EgressRules& rules) {
    Outcome outcome;
    sandbox_.connection().AllowHosts(rules, outcome.Callback());
    return outcome.Wait();
  }
  // The supervisor keeps the log of events open.
  bool IsSupervisor(const std::string& pid) {
    std::error_code gone;
    for (const auto& fd : std::filesystem::directory_iterator(
             absl::StrCat("/proc/", pid, "/fd"), gone)) {
      if (std::filesystem::read_symlink(fd, gone) ==
          sandbox_.directory() + "/network.log") {
        return true;
      }
    }
    return false;
  }
  // The process of the way out, when there is one that is not `before`.
  pid_t AwaitProcess(pid_t before) {
    for (;;) {
      for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        pid_t pid = 0;
        if (absl::SimpleAtoi(entry.path().filename().string(), &pid) &&
            pid != before &&
            LineOf(entry.path() / "comm", "") == "corral-egress" &&
            IsSupervisor(LineOf(entry.path() / "status", "PPid:\t"))) {
          return pid;
        }
      }
      ::sched_yield();
    }
  }
  // The events of the sandbox, when there are `count`.
  std::vector<Event> AwaitEvents(size_t count) {
    for (;;) {
      std::vector<Event> events = *ReadNetworkLog(sandbox_.directory(), 0, 100);
      if (events.size() >= count) {
        return events;
      }
      ::sched_yield();
    }
  }

  tests::NameServer names_;
  tests::UpstreamServer upstream_{tests::Echo};
  TestSandbox sandbox_;
};

TEST_F(WayOutTest, LetsCommandsReachAHostByNameAndKeepsTheEvents) {
  ASSERT_THAT(sandbox_.Create(), IsOk());
  EXPECT_EQ(sandbox_.Run(Talk("a", "")).exit().wait_status(), 0);
  EXPECT_EQ(sandbox_.Output("a", "stdout"), "hello\n");
  const std::vector<Event> ended = AwaitEvents(1);
  EXPECT_EQ(ended[0].kind(), Event::CONNECTION_ENDED);
  EXPECT_EQ(ended[0].host(), "api.example");
  EXPECT_EQ(ended[0].number(), 1U);
  sandbox_.Run(sandbox_.Shell("b", "getent hosts other.example"));
  const std::vector<Event> events = AwaitEvents(2);
  EXPECT_EQ(events[1].kind(), Event::NAME_REFUSED);
  EXPECT_EQ(events[1].host(), "other.example");
  EXPECT_EQ(events[1].number(), 2U);
}

TEST_F(WayOutTest, ReplacesItsProcessEachTimeItEnds) {
  ASSERT_THAT(sandbox_.Create(), IsOk());
  pid_t process = 0;
  for (const char* id : {"a", "b", "c"}) {
    process = AwaitProcess(process);
    EXPECT_EQ(sandbox_
                  .Run(Talk(id,
                            "until (:) 2>/dev/null 3<>/dev/tcp/"
                            "api.example/$PORT; do :; done; "))
                  .exit()
                  .wait_status(),
              0);
    EXPECT_EQ(sandbox_.Output(id, "stdout"), "hello\n");
    EXPECT_EQ(::kill(process, SIGKILL), 0);
  }
}

TEST_F(WayOutTest, TakesFurtherRulesWhileCommandsRun) {
  tests::UpstreamServer other(tests::Echo);
  names_.Set("late.example", {"127.0.0.1"});
  const std::string dial =
      absl::StrCat("3<>/dev/tcp/late.example/", other.port());
  const auto talk = [&](const std::string& id) {
    return sandbox_.Command(
        id, {"/bin/bash", "-c",
             absl::StrCat("(echo hello >&3; read -r line <&3; echo \"$line\") ",
                          dial)});
  };
  ASSERT_THAT(sandbox_.Create(), IsOk());
  EXPECT_NE(sandbox_.Run(talk("a")).exit().wait_status(), 0);
  // A connection by the first rules goes on.
  ASSERT_THAT(sandbox_.Start(Talk("b", "")), IsOk());
  wire::EgressRules further;
  Rule* const rule = further.add_rules();
  rule->set_host("late.example");
  rule->add_ports(other.port());
  rule->set_protocol(Rule::TCP);
  ASSERT_THAT(Allow(further), IsOk());
  EXPECT_EQ(sandbox_.recorder().egress_rules().rules_size(), 2);
  EXPECT_EQ(sandbox_.Run(talk("c")).exit().wait_status(), 0);
  EXPECT_EQ(sandbox_.Output("c", "stdout"), "hello\n");
  EXPECT_EQ(sandbox_.WaitForEnd("b").exit().wait_status(), 0);
  ASSERT_THAT(Allow(further), IsOk());
  EXPECT_EQ(sandbox_.recorder().egress_rules().rules_size(), 2);
  // The next process has them too.
  const pid_t process = AwaitProcess(0);
  EXPECT_EQ(::kill(process, SIGKILL), 0);
  AwaitProcess(process);
  EXPECT_EQ(sandbox_.Run(talk("d")).exit().wait_status(), 0);
}

TEST_F(WayOutTest, TakesFurtherRulesWhileItsProcessHangs) {
  ASSERT_THAT(sandbox_.Create(), IsOk());
  const pid_t process = AwaitProcess(0);
  ASSERT_EQ(::kill(process, SIGSTOP), 0);
  wire::EgressRules further;
  Rule* const rule = further.add_rules();
  rule->set_host("late.example");
  rule->add_ports(443);
  // Each takes room of the socket, which nobody reads, until the supervisor
  // replaces the process.
  std::deque<Outcome> outcomes;
  for (int i = 0; i < 200; ++i) {
    rule->set_host(absl::StrCat("*.", std::string(63, 'a'), ".", i, ".",
                                std::string(63, 'b'), ".example"));
    sandbox_.connection().AllowHosts(further,
                                     outcomes.emplace_back().Callback());
  }
  for (Outcome& outcome : outcomes) {
    EXPECT_THAT(outcome.Wait(), IsOk());
  }
  EXPECT_EQ(sandbox_.recorder().egress_rules().rules_size(), 201);
}

TEST_F(WayOutTest, RefusesAPortThatIsInUseInside) {
  ASSERT_THAT(sandbox_.Create(), IsOk());
  wire::EgressRules further;
  Rule* const rule = further.add_rules();
  rule->set_host("late.example");
  rule->add_ports(53);
  const absl::Status refused = Allow(further);
  EXPECT_EQ(FailureOf(refused), wire::Reply::EGRESS);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("0.0.0.0:53"));
  rule->set_ports(0, 80);
  EXPECT_THAT(Allow(further), IsOk());
  EXPECT_EQ(sandbox_.recorder().egress_rules().rules_size(), 2);
}

TEST_F(WayOutTest, ReportsThatASandboxHasNone) {
  sandbox_.spec().clear_egress();
  ASSERT_THAT(sandbox_.Create(), IsOk());
  EXPECT_EQ(FailureOf(Allow(wire::EgressRules())), wire::Reply::EGRESS);
}

TEST_F(WayOutTest, EndsItsProcessWithTheSandbox) {
  ASSERT_THAT(sandbox_.Create(), IsOk());
  const pid_t process = AwaitProcess(0);
  ASSERT_THAT(sandbox_.Delete(), IsOk());
  EXPECT_EQ(::kill(process, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST_F(WayOutTest, ReportsASandboxWithoutRoomForItsSockets) {
  // The name service has this port.
  sandbox_.spec()
      .mutable_egress()
      ->mutable_policy()
      ->mutable_rules(0)
      ->add_ports(53);
  EXPECT_THAT(std::string(sandbox_.Create().message()),
              HasSubstr("way out: listen on 0.0.0.0:53"));
}

TEST_F(WayOutTest, LeavesItsSupervisorTheRightToListenOnLowPorts) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a supervisor with a sanitizer keeps its rights";
#endif
  ASSERT_THAT(sandbox_.Create(), IsOk());
  const pid_t process = AwaitProcess(0);
  const std::string supervisor =
      LineOf(absl::StrCat("/proc/", process, "/status"), "PPid:\t");
  const auto kept = [](const std::string& pid) {
    return std::stoull(
        LineOf(absl::StrCat("/proc/", pid, "/status"), "CapEff:\t"), nullptr,
        16);
  };
  uint64_t needed = 0;
  for (const int capability :
       {CAP_CHOWN, CAP_DAC_READ_SEARCH, CAP_KILL, CAP_NET_BIND_SERVICE,
        CAP_SYS_RESOURCE, CAP_SYSLOG}) {
    needed |= uint64_t{1} << capability;
  }
  EXPECT_EQ(kept(supervisor), needed & kept("self"));
}

TEST_F(WayOutTest, RunsAsAUserOfTheSandboxThatNoCommandHas) {
  ASSERT_THAT(sandbox_.Create(), IsOk());
  const pid_t process = AwaitProcess(0);
  const std::string user =
      LineOf(absl::StrCat("/proc/", process, "/status"), "Uid:\t");
  EXPECT_EQ(std::stoul(user) % 65536, 65533U) << user;
}

}  // namespace
}  // namespace sandbox
