#include "sandbox/egress/service_fixture.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "corral/egress/v1/egress.pb.h"
#include "gtest/gtest.h"

namespace egress {
namespace {

using sandbox::UniqueFd;

UniqueFd FileWith(const std::string& bytes) {
  UniqueFd file(::memfd_create("authorities", MFD_CLOEXEC));
  EXPECT_EQ(::pwrite(file.get(), bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(bytes.size()));
  return file;
}

}  // namespace

CredentialSupervisor::CredentialSupervisor(std::string value)
    : value_(std::move(value)) {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  ours_.Reset(ends[0]);
  theirs_.Reset(ends[1]);
  thread_ = std::thread([this] { Serve(); });
}

CredentialSupervisor::~CredentialSupervisor() {
  ::shutdown(ours_.get(), SHUT_RDWR);
  thread_.join();
}

void CredentialSupervisor::Serve() {
  char bytes[1024];
  for (;;) {
    const ssize_t got = ::recv(ours_.get(), bytes, sizeof(bytes), 0);
    if (got <= 0) {
      return;
    }
    ::corral::egress::v1::CredentialRequest request;
    request.ParseFromArray(bytes, static_cast<int>(got));
    refusals_ += request.refused() ? 1 : 0;
    ::corral::egress::v1::Credential answer;
    answer.set_service(request.service());
    answer.set_value(value_);
    answer.set_failure("no value");
    const std::string packet = answer.SerializeAsString();
    ::send(ours_.get(), packet.data(), packet.size(), MSG_NOSIGNAL);
  }
}

void ServiceTest::AddService(uint16_t port, const std::string& authorities) {
  server_.Set("api.example", {"127.0.0.1"});
  auto* const service = start_.mutable_policy()->add_services();
  service->set_name("model");
  service->set_host("api.example");
  service->set_port(port);
  service->set_header("x-api-key");
  service->set_own_authorities(true);
  authorities_ = FileWith(authorities);
}

void ServiceTest::Launch(const std::vector<int>& fds) {
  if (!described_) {
    described_ = true;
    auto* const authorities = start_.add_descriptors();
    authorities->set_kind(::corral::egress::v1::Descriptor::AUTHORITIES);
    authorities->set_service("model");
    start_.add_descriptors()->set_kind(
        ::corral::egress::v1::Descriptor::CREDENTIALS);
  }
  std::vector<int> all = fds;
  all.push_back(authorities_.get());
  all.push_back(supervisor_->socket());
  ProxyTest::Launch(all);
}

}  // namespace egress
