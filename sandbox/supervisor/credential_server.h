// Gives corral-egress the values of services' headers, which it may not read
// itself. They are kept in memory for a short time, and never on the disk.

#ifndef SANDBOX_SUPERVISOR_CREDENTIAL_SERVER_H_
#define SANDBOX_SUPERVISOR_CREDENTIAL_SERVER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/egress/v1/egress.pb.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/supervisor/credential_command.h"

namespace sandbox {

// Used on the thread of its loop only.
class CredentialServer {
 public:
  using Source = ::corral::supervisor::v1::CredentialSource;
  using Sources = google::protobuf::RepeatedPtrField<Source>;
  using Clock = std::function<absl::Time()>;

  // `seen`: the directories of the host that commands of the sandbox see; no
  // file or command within them is used. `loop` must outlive the server.
  CredentialServer(EventLoop* loop, const Sources& sources,
                   std::vector<std::string> seen, Clock now = absl::Now);
  ~CredentialServer();

  // Makes a socket, serves one end of it in place of the last one, and returns
  // the other.
  absl::StatusOr<UniqueFd> Connect();

  // A value is read again when it is older than this, or when the upstream
  // refused it and it is older than the second time; a failure is kept that
  // long, too. So a program inside cannot have files and commands of the
  // operator used in quick succession.
  static constexpr absl::Duration kLifetime = absl::Seconds(60);
  static constexpr absl::Duration kPause = absl::Seconds(5);

 private:
  struct Entry {
    Source source;
    absl::StatusOr<std::string> value = absl::UnavailableError("not read yet");
    absl::Time time = absl::InfinitePast();
    // Runs while the value is read.
    std::unique_ptr<CredentialCommand> command;
  };

  void OnRequest();
  void Serve(const ::corral::egress::v1::CredentialRequest& request);
  bool IsFresh(const Entry& entry, bool refused) const;
  void Read(Entry* entry);
  void Keep(Entry* entry, absl::StatusOr<std::string> value);
  void Answer(const Entry& entry);
  void Disconnect();

  EventLoop* const loop_;
  const std::vector<std::string> seen_;
  const Clock now_;
  std::map<std::string, Entry> entries_;
  UniqueFd socket_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_CREDENTIAL_SERVER_H_
