#include "sandbox/egress/connection_state_fixture.h"

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/reset_on_close.h"
#include "sandbox/base/timer.h"
#include "sandbox/egress/inner_sockets.h"
#include "tests/no_descriptors.h"

namespace egress {

using sandbox::UniqueFd;

ConnectionStateTest::ConnectionStateTest()
    : journal_([this](const wire::Event& event) {
        events_.push_back(
            absl::StrCat(wire::Event::Kind_Name(event.kind()), " ",
                         wire::Event::Reason_Name(event.reason()), " ",
                         event.host(), " ", event.upstream()));
        return true;
      }),
      host_{loop_.get(),   &timers_,        &policy_, &names_,
            &filter_,      resolver_.get(), &pipes_,  &journal_,
            &credentials_, &contexts_,      0} {
  // Before Linux 6.5, a splice into a broken connection raises it.
  ::signal(SIGPIPE, SIG_IGN);
  names_server_.Set(kName, {"127.0.0.1"});
}

ConnectionStateTest::~ConnectionStateTest() {
  loop_->Unwatch(program_.get());
  connection_.reset();
}

void ConnectionStateTest::Dial(uint16_t port, wire::Rule::Protocol protocol,
                               const std::string& name) {
  wire::Policy message;
  wire::Rule* const rule = message.add_rules();
  rule->set_host(kName);
  rule->add_ports(port);
  rule->set_protocol(protocol);
  wire::Service* const service = message.add_services();
  service->set_name("model");
  service->set_host("127.0.0.1");
  service->set_port(port);
  service->set_header("x-api-key");
  message.mutable_limits()->set_idle_ns(absl::ToInt64Nanoseconds(kIdle));
  message.mutable_limits()->set_total_ns(absl::ToInt64Nanoseconds(kTotal));
  policy_ = *Policy::Make(message);
  UniqueFd client;
  inside_.Run([&] {
    const InnerSockets inner = *OpenInnerSockets({port});
    program_.Reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_storage address;
    const socklen_t size = names_.Add(name).v4.ToSocket(port, &address);
    ASSERT_EQ(
        ::connect(program_.get(), reinterpret_cast<sockaddr*>(&address), size),
        0);
    // The listener of IPv4 follows the sockets of the name service. It may have
    // the connection later than the program.
    pollfd listener = {inner.sockets.at(2).get(), POLLIN, 0};
    ASSERT_EQ(::poll(&listener, 1, -1), 1);
    client.Reset(
        ::accept4(listener.fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  });
  ASSERT_TRUE(client.valid());
  Begin(std::move(client), port);
}

void ConnectionStateTest::Begin(UniqueFd client, uint16_t port) {
  client_ = client.get();
  connection_ = std::make_unique<Connection>(&host_, std::move(client), port,
                                             [this] { ++ends_; });
  connection_->Start();
}

void ConnectionStateTest::DialServer(const tests::UpstreamServer& server) {
  Dial(server.port(), wire::Rule::TCP);
  loop_->Watch(program_.get(), EPOLLIN, [this](uint32_t) {
    char bytes[1024];
    const ssize_t got = ::recv(program_.get(), bytes, sizeof(bytes), 0);
    if (got > 0) {
      received_.append(bytes, static_cast<size_t>(got));
    } else {
      received_ += got == 0 ? "|" : "!";
      loop_->Unwatch(program_.get());
    }
  });
  constexpr size_t kHello = 5;
  RunUntil([this] { return received_.size() >= kHello; });
  EXPECT_EQ(received_.substr(0, kHello), "hello");
  received_.erase(0, kHello);
}

void ConnectionStateTest::Send(const std::string& bytes) {
  ASSERT_TRUE(tests::SendAll(program_.get(), bytes));
}

void ConnectionStateTest::AwaitBytes() const {
  pollfd ready = {client_, POLLIN, 0};
  ASSERT_EQ(::poll(&ready, 1, -1), 1);
}

void ConnectionStateTest::BreakOff() {
  loop_->Unwatch(program_.get());
  sandbox::ResetOnClose(program_.get());
  program_.Reset();
}

void ConnectionStateTest::Settle() {
  bool idle = false;
  loop_->WhenIdle([&] { idle = true; });
  RunUntil([&] { return idle; });
}

void ConnectionStateTest::SettleWithoutPipes() {
  std::vector<Pipe> pipes;
  const tests::NoDescriptors none;
  do {
    pipes.push_back(pipes_.Take());
  } while (pipes.back().valid());
  Settle();
}

void ConnectionStateTest::RunUntil(const std::function<bool()>& reached) {
  while (!reached()) {
    const sandbox::Timer look(loop_.get(), absl::Milliseconds(1),
                              [this] { loop_->Stop(); });
    loop_->Run();
  }
}

}  // namespace egress
