#include "sandbox/egress/proxy_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include <utility>

#include "absl/status/statusor.h"

namespace egress {

ProxyTest::ProxyTest() { ::signal(SIGPIPE, SIG_IGN); }

ProxyTest::~ProxyTest() { ProxyTest::Kill(); }

void ProxyTest::Launch(const std::vector<int>& fds) {
  if (GetParam() == RunsAs::kProgram) {
    EgressTest::Launch(fds);
    return;
  }
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  process_.socket.Reset(ends[0]);
  events_.Reset(ends[1]);
  journal_ = std::make_unique<Journal>(PacketSink(events_.get()));
  loop_ = *sandbox::EventLoop::Create();
  Proxy::Descriptors descriptors;
  for (const int fd : fds) {
    descriptors.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  }
  absl::StatusOr<std::unique_ptr<Proxy>> proxy = Proxy::Create(
      loop_.get(), journal_.get(), start_, std::move(descriptors));
  ASSERT_TRUE(proxy.ok()) << proxy.status();
  proxy_ = *std::move(proxy);
  link_ = std::make_unique<SupervisorLink>(
      loop_.get(), events_.get(), proxy_.get(),
      [this](const absl::Status&) { ::shutdown(events_.get(), SHUT_RDWR); });
  thread_ = std::thread([this] { loop_->Run(); });
}

void ProxyTest::AwaitEnd() {
  char byte;
  EXPECT_EQ(::recv(process_.socket.get(), &byte, sizeof(byte), 0), 0);
}

void ProxyTest::Kill() {
  if (thread_.joinable()) {
    loop_->Stop();
    thread_.join();
    link_.reset();
    proxy_.reset();
  }
  EgressTest::Kill();
}

}  // namespace egress
