#include "sandbox/egress/credentials.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "absl/status/status.h"

namespace egress {
namespace {

namespace wire = ::corral::egress::v1;

// The largest value, its prefix and its service's name.
constexpr size_t kMaxAnswer = 20 << 10;

absl::Status NoAnswer() {
  return absl::UnavailableError("its credential could not be asked for");
}

}  // namespace

Credentials::Credentials(sandbox::EventLoop* loop, sandbox::Timers* timers,
                         sandbox::UniqueFd socket)
    : loop_(loop), timers_(timers), socket_(std::move(socket)) {
  if (socket_.valid()) {
    loop_->Watch(socket_.get(), EPOLLIN, [this](uint32_t) { OnSocket(); });
  }
}

Credentials::~Credentials() {
  if (socket_.valid()) {
    loop_->Unwatch(socket_.get());
  }
}

void Credentials::Get(const std::string& service, Done done) {
  Question& question = questions_[service];
  question.waiting.push_back(std::move(done));
  if (question.waiting.size() > 1) {
    return;
  }
  if (!Ask(service)) {
    Answer(service, NoAnswer());
    return;
  }
  question.timeout = sandbox::Timer(
      timers_, kPatience, [this, service] { Answer(service, NoAnswer()); });
}

bool Credentials::Ask(const std::string& service) {
  wire::CredentialRequest request;
  request.set_service(service);
  request.set_refused(refused_.erase(service) > 0);
  const std::string bytes = request.SerializeAsString();
  return ::send(socket_.get(), bytes.data(), bytes.size(),
                MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

void Credentials::OnSocket() {
  std::string bytes(kMaxAnswer, '\0');
  const ssize_t got =
      ::recv(socket_.get(), &bytes[0], bytes.size(), MSG_DONTWAIT);
  if (got < 0) {
    return;
  }
  if (got == 0) {
    loop_->Unwatch(socket_.get());
    socket_.Reset();
    return;
  }
  wire::Credential credential;
  if (!credential.ParseFromArray(bytes.data(), static_cast<int>(got))) {
    return;
  }
  if (credential.value().empty()) {
    Answer(credential.service(), absl::UnavailableError(credential.failure()));
  } else {
    Answer(credential.service(), credential.value());
  }
}

void Credentials::Answer(const std::string& service,
                         const absl::StatusOr<std::string>& value) {
  auto question = questions_.extract(service);
  if (question.empty()) {
    return;
  }
  for (const Done& done : question.mapped().waiting) {
    done(value);
  }
}

}  // namespace egress
