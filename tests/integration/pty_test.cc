// Programs that need a terminal, through `corral exec -t` and `corral attach`
// with the real server.

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bridge/cli/commands/corral_process.h"
#include "gmock/gmock.h"
#include "google/protobuf/empty.pb.h"
#include "gtest/gtest.h"
#include "tests/integration/integration_test.h"
#include "tests/status_matchers.h"
#include "tests/text_file.h"

namespace tests {
namespace {

using ::bridge::CorralProcess;
using ::testing::HasSubstr;
using ::testing::Not;
using ::tests::IsOk;

constexpr absl::Duration kPatience = absl::Seconds(60);
constexpr char kDetachKeys[] = "\x10\x11";

// corral in a terminal of 30 x 100 that the test reads from and types into.
class Screen {
 public:
  Screen(const std::string& server, std::vector<std::string> arguments)
      : corral_(server, std::move(arguments), CorralProcess::Io::kTerminal) {}

  // Waits until `text` was written, after the text that was waited for before.
  // Does nothing if an expected text did not come before.
  void Expect(absl::string_view text) {
    if (::testing::Test::HasFailure()) {
      return;
    }
    const absl::Time deadline = absl::Now() + kPatience;
    size_t found = 0;
    while ((found = unseen_.find(text.data(), 0, text.size())) ==
           std::string::npos) {
      if (!Read(deadline)) {
        FAIL() << "no \"" << absl::CEscape(text) << "\" in \""
               << absl::CEscape(unseen_) << "\"";
      }
    }
    unseen_.erase(0, found + text.size());
  }

  void Type(absl::string_view keys) { corral_.Write(keys); }

  void Resize(unsigned short rows, unsigned short columns) {
    const winsize size = {rows, columns, 0, 0};
    ASSERT_EQ(::ioctl(corral_.terminal(), TIOCSWINSZ, &size), 0);
    corral_.Signal(SIGWINCH);
  }

  // Does not wait if an expected text did not come before.
  int Wait() { return ::testing::Test::HasFailure() ? -1 : corral_.Wait(); }
  const std::string& all() const { return all_; }

 private:
  // Returns false if nothing came.
  bool Read(absl::Time deadline) {
    pollfd item = {corral_.output(), POLLIN, 0};
    const auto wait = absl::ToInt64Milliseconds(deadline - absl::Now());
    char buffer[65536];
    ssize_t size = -1;
    if (::poll(&item, 1, static_cast<int>(std::max<int64_t>(wait, 0))) == 1) {
      size = ::read(corral_.output(), buffer, sizeof buffer);
    }
    if (size <= 0) {
      return false;
    }
    const std::string data(buffer, size);
    all_ += data;
    unseen_ += data;
    // A terminal answers this question (DSR).
    if (absl::StrContains(data, "\x1b[5n")) {
      Type("\x1b[0n");
    }
    return true;
  }

  CorralProcess corral_;
  std::string all_;
  std::string unseen_;
};

class PtyTest : public IntegrationTest {
 protected:
  void SetUp() override {
    ::setenv("TERM", "xterm", 1);
    IntegrationTest::SetUp();
    if (HasFatalFailure()) {
      return;
    }
    CorralProcess create(server_.address(),
                         {"create", "-n", "box", "-w", server_.workspace()});
    ASSERT_EQ(create.Wait(), 0) << create.ReadError();
  }

  Screen Exec(const std::vector<std::string>& command) const {
    std::vector<std::string> words = {"exec",        "-t",  "-e",
                                      "PS1=ready> ", "box", "--"};
    words.insert(words.end(), command.begin(), command.end());
    return Screen(server_.address(), std::move(words));
  }

  // The name of the one command that runs.
  std::string Name() {
    corral::v1::ListExecutionsRequest request;
    request.set_parent("tenants/default/sandboxes/box");
    corral::v1::ListExecutionsResponse response;
    EXPECT_TRUE(
        client_
            ->Call(&Client::ExecutionStub::ListExecutions, request, &response)
            .ok());
    EXPECT_EQ(response.executions_size(), 1);
    return response.executions(0).name();
  }
};

#define SKIP_WITHOUT(program)                          \
  if (::access("/usr/bin/" program, X_OK) != 0) {      \
    GTEST_SKIP() << "/usr/bin/" program " is missing"; \
  }

// Prints a text when it starts, and another one when it is continued; after
// that it makes the file "flag". The texts differ from what is typed, because
// the terminal shows that too. The job starts no process later: dash uses
// vfork, and cannot stop while Ctrl-Z has stopped its child before exec.
constexpr char kJob[] =
    "sh -c 'trap \"echo con\"\"tinued; : > flag\" CONT; sleep 1000 & "
    "echo st\"\"arted; while :; do wait; done'\r";

TEST_F(PtyTest, BashHasJobControl) {
  SKIP_WITHOUT("bash");
  Screen screen = Exec({"bash", "--norc", "--noprofile", "-i"});
  screen.Expect("ready> ");
  EXPECT_THAT(screen.all(), Not(HasSubstr("job control")));
  screen.Type(kJob);
  screen.Expect("started");
  screen.Type("\x1a");  // Ctrl-Z
  screen.Expect("Stopped");
  screen.Expect("ready> ");
  screen.Type("fg\r");
  screen.Expect("continued");
  screen.Type("\x03");  // Ctrl-C
  screen.Expect("ready> ");
  screen.Type("echo status $?\r");
  screen.Expect("status 130");
  screen.Type("sleep 1000 & jobs\r");
  screen.Expect("Running");
  screen.Type("kill %1; wait %1\r");
  screen.Expect("Terminated");
  screen.Type("tty; test -t 0 < /dev/tty && echo own\"\"ed\r");
  screen.Expect("/dev/pts/");
  screen.Expect("owned");
  // Before the prompt, the terminal itself would interpret the character.
  screen.Expect("ready> ");
  screen.Type("\x04");  // Ctrl-D
  screen.Expect("exit");
  EXPECT_EQ(screen.Wait(), 0);
}

TEST_F(PtyTest, StoppedJobContinuesInTheBackground) {
  SKIP_WITHOUT("bash");
  Screen screen = Exec({"bash", "--norc", "--noprofile", "-i"});
  screen.Expect("ready> ");
  screen.Type(kJob);
  screen.Expect("started");
  screen.Type("\x1a");
  screen.Expect("Stopped");
  screen.Expect("ready> ");
  // bash shows its prompt, and the job its text, in either order; therefore
  // bash waits for the job.
  screen.Type("bg; until [ -e flag ]; do sleep 0.05; done; jobs\r");
  screen.Expect("continued");
  screen.Expect("Running");
  screen.Expect("ready> ");
  screen.Type("kill -9 %1; exit 3\r");
  EXPECT_EQ(screen.Wait(), 3);
}

TEST_F(PtyTest, SignalsReachOnlyTheForeground) {
  SKIP_WITHOUT("bash");
  Screen screen = Exec({"bash", "--norc", "--noprofile", "-i"});
  screen.Expect("ready> ");
  corral::v1::SignalExecutionRequest request;
  request.set_name(Name());
  request.set_scope(corral::v1::SignalExecutionRequest::FOREGROUND_GROUP);
  for (const int signal : {SIGUSR1, SIGTERM, SIGINT}) {
    screen.Type(absl::StrCat("sh -c 'trap \"exit $((100+", signal, "))\" ",
                             signal, "; echo st\"\"arted; ",
                             "while :; do sleep 0.05; done'\r"));
    screen.Expect("started");
    request.set_signal(signal);
    google::protobuf::Empty none;
    ASSERT_THAT(
        client_->Call(&Client::ExecutionStub::SignalExecution, request, &none),
        IsOk());
    screen.Expect("ready> ");
    screen.Type("echo status $?\r");
    screen.Expect(absl::StrCat("status ", 100 + signal));
    screen.Expect("ready> ");
  }
  screen.Type("exit 3\r");
  EXPECT_EQ(screen.Wait(), 3);
}

TEST_F(PtyTest, ResizeReachesTheForegroundAsSigwinch) {
  Screen screen = Exec({"sh", "-c",
                        "trap 'stty size; exit 5' WINCH; stty size; "
                        "while :; do sleep 0.05; done"});
  screen.Expect("30 100");
  screen.Resize(41, 123);
  screen.Expect("41 123");
  EXPECT_EQ(screen.Wait(), 5);
}

TEST_F(PtyTest, TypedEndOfInputEndsCat) {
  Screen screen = Exec({"cat"});
  screen.Type("line\r");
  screen.Expect("line\r\nline\r\n");
  screen.Type("\x04");
  EXPECT_EQ(screen.Wait(), 0);
}

TEST_F(PtyTest, VimEditsAFileOfTheWorkspace) {
  SKIP_WITHOUT("vim");
  Screen screen = Exec({"vim", "-u", "NONE", "-i", "NONE", "-n", "note.txt"});
  screen.Expect("note.txt");
  screen.Type("ihello from vim");
  screen.Expect("hello from vim");
  screen.Type("\x1b:wq\r");
  EXPECT_EQ(screen.Wait(), 0);
  EXPECT_EQ(ReadFile(server_.workspace() + "/note.txt"), "hello from vim\n");
}

TEST_F(PtyTest, TopShowsTheProcessesOfTheSandbox) {
  SKIP_WITHOUT("top");
  Screen screen = Exec({"top", "-n", "1"});
  screen.Expect("PID");
  screen.Expect("top");
  EXPECT_EQ(screen.Wait(), 0);
}

TEST_F(PtyTest, LessPages) {
  SKIP_WITHOUT("less");
  std::string text;
  for (int i = 1; i <= 1000; ++i) {
    absl::StrAppend(&text, "line ", i, "\n");
  }
  WriteFile(server_.workspace() + "/long.txt", text);
  Screen screen = Exec({"less", "long.txt"});
  screen.Expect("line 29");
  screen.Type("G");
  screen.Expect("line 1000");
  screen.Type("q");
  EXPECT_EQ(screen.Wait(), 0);
}

TEST_F(PtyTest, TmuxRunsItsOwnTerminals) {
  SKIP_WITHOUT("tmux");
  Screen screen = Exec(
      {"tmux", "-f", "/dev/null", "new-session", "echo in\"\"side; read x"});
  screen.Expect("inside");
  screen.Type("\r");
  screen.Expect("[exited]");
  EXPECT_EQ(screen.Wait(), 0);
}

TEST_F(PtyTest, ShowsTheSameScreenToAClientThatAttaches) {
  SKIP_WITHOUT("vim");
  Screen first = Exec({"vim", "-u", "NONE", "-i", "NONE", "-n", "note.txt"});
  first.Expect("note.txt");
  first.Type("itext before the change of clients");
  first.Expect("change of clients");
  first.Type(kDetachKeys);
  first.Expect("comes back to it");
  EXPECT_EQ(first.Wait(), 0);
  const size_t shown = first.all().find("\x1b[0m\x1b[?1049l");
  ASSERT_NE(shown, std::string::npos);

  Screen second(server_.address(), {"attach", Name()});
  second.Expect("change of clients");
  second.Expect("\x1b[5n");
  EXPECT_EQ(second.all().substr(0, shown), first.all().substr(0, shown));
  second.Type(", and after");
  second.Expect("after");
  second.Type("\x1b:wq\r");
  EXPECT_EQ(second.Wait(), 0);
  EXPECT_EQ(ReadFile(server_.workspace() + "/note.txt"),
            "text before the change of clients, and after\n");
}

TEST_F(PtyTest, WorksThroughRestartsOfTheServer) {
  SKIP_WITHOUT("bash");
  Screen screen = Exec({"bash", "--norc", "--noprofile", "-i"});
  screen.Expect("ready> ");
  Screen other(server_.address(), {"attach", Name()});
  other.Expect("\x1b[5n");
  for (int i = 0; i < 3; ++i) {
    server_.Kill();
    screen.Type(absl::StrCat("echo $((", i, " + 599 + 1))\r"));
    ASSERT_NO_FATAL_FAILURE(server_.Start());
    screen.Expect(absl::StrCat(i + 600));
    other.Expect(absl::StrCat(i + 600));
    other.Type(absl::StrCat("echo $((", i, " + 699 + 1))\r"));
    screen.Expect(absl::StrCat(i + 700));
    // While the server is away, only the client that typed last may type: its
    // input offset is the right one.
    screen.Type(absl::StrCat("echo $((", i, " + 799 + 1))\r"));
    screen.Expect(absl::StrCat(i + 800));
  }
  client_ = std::make_unique<Client>(server_.Connect());
  screen.Type("exit 9\r");
  EXPECT_EQ(screen.Wait(), 9);
  EXPECT_EQ(other.Wait(), 9);
}

}  // namespace
}  // namespace tests
