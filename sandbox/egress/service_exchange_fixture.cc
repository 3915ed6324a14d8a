#include "sandbox/egress/service_exchange_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "sandbox/base/timer.h"
#include "tests/network/upstream_server.h"

namespace egress {
namespace {

namespace wire = ::corral::egress::v1;

using sandbox::UniqueFd;

void MakePair(int type, UniqueFd* one, UniqueFd* other) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends), 0);
  one->Reset(ends[0]);
  other->Reset(ends[1]);
}

}  // namespace

ServiceExchangeTest::ServiceExchangeTest() {
  names_.Set(kUpstream, {"127.0.0.1"});
  // OpenSSL writes to sockets that the peer has closed.
  ::signal(SIGPIPE, SIG_IGN);
  MakePair(SOCK_STREAM, &program_, &client_);
  ::fcntl(client_.get(), F_SETFL, O_NONBLOCK);
  UniqueFd socket;
  MakePair(SOCK_SEQPACKET, &supervisor_, &socket);
  credentials_ =
      std::make_unique<Credentials>(loop_.get(), &waiting_, std::move(socket));
  loop_->Watch(supervisor_.get(), EPOLLIN, [this](uint32_t) {
    char bytes[1024];
    const ssize_t got = ::recv(supervisor_.get(), bytes, sizeof(bytes), 0);
    wire::CredentialRequest request;
    ASSERT_TRUE(request.ParseFromArray(bytes, static_cast<int>(got)));
    asked_.push_back(
        absl::StrCat(request.service(), request.refused() ? " refused" : ""));
  });
}

ServiceExchangeTest::~ServiceExchangeTest() {
  exchange_.reset();
  loop_->Unwatch(supervisor_.get());
  loop_->Unwatch(client_.get());
}

void ServiceExchangeTest::Start(uint16_t port) {
  const ServiceExchange::Owner owner = {
      [this](const Event& event) {
        std::string text = absl::StrCat(Event::Kind_Name(event.kind()), " ",
                                        Event::Reason_Name(event.reason()));
        for (const std::string& part : {event.claimed(), event.upstream()}) {
          absl::StrAppend(&text, part.empty() ? "" : " ", part);
        }
        if (event.sent_bytes() + event.received_bytes() > 0) {
          absl::StrAppend(&text, " ", event.sent_bytes(), "/",
                          event.received_bytes());
        }
        reports_.push_back(text);
      },
      [this](bool reset) {
        ends_.push_back(reset);
        loop_->Unwatch(client_.get());
      },
      [this](uint64_t bytes) {
        counted_ += bytes;
        return allowed_;
      }};
  exchange_ = std::make_unique<ServiceExchange>(
      ServiceHost{loop_.get(), &timers_, resolver_.get(), &filter_,
                  credentials_.get(), &contexts_},
      client_.get(), Service{"model", kUpstream, port, "x-api-key"}, owner);
  loop_->Watch(client_.get(), 0,
               [this](uint32_t events) { exchange_->OnClient(events); });
  exchange_->Start();
}

void ServiceExchangeTest::Request(const std::string& fields,
                                  const std::string& begun) {
  Send(absl::StrCat("POST /v1 HTTP/1.1\r\nHost: model.corral.internal\r\n",
                    fields, "\r\n", begun));
  RunUntil([this] { return !asked_.empty(); });
}

void ServiceExchangeTest::Send(const std::string& bytes) {
  ASSERT_TRUE(tests::SendAll(program_.get(), bytes));
}

void ServiceExchangeTest::Answer(const std::string& value) {
  wire::Credential credential;
  credential.set_service("model");
  credential.set_value(value);
  credential.set_failure("no value");
  const std::string bytes = credential.SerializeAsString();
  ASSERT_EQ(::send(supervisor_.get(), bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(bytes.size()));
}

void ServiceExchangeTest::Settle() {
  bool idle = false;
  loop_->WhenIdle([&] { idle = true; });
  RunUntil([&] { return idle; });
}

void ServiceExchangeTest::RunUntil(const std::function<bool()>& reached) {
  while (!reached()) {
    const sandbox::Timer look(loop_.get(), absl::Milliseconds(1),
                              [this] { loop_->Stop(); });
    loop_->Run();
  }
}

std::string ServiceExchangeTest::Received() {
  return tests::ReadUntil(program_.get(), "");
}

}  // namespace egress
