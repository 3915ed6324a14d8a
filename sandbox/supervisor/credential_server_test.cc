#include "sandbox/supervisor/credential_server.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/supervisor/strange_children.h"
#include "tests/closed_watches.h"
#include "tests/failing_calls.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
namespace egress = ::corral::egress::v1;

class CredentialServerTest : public ::testing::Test {
 protected:
  CredentialServerTest() : loop_(*EventLoop::Create()) {
    BlockChildSignal();
    char name[] = "/tmp/credential_server_test.XXXXXX";
    directory_ = ::mkdtemp(name);
    std::filesystem::create_directories(directory_ + "/seen");
    Write("key", "one");
    AddFile("model", directory_ + "/key");
  }
  ~CredentialServerTest() override { std::filesystem::remove_all(directory_); }

  void Write(const std::string& name, const std::string& bytes) {
    std::ofstream(absl::StrCat(directory_, "/", name)) << bytes;
  }
  CredentialServer::Source* AddFile(const std::string& service,
                                    const std::string& path) {
    CredentialServer::Source* const source = sources_.Add();
    source->set_service(service);
    source->set_file(path);
    return source;
  }
  void AddCommand(const std::string& service,
                  const std::vector<std::string>& words) {
    CredentialServer::Source* const source = sources_.Add();
    source->set_service(service);
    *source->mutable_command() = {words.begin(), words.end()};
  }
  void Serve() {
    server_ = std::make_unique<CredentialServer>(
        loop_.get(), sources_, std::vector<std::string>{directory_ + "/seen"},
        [this] { return now_; });
    socket_ = *server_->Connect();
  }
  void Ask(const std::string& service, bool refused = false) {
    egress::CredentialRequest request;
    request.set_service(service);
    request.set_refused(refused);
    const std::string bytes = request.SerializeAsString();
    ASSERT_EQ(::send(socket_.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }
  // Handles all events there are.
  void RunLoop() {
    loop_->WhenIdle([this] { loop_->Stop(); });
    loop_->Run();
  }
  // Waits for an answer.
  egress::Credential Receive() {
    loop_->Watch(socket_.get(), EPOLLIN, [this](uint32_t) { loop_->Stop(); });
    loop_->Run();
    loop_->Unwatch(socket_.get());
    char bytes[32 << 10];
    const ssize_t got = ::recv(socket_.get(), bytes, sizeof(bytes), 0);
    egress::Credential answer;
    EXPECT_TRUE(answer.ParseFromArray(bytes, static_cast<int>(got)));
    return answer;
  }
  // The value of the service, or why there is none.
  std::string Get(const std::string& service, bool refused = false) {
    Ask(service, refused);
    const egress::Credential answer = Receive();
    EXPECT_EQ(answer.service(), service);
    return answer.value().empty() ? answer.failure() : answer.value();
  }

  std::unique_ptr<EventLoop> loop_;
  std::string directory_;
  CredentialServer::Sources sources_;
  absl::Time now_ = absl::FromUnixSeconds(1'000'000);
  std::unique_ptr<CredentialServer> server_;
  UniqueFd socket_;
};

TEST_F(CredentialServerTest, AnswersWithTheValueOfAFileAndItsPrefix) {
  sources_[0].set_prefix("Bearer ");
  Serve();
  EXPECT_EQ(Get("model"), "Bearer one");
}

TEST_F(CredentialServerTest, ReadsTheFileAgainWhenItsValueIsOld) {
  Serve();
  EXPECT_EQ(Get("model"), "one");
  Write("key", "two");
  now_ += CredentialServer::kLifetime - absl::Nanoseconds(1);
  EXPECT_EQ(Get("model"), "one");
  now_ += absl::Nanoseconds(1);
  EXPECT_EQ(Get("model"), "two");
  Write("key", "three");
  now_ -= absl::Seconds(1);
  EXPECT_EQ(Get("model"), "three") << "the clock was set back";
}

TEST_F(CredentialServerTest, ReadsTheFileAgainWhenItsValueWasRefused) {
  Serve();
  EXPECT_EQ(Get("model"), "one");
  Write("key", "two");
  now_ += CredentialServer::kPause - absl::Nanoseconds(1);
  EXPECT_EQ(Get("model", true), "one");
  now_ += absl::Nanoseconds(1);
  EXPECT_EQ(Get("model"), "one");
  EXPECT_EQ(Get("model", true), "two");
}

TEST_F(CredentialServerTest, SaysThatThereIsNoValueAndTriesAgainAfterAPause) {
  std::filesystem::remove(directory_ + "/key");
  Serve();
  EXPECT_THAT(Get("model"), HasSubstr("the server's log says why"));
  Write("key", "one");
  now_ += CredentialServer::kPause - absl::Nanoseconds(1);
  EXPECT_THAT(Get("model"), HasSubstr("the server's log says why"));
  now_ += absl::Nanoseconds(1);
  EXPECT_EQ(Get("model"), "one");
}

TEST_F(CredentialServerTest, RunsACommandForAllThatAskMeanwhile) {
  AddCommand("forge",
             {"/bin/sh", "-c",
              absl::StrCat("echo x >> ", directory_, "/runs; echo token")});
  Serve();
  Ask("forge");
  Ask("forge");
  EXPECT_EQ(Get("forge"), "token");
  EXPECT_EQ(std::filesystem::file_size(directory_ + "/runs"), 2U);
}

TEST_F(CredentialServerTest, UsesNothingThatCommandsOfTheSandboxSee) {
  Write("seen/key", "secret");
  AddFile("seen", directory_ + "/seen/key");
  std::filesystem::create_symlink("seen/key", directory_ + "/link");
  AddFile("link", directory_ + "/link");
  Write("seen/token", "");
  AddCommand("forge", {"/bin/echo", directory_ + "/seen/token"});
  AddCommand("word", {"/bin/echo", "seen/token"});
  Serve();
  for (const char* service : {"seen", "link", "forge"}) {
    EXPECT_THAT(Get(service), HasSubstr("the server's log says why"))
        << service;
  }
  EXPECT_EQ(Get("word"), "seen/token");
}

TEST_F(CredentialServerTest, SaysThatACommandFailed) {
  AddCommand("forge", {"/bin/false"});
  AddCommand("lines", {"/bin/echo", "a\nb"});
  Serve();
  EXPECT_THAT(Get("forge"), HasSubstr("the server's log says why"));
  EXPECT_THAT(Get("lines"), HasSubstr("the server's log says why"));
}

TEST_F(CredentialServerTest, AnswersNothingForAServiceThatItDoesNotKnow) {
  Serve();
  Ask("other");
  EXPECT_EQ(Get("model"), "one");
}

TEST_F(CredentialServerTest, ServesTheNextProcessAfterOneThatHasEnded) {
  Serve();
  EXPECT_EQ(Get("model"), "one");
  socket_.Reset();
  socket_ = *server_->Connect();
  EXPECT_EQ(Get("model"), "one");
  // The end of a process alone.
  socket_.Reset();
  RunLoop();
  socket_ = *server_->Connect();
  EXPECT_EQ(Get("model"), "one");
}

TEST_F(CredentialServerTest, ForgetsItsSocketAtItsEnd) {
  Serve();
  EXPECT_EQ(Get("model"), "one");
  server_.reset();
  tests::ExpectNoClosedWatch(loop_.get());
}

TEST_F(CredentialServerTest, ClosesItsSocketOnceItsProcessHasEnded) {
  const auto count_descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  Serve();
  EXPECT_EQ(Get("model"), "one");
  socket_.Reset();
  const auto before = count_descriptors();
  RunLoop();
  EXPECT_EQ(count_descriptors(), before - 1);
}

TEST_F(CredentialServerTest, RunsTheCommandAgainWhenItsValueIsOld) {
  const std::string runs = directory_ + "/runs";
  AddCommand("forge", {"/bin/sh", "-c",
                       absl::StrCat("echo x >> ", runs, "; wc -l < ", runs)});
  Serve();
  EXPECT_EQ(Get("forge"), "1");
  EXPECT_EQ(Get("forge"), "1");
  now_ += CredentialServer::kLifetime;
  EXPECT_EQ(Get("forge"), "2");
}

TEST_F(CredentialServerTest, RunsACommandLaterThatCouldNotBeStarted) {
  AddCommand("forge", {"/bin/echo", "token"});
  Serve();
  ASSERT_TRUE(tests::WithFailingCalls({SYS_clone3}, EAGAIN, [this] {
    EXPECT_THAT(Get("forge"), HasSubstr("the server's log says why"));
  }));
  now_ += CredentialServer::kPause;
  EXPECT_EQ(Get("forge"), "token");
}

TEST_F(CredentialServerTest, OutlivesAProcessThatEndsBeforeItsAnswer) {
  Serve();
  Ask("model");
  socket_.Reset();
  RunLoop();
  socket_ = *server_->Connect();
  EXPECT_EQ(Get("model"), "one");
}

TEST_F(CredentialServerTest, DropsAnswersForAProcessThatReadsNone) {
  Serve();
  // More than a socket holds.
  for (int i = 0; i < 1000; ++i) {
    Ask("model");
    RunLoop();
  }
  char bytes[1024];
  while (::recv(socket_.get(), bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {
  }
  EXPECT_EQ(Get("model"), "one");
}

TEST_F(CredentialServerTest, LeavesItsLoopNothingWhenItIsDestroyed) {
  Serve();
  server_.reset();
  // Its socket gets the number of the last one.
  Serve();
  EXPECT_EQ(Get("model"), "one");
}

}  // namespace
}  // namespace sandbox
