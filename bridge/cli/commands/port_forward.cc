#include <signal.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bridge/cli/attach/signal_catcher.h"
#include "bridge/cli/commands/port_publisher.h"
#include "bridge/cli/commands/subcommand.h"
#include "bridge/client/call.h"
#include "bridge/options/server_options.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

// Events that end the wait of the command, or interrupt it. Thread-safe.
class Events {
 public:
  enum class Event { kNone, kServerGone, kEnd };

  void OnSignal() { Set(Event::kEnd, absl::OkStatus()); }
  void OnServerGone() { Set(Event::kServerGone, absl::OkStatus()); }
  void OnFailure(const absl::Status& why) {
    if (absl::IsNotFound(why)) {
      Set(Event::kEnd, why);
    }
  }

  // Blocks until there is an event, and takes it.
  Event Next() {
    sandbox::MutexLock lock(&mutex_);
    mutex_.Await([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return event_ != Event::kNone;
    });
    const Event event = event_;
    if (event != Event::kEnd) {
      event_ = Event::kNone;
    }
    return event;
  }
  bool ended() {
    sandbox::MutexLock lock(&mutex_);
    return event_ == Event::kEnd;
  }
  absl::Status why() {
    sandbox::MutexLock lock(&mutex_);
    return why_;
  }

 private:
  void Set(Event event, const absl::Status& why) {
    sandbox::MutexLock lock(&mutex_);
    if (event_ != Event::kEnd) {
      event_ = event;
      why_ = why;
    }
    mutex_.Signal();
  }

  sandbox::Mutex mutex_;
  Event event_ ABSL_GUARDED_BY(mutex_) = Event::kNone;
  // Why it ended; OK if a signal came.
  absl::Status why_ ABSL_GUARDED_BY(mutex_);
};

absl::Status CheckSandbox(client::Connection& connection,
                          const std::string& name) {
  corral::v1::GetSandboxRequest request;
  request.set_name(name);
  return client::Call(connection,
                      &corral::v1::SandboxService::StubInterface::GetSandbox,
                      request)
      .status();
}

}  // namespace

absl::StatusOr<int> PortForward(Invocation invocation) {
  OptionTable table(
      "corral port-forward", "[OPTIONS] SANDBOX PORT[:LOCAL]...",
      "Makes servers in a sandbox reachable on this machine, until Ctrl-C or\n"
      "the end of the sandbox: the one on PORT at 127.0.0.1:LOCAL, by default\n"
      "the same port; LOCAL 0: any that is free.");
  AddServerOptions(table, invocation.server);
  table.TakePositionals(2, SIZE_MAX);
  ASSIGN_OR_RETURN(const Arguments arguments, table.Parse(invocation.words));
  if (arguments.help) {
    return Print(table.Help());
  }
  ASSIGN_OR_RETURN(const std::string sandbox,
                   SandboxArgument(arguments.positionals[0]));
  // The forwarder, which ends first, uses what is declared before it.
  Events events;
  std::unique_ptr<client::Connection> connection;
  PortPublisher ports;
  for (size_t i = 1; i < arguments.positionals.size(); ++i) {
    const std::string& word = arguments.positionals[i];
    if (const absl::Status added = ports.Add(word); !added.ok()) {
      return UsageError(absl::StrCat("\"", word, "\": ", added.message()));
    }
  }
  ASSIGN_OR_RETURN(connection, client::Connection::Open(invocation.server));
  RETURN_IF_ERROR(CheckSandbox(*connection, sandbox));
  const SignalCatcher signals({SIGINT, SIGTERM, SIGHUP},
                              [&](int) { events.OnSignal(); });
  client::PortForwarder::Reports reports;
  reports.server_gone = [&] { events.OnServerGone(); };
  reports.failed = [&](client::PublishedPort, const absl::Status& why) {
    events.OnFailure(why);
  };
  RETURN_IF_ERROR(ports.Listen(std::move(reports)));
  ports.Begin(*connection, sandbox);
  while (events.Next() != Events::Event::kEnd) {
    connection->Reconnect(absl::Now() + connection->timing().patience,
                          [&] { return events.ended(); });
  }
  RETURN_IF_ERROR(events.why());
  return 0;
}

}  // namespace bridge
