#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "bridge/mcp/http/access.h"
#include "bridge/mcp/http/endpoint.h"
#include "bridge/mcp/http/http_server.h"
#include "bridge/mcp/http/http_sessions.h"
#include "bridge/mcp/options.h"
#include "bridge/mcp/protocol/client_session.h"
#include "bridge/mcp/protocol/reply_channel.h"
#include "bridge/mcp/stdio_loop.h"
#include "bridge/mcp/tools/workplace.h"
#include "sandbox/base/mutex.h"

namespace {

constexpr int kUsageStatus = 2;
constexpr int kFailureStatus = 125;
// A server that hangs must not keep corral-mcp from ending.
constexpr unsigned kLongestEndSeconds = 10;
constexpr timespec kSweepInterval = {60, 0};

void Complain(const absl::Status& status) {
  std::fprintf(stderr, "corral-mcp: %s\n",
               static_cast<std::string>(status.message()).c_str());
}

class StandardOutput : public bridge::ReplyChannel {
 public:
  // A client that does not read any more is gone; its input ends, too.
  void Send(const std::string& line) override {
    sandbox::MutexLock lock(&mutex_);
    for (size_t at = 0; at < line.size();) {
      const ssize_t put =
          ::write(STDOUT_FILENO, line.data() + at, line.size() - at);
      if (put <= 0) {
        return;
      }
      at += put;
    }
  }
  bool IsAbandoned() override { return false; }

 private:
  sandbox::Mutex mutex_;
};

int ServeStdio(const bridge::McpOptions& options) {
  absl::StatusOr<bridge::StdioLoop> loop =
      bridge::StdioLoop::Create(STDIN_FILENO);
  if (!loop.ok()) {
    Complain(loop.status());
    return kFailureStatus;
  }
  const auto workplace = std::make_shared<bridge::Workplace>(options.terminals);
  bridge::ClientSession session({options.terminals, options.gate}, workplace);
  const auto output = std::make_shared<StandardOutput>();
  const bridge::StdioLoop::End end = loop->Run(
      [&](absl::string_view line) { session.server().Receive(line, output); });
  ::alarm(kLongestEndSeconds);
  if (end == bridge::StdioLoop::End::kEndOfInput) {
    session.server().Finish();
  }
  workplace->recorder().Finalize();
  return 0;
}

int ServeHttp(const bridge::McpOptions& options) {
  // Blocked before any thread starts, so that only this thread gets the
  // signals.
  const sigset_t signals = bridge::BlockEndingSignals();
  bridge::HttpSessions sessions({options.terminals, options.gate});
  bridge::Endpoint endpoint(bridge::Access(options.token), &sessions);
  absl::StatusOr<std::unique_ptr<bridge::HttpServer>> server =
      bridge::HttpServer::Start(*options.http, &endpoint);
  if (!server.ok()) {
    Complain(server.status());
    return kFailureStatus;
  }
  std::fprintf(stderr, "corral-mcp: serving http://%s%s\n",
               (*server)->address().ToString().c_str(), bridge::kEndpointPath);
  while (::sigtimedwait(&signals, nullptr, &kSweepInterval) < 0) {
    sessions.EndUnused(absl::Now() - bridge::HttpSessions::kIdleTimeout);
  }
  ::alarm(kLongestEndSeconds);
  sessions.Stop();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  absl::StatusOr<bridge::McpOptions> options =
      bridge::ParseMcpOptions(std::vector<std::string>(argv + 1, argv + argc));
  if (!options.ok()) {
    Complain(options.status());
    std::fputs("Try corral-mcp --help.\n", stderr);
    return kUsageStatus;
  }
  if (!options->help.empty()) {
    std::fputs(options->help.c_str(), stdout);
    return 0;
  }
  return options->http.has_value() ? ServeHttp(*options) : ServeStdio(*options);
}
