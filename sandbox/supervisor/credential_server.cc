#include "sandbox/supervisor/credential_server.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/supervisor/credential_file.h"

namespace sandbox {
namespace {

namespace egress = ::corral::egress::v1;

// No request is larger.
constexpr size_t kMaxRequest = 1024;

// The log of the server has the reason, which could name files of the host.
constexpr char kFailure[] =
    "the server cannot read its credential; the server's log says why";

// Fails if a word leads into a directory in which a program inside could change
// it.
absl::Status CheckWords(const CredentialServer::Source& source,
                        const std::vector<std::string>& seen) {
  for (const std::string& word : source.command()) {
    if (absl::StartsWith(word, "/")) {
      RETURN_IF_ERROR(CheckIsUnseen(word, seen));
    }
  }
  return absl::OkStatus();
}

}  // namespace

CredentialServer::CredentialServer(EventLoop* loop, const Sources& sources,
                                   std::vector<std::string> seen, Clock now)
    : loop_(loop), seen_(std::move(seen)), now_(std::move(now)) {
  for (const Source& source : sources) {
    entries_[source.service()].source = source;
  }
}

CredentialServer::~CredentialServer() { Disconnect(); }

void CredentialServer::Disconnect() {
  if (socket_.valid()) {
    loop_->Unwatch(socket_.get());
    socket_.Reset();
  }
}

absl::StatusOr<UniqueFd> CredentialServer::Connect() {
  Disconnect();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ErrnoToStatus(errno, "socket for credentials");
  }
  socket_.Reset(ends[0]);
  loop_->Watch(socket_.get(), EPOLLIN, [this](uint32_t) { OnRequest(); });
  return UniqueFd(ends[1]);
}

void CredentialServer::OnRequest() {
  char bytes[kMaxRequest];
  const ssize_t got = ::recv(socket_.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
  if (got == 0) {
    Disconnect();
    return;
  }
  egress::CredentialRequest request;
  if (got > 0 && request.ParseFromArray(bytes, static_cast<int>(got))) {
    Serve(request);
  }
}

void CredentialServer::Serve(const egress::CredentialRequest& request) {
  const auto found = entries_.find(request.service());
  if (found == entries_.end()) {
    return;
  }
  Entry& entry = found->second;
  if (IsFresh(entry, request.refused())) {
    Answer(entry);
  } else if (entry.command == nullptr) {
    Read(&entry);
  }
}

bool CredentialServer::IsFresh(const Entry& entry, bool refused) const {
  const absl::Duration age = now_() - entry.time;
  // The clock may have been set back.
  return age >= absl::ZeroDuration() &&
         age < (entry.value.ok() && !refused ? kLifetime : kPause);
}

void CredentialServer::Read(Entry* entry) {
  if (!entry->source.file().empty()) {
    Keep(entry, ReadCredentialFile(entry->source.file(), seen_));
    return;
  }
  absl::Status started = CheckWords(entry->source, seen_);
  if (started.ok()) {
    entry->command = std::make_unique<CredentialCommand>(
        loop_,
        std::vector<std::string>(entry->source.command().begin(),
                                 entry->source.command().end()),
        [this, entry](absl::StatusOr<std::string> printed) {
          entry->command.reset();
          Keep(entry,
               printed.ok() ? CheckCredential(*printed) : std::move(printed));
        });
    started = entry->command->Start();
  }
  if (!started.ok()) {
    entry->command.reset();
    Keep(entry, started);
  }
}

void CredentialServer::Keep(Entry* entry, absl::StatusOr<std::string> value) {
  if (!value.ok()) {
    LOG(WARNING) << "service " << entry->source.service() << ": "
                 << value.status().ToString();
  }
  entry->value = std::move(value);
  entry->time = now_();
  Answer(*entry);
}

void CredentialServer::Answer(const Entry& entry) {
  egress::Credential answer;
  answer.set_service(entry.source.service());
  if (entry.value.ok()) {
    answer.set_value(absl::StrCat(entry.source.prefix(), *entry.value));
  } else {
    answer.set_failure(kFailure);
  }
  const std::string bytes = answer.SerializeAsString();
  ::send(socket_.get(), bytes.data(), bytes.size(),
         MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace sandbox
