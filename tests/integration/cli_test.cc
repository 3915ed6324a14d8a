// The program corral with the real server.

#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "tests/integration/integration_test.h"
#include "tests/process.h"
#include "tests/text_file.h"

namespace tests {
namespace {

using ::google::protobuf::util::JsonStringToMessage;
using ::testing::AllOf;
using ::testing::HasSubstr;

class CliTest : public IntegrationTest {
 protected:
  std::unique_ptr<Process> Begin(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "./corral");
    return std::make_unique<Process>(std::move(arguments),
                                     std::vector<std::string>{absl::StrCat(
                                         "CORRAL_SERVER=", server_.address())});
  }

  // Runs corral without input and returns what it wrote, without the final
  // newline. Expects the exit status `status`.
  std::string Corral(std::vector<std::string> arguments, int status = 0) {
    const auto process = Begin(std::move(arguments));
    process->CloseInput();
    std::string output = process->ReadOutput();
    EXPECT_EQ(process->Wait(), status) << process->ReadError();
    error_ = process->ReadError();
    return std::string(absl::StripSuffix(output, "\n"));
  }

  std::vector<std::string> Run(const std::vector<std::string>& command) {
    std::vector<std::string> words = {"run", "-w", server_.workspace(), "--"};
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }

  std::string error_;
};

TEST_F(CliTest, ExitsWithTheStatusOfTheCommand) {
  EXPECT_EQ(Corral(Run({"sh", "-c", "echo out; echo err >&2; exit 3"}), 3),
            "out");
  EXPECT_EQ(error_, "err\n");
  Corral(Run({"sh", "-c", "kill -SEGV $$"}), 128 + SIGSEGV);
  Corral(Run({"nonexistent-program"}), 127);
  Corral(Run({"/usr"}), 126);
  Corral({"run", "--timeout", "100ms", "--", "sleep", "1000"}, 128 + SIGTERM);
  EXPECT_THAT(error_, HasSubstr("timeout"));
  Corral({"run", "--nonsense"}, 2);
  Corral({"--server", "unix:/nonexistent/socket", "info"}, 125);
}

TEST_F(CliTest, RunsCommandsAsUsersOfTheirOwn) {
  EXPECT_EQ(Corral({"run", "-w", server_.workspace(), "--user", "2001", "-e",
                    "HOME=/tmp", "--", "sh", "-c",
                    "id -u; id -g; echo $HOME; echo x > ~/f && cat ~/f; "
                    "touch file 2>/dev/null || echo kept"}),
            "2001\n2001\n/tmp\nx\nkept");
  const std::string sandbox =
      Corral({"create", "--workspace", server_.workspace()});
  EXPECT_EQ(Corral({"exec", "--user", "2002", sandbox, "--", "sh", "-c",
                    "id -u; echo ${HOME-none}"}),
            "2002\nnone");
  Corral({"run", "--user", "1000", "--", "true"}, 2);
  EXPECT_THAT(error_, HasSubstr("allowed is 1001 to 59999"));
  Corral({"rm", sandbox});
}

TEST_F(CliTest, ForwardsInputWhileTheCommandRuns) {
  const auto run = Begin(Run({"sh", "-c", "echo up; read x; echo $x; cat"}));
  EXPECT_EQ(run->ReadLine(), "up\n");
  run->Write("one\n");
  EXPECT_EQ(run->ReadLine(), "one\n");
  run->Write("two\n");
  EXPECT_EQ(run->ReadLine(), "two\n");
  run->CloseInput();
  EXPECT_EQ(run->Wait(), 0);
}

TEST_F(CliTest, CarriesMuchInputAndOutputByteForByte) {
  // Both directions at the same time, with a checksum on both sides.
  Process shell(
      {"sh", "-c",
       "head -c 64M /dev/urandom | tee $0/noise | ./corral run -w $0 -- cat | "
       "sha256sum; sha256sum < $0/noise; rm $0/noise",
       server_.workspace()},
      {absl::StrCat("CORRAL_SERVER=", server_.address())});
  const std::string received = shell.ReadLine();
  EXPECT_EQ(received.size(), 64 + 4);
  EXPECT_EQ(received, shell.ReadLine());
  EXPECT_EQ(shell.Wait(), 0) << shell.ReadError();
}

TEST_F(CliTest, ForwardsCtrlC) {
  const auto run = Begin(Run(
      {"sh", "-c", "trap 'echo caught; exit 4' INT; echo up; read x; exit 5"}));
  EXPECT_EQ(run->ReadLine(), "up\n");
  run->Signal(SIGINT);
  EXPECT_EQ(run->ReadLine(), "caught\n");
  EXPECT_EQ(run->Wait(), 4) << run->ReadError();
}

TEST_F(CliTest, DeletesTheSandboxOfOneCommand) {
  Corral(Run({"true"}));
  while (client_->GetInfo().sandboxes() > 0) {
  }
}

TEST_F(CliTest, PrintsJson) {
  google::protobuf::Struct sandbox;
  ASSERT_TRUE(JsonStringToMessage(Corral({"create", "-n", "box", "-w",
                                          server_.workspace(), "--json"}),
                                  &sandbox)
                  .ok());
  EXPECT_EQ(sandbox.fields().at("name").string_value(),
            "tenants/default/sandboxes/box");
  EXPECT_EQ(sandbox.fields()
                .at("workspace")
                .struct_value()
                .fields()
                .at("path")
                .string_value(),
            server_.workspace());
  google::protobuf::Struct execution;
  ASSERT_TRUE(JsonStringToMessage(Corral({"exec", "-d", "--json", "box", "--",
                                          "sh", "-c", "exit 9"}),
                                  &execution)
                  .ok());
  const std::string name = execution.fields().at("name").string_value();
  ASSERT_TRUE(
      JsonStringToMessage(Corral({"wait", "--json", name}, 9), &execution)
          .ok());
  EXPECT_EQ(execution.fields()
                .at("exit")
                .struct_value()
                .fields()
                .at("code")
                .number_value(),
            9);
  google::protobuf::Struct list;
  ASSERT_TRUE(JsonStringToMessage(Corral({"ps", "--json"}), &list).ok());
  EXPECT_EQ(list.fields().at("sandboxes").list_value().values_size(), 1);
  EXPECT_EQ(list.fields().at("executions").list_value().values_size(), 1);
  corral::v1::ServerInfo info;
  ASSERT_TRUE(JsonStringToMessage(Corral({"info", "--json"}), &info).ok());
  EXPECT_GT(info.isolation_size(), 3);
}

TEST_F(CliTest, ControlsACommandInTheBackground) {
  EXPECT_EQ(Corral({"create", "-n", "box", "-w", server_.workspace()}), "box");
  const std::string name =
      Corral({"exec", "-d", "box", "--", "sh", "-c",
              "echo 0123456789; echo err >&2; exec sleep 1000"});
  EXPECT_THAT(name, HasSubstr("box/"));
  const auto follow = Begin({"logs", "-f", "--stdout", name});
  EXPECT_EQ(follow->ReadLine(), "0123456789\n");
  EXPECT_EQ(Corral({"logs", "--stdout", "--from", "4", name}), "456789");
  EXPECT_THAT(Corral({"ps"}), AllOf(HasSubstr(name), HasSubstr("running")));
  const auto wait = Begin({"wait", name});
  Corral({"kill", "-s", "HUP", name});
  EXPECT_EQ(wait->Wait(), 128 + SIGHUP);
  EXPECT_EQ(follow->Wait(), 0);
  Corral({"wait", name}, 128 + SIGHUP);
  Corral({"kill", name}, 125);
  Corral({"rm", name});
  Corral({"logs", name}, 125);
  EXPECT_THAT(error_, HasSubstr("no execution"));
  Corral({"rm", "box"});
  EXPECT_EQ(client_->GetInfo().sandboxes(), 0);
}

TEST_F(CliTest, KillingTheClientLeavesTheCommandOfALastingSandboxRunning) {
  Corral({"create", "-n", "box", "-w", server_.workspace()});
  const std::string script =
      "echo up; while [ ! -e go ]; do sleep 0.02; done; echo done; exit 11";
  const auto exec = Begin({"exec", "box", "--", "sh", "-c", script});
  EXPECT_EQ(exec->ReadLine(), "up\n");
  exec->Signal(SIGKILL);
  exec->Wait();
  WriteFile(server_.workspace() + "/go", "");
  corral::v1::ListExecutionsRequest request;
  request.set_parent("tenants/default/sandboxes/box");
  corral::v1::ListExecutionsResponse response;
  EXPECT_TRUE(
      client_->Call(&Client::ExecutionStub::ListExecutions, request, &response)
          .ok());
  ASSERT_EQ(response.executions_size(), 1);
  const std::string& name = response.executions(0).name();
  EXPECT_EQ(client_->Wait(name).exit().code(), 11);
  EXPECT_EQ(Corral({"logs", name}), "up\ndone");
}

TEST_F(CliTest, ResumesAtItsOffsetAfterTheServerRestarts) {
  Corral({"create", "-n", "box", "-w", server_.workspace()});
  const std::string script =
      "echo up; while [ ! -e go ]; do sleep 0.02; done; seq 100; exit 12";
  const auto exec = Begin({"exec", "box", "--", "sh", "-c", script});
  EXPECT_EQ(exec->ReadLine(), "up\n");
  server_.Kill();
  WriteFile(server_.workspace() + "/go", "");
  ASSERT_NO_FATAL_FAILURE(server_.Start());
  client_ = std::make_unique<Client>(server_.Connect());
  EXPECT_EQ(exec->ReadOutput(), RunProgram({"seq", "100"}));
  EXPECT_EQ(exec->Wait(), 12) << exec->ReadError();
}

TEST_F(CliTest, WorksThroughRepeatedKillsOfTheServer) {
  // Waits between two restarts until a command has started or ended.
  std::atomic<size_t> ended = 0;
  std::atomic<bool> over = false;
  const std::string starts = server_.workspace() + "/started";
  WriteFile(starts, "");
  std::thread restarts([&] {
    while (!over) {
      server_.Kill();
      server_.Start();
      const size_t before = ReadFile(starts).size() + ended;
      while (!over && ReadFile(starts).size() + ended == before) {
        absl::SleepFor(absl::Milliseconds(1));
      }
    }
  });
  const std::string expected = RunProgram({"seq", "2000"});
  for (int i = 0; i < 20; ++i) {
    const auto run = Begin(Run({"sh", "-c",
                                "echo x >> started; read x; seq 1000; "
                                "sleep 0.1; seq 1001 2000; exit 7"}));
    run->Write("go\n");
    EXPECT_EQ(run->ReadOutput(), expected);
    EXPECT_EQ(run->Wait(), 7) << run->ReadError();
    ++ended;
  }
  over = true;
  restarts.join();
  client_ = std::make_unique<Client>(server_.Connect());
  EXPECT_EQ(ReadFile(starts).size(), 20 * 2);
  EXPECT_EQ(client_->GetInfo().sandboxes(), 0);
}

// In a mount namespace with its own /run/corral and /var/lib/corral, but with
// the host's ids: sandboxes share them with all other servers.
constexpr char kPrivateHost[] = R"sh(
set -e
mkdir -p -m 0700 /run/corral /run/corral/ids /var/lib/corral
mkdir "$0/ids"
mount --bind /run/corral/ids "$0/ids"
mount -t tmpfs -o mode=0700 tmpfs /run/corral
mount -t tmpfs -o mode=0700 tmpfs /var/lib/corral
mkdir /run/corral/ids
mount --bind "$0/ids" /run/corral/ids
namespace=$(readlink /proc/self/ns/mnt)
servers() {
  for process in $(pgrep -x corrald); do
    if [ "$(readlink /proc/$process/ns/mnt)" = "$namespace" ]; then
      echo $process
    fi
  done
}
./corral run -w "$0" -- echo hello & ./corral run -w "$0" -- echo hello
wait
set -- $(servers)
echo servers: $#
tr '\0' ' ' < /proc/$1/cmdline
echo
kill $1
while [ -n "$(servers)" ]; do sleep 0.05; done
./corral info > /dev/null
echo started again
kill $(servers)
while [ -n "$(servers)" ]; do sleep 0.05; done
umount "$0/ids"
)sh";

TEST(LocalServerTest, StartsOneServerOnDemand) {
  char path[] = "/tmp/corral-integration-XXXXXX";
  ASSERT_NE(::mkdtemp(path), nullptr);
  Process host({"unshare", "-m", "env", "-u", "CORRAL_SERVER", "sh", "-c",
                kPrivateHost, path});
  host.CloseInput();
  EXPECT_EQ(host.ReadLine(), "hello\n") << host.ReadError();
  EXPECT_EQ(host.ReadLine(), "hello\n");
  EXPECT_EQ(host.ReadLine(), "servers: 1\n");
  EXPECT_THAT(host.ReadLine(),
              AllOf(HasSubstr("corrald --listen unix:/run/corral/corrald.sock"),
                    HasSubstr("--idle-exit-seconds 600")));
  EXPECT_EQ(host.ReadOutput(), "started again\n");
  EXPECT_EQ(host.Wait(), 0) << host.ReadError();
  RunProgram({"rm", "-r", path});
}

}  // namespace
}  // namespace tests
