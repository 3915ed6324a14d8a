// The sessions of HTTP clients, by their Mcp-Session-Id.

#ifndef BRIDGE_MCP_HTTP_HTTP_SESSIONS_H_
#define BRIDGE_MCP_HTTP_HTTP_SESSIONS_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "bridge/mcp/protocol/client_session.h"
#include "bridge/mcp/protocol/mcp_server.h"
#include "bridge/mcp/tools/workplace.h"
#include "sandbox/base/mutex.h"

namespace bridge {

// A session that several connections may use at the same time.
class HttpSession {
 public:
  HttpSession(const ClientOptions& options,
              std::shared_ptr<Workplace> workplace)
      : session_(options, std::move(workplace)) {}

  void Receive(absl::string_view message, const McpServer::Channel& channel)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    sandbox::MutexLock lock(&mutex_);
    session_.server().Receive(message, channel);
  }

 private:
  sandbox::Mutex mutex_;
  ClientSession session_;
};

// Thread-safe. Each session has a sandbox, which is deleted at the end of the
// session; that takes as long as the server needs. A sandbox with a name is
// shared by all sessions.
class HttpSessions {
 public:
  explicit HttpSessions(ClientOptions options) : options_(std::move(options)) {}

  // Begins a session, and writes its id. Returns null if there are
  // kMaxSessions, or Stop() was called.
  std::shared_ptr<HttpSession> Begin(std::string* id)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns null if there is no such session.
  std::shared_ptr<HttpSession> Find(const std::string& id)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the session that all stateless requests share, or null if Stop()
  // was called.
  std::shared_ptr<HttpSession> Stateless() ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns false if there is no such session.
  bool End(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends the sessions that nobody used since `oldest`.
  void EndUnused(absl::Time oldest) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends all sessions; none begins any more.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  static constexpr size_t kMaxSessions = 32;
  // A session that was not used for this time ends.
  static constexpr absl::Duration kIdleTimeout = absl::Hours(4);

 private:
  struct Entry {
    std::shared_ptr<HttpSession> session;
    absl::Time used;
  };

  std::shared_ptr<HttpSession> MakeSession()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ClientOptions options_;
  sandbox::Mutex mutex_;
  // The workplace of a sandbox with a name; made for the first session.
  std::shared_ptr<Workplace> shared_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Entry> sessions_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<HttpSession> stateless_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_HTTP_HTTP_SESSIONS_H_
