#include <signal.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bridge/cli/attach/signal_catcher.h"
#include "bridge/cli/commands/forward_events.h"
#include "bridge/cli/commands/port_publisher.h"
#include "bridge/cli/commands/subcommand.h"
#include "bridge/client/call.h"
#include "bridge/options/server_options.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

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
  ForwardEvents events;
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
  while (events.Next() != ForwardEvents::Event::kEnd) {
    connection->Reconnect(absl::Now() + connection->timing().patience,
                          [&] { return events.ended(); });
  }
  RETURN_IF_ERROR(events.why());
  return 0;
}

}  // namespace bridge
