#include "bridge/cli/command_line.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "bridge/cli/attach/output_writer.h"
#include "bridge/cli/commands/commands.h"
#include "bridge/cli/commands/subcommand.h"
#include "bridge/cli/report/escaped_text.h"
#include "bridge/cli/report/exit_report.h"
#include "bridge/options/option_table.h"
#include "bridge/options/server_options.h"
#include "grpc/support/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/version.h"

namespace bridge {
namespace {

struct Subcommand {
  const char* name;
  const char* summary;
  absl::StatusOr<int> (*run)(Invocation);
};

constexpr Subcommand kSubcommands[] = {
    {"run", "Run a command in a sandbox of its own", Run},
    {"create", "Create a sandbox", Create},
    {"exec", "Run a command in a sandbox that exists", Exec},
    {"attach", "Attach to a command that runs", Attach},
    {"ps", "List sandboxes and executions", Ps},
    {"logs", "Print the output of an execution", Logs},
    {"allow", "Let a sandbox reach further hosts", Allow},
    {"screen", "Print what a terminal shows", Screen},
    {"record", "Print a recording of a terminal", Record},
    {"wait", "Wait for the end of an execution", Wait},
    {"kill", "Send a signal to an execution", Kill},
    {"rm", "Remove sandboxes and executions", Remove},
    {"port-forward", "Reach servers in a sandbox from this machine",
     PortForward},
    {"prune", "Delete executions that have ended", Prune},
    {"info", "Show what the server enforces on its host", Info},
};

// A command of other tools, and what to type instead.
struct Habit {
  const char* name;
  const char* instead;
};

constexpr Habit kHabits[] = {
    {"stop",
     "corral kill SANDBOX/EXECUTION sends SIGTERM, corral rm SANDBOX "
     "ends everything in a sandbox and deletes it"},
    {"start", "corral run or corral exec starts a command"},
    {"restart", "corral run or corral exec starts a command anew"},
    {"ls", "corral ps lists sandboxes and executions"},
    {"list", "corral ps lists sandboxes and executions"},
    {"inspect", "corral ps --json shows everything"},
    {"remove", "corral rm deletes"},
    {"delete", "corral rm deletes"},
    {"cp", "a sandbox shares its workspace directory with this machine"},
    {"pull", "there are no images; commands see this machine's /usr"},
    {"build", "there are no images; commands see this machine's /usr"},
    {"version", "corral --version shows it"},
};

std::string Summary() {
  std::string text =
      "Runs commands in sandboxes: they see a workspace directory and nothing "
      "else\nof this machine.\n"
      "\n"
      "  corral run -- make -j2        in the current directory\n"
      "\n"
      "Commands (corral COMMAND --help describes one):";
  for (const Subcommand& subcommand : kSubcommands) {
    absl::StrAppend(&text, absl::StrFormat("\n  %-14s%s", subcommand.name,
                                           subcommand.summary));
  }
  return text;
}

const Subcommand* Find(const std::string& name) {
  for (const Subcommand& subcommand : kSubcommands) {
    if (name == subcommand.name) {
      return &subcommand;
    }
  }
  return nullptr;
}

absl::string_view Instead(const std::string& name) {
  for (const Habit& habit : kHabits) {
    if (name == habit.name) {
      return habit.instead;
    }
  }
  return "see corral --help";
}

absl::StatusOr<int> Dispatch(const std::vector<std::string>& words,
                             const client::Timing& timing) {
  Invocation invocation;
  invocation.server.timing = timing;
  bool version = false;
  OptionTable table("corral", "[OPTIONS] COMMAND [ARG...]", Summary());
  AddServerOptions(table, invocation.server);
  table.Flag('v', "version", "Show the version.", version);
  table.TakeCommandAfter(0);
  ASSIGN_OR_RETURN(Arguments arguments, table.Parse(words));
  if (!arguments.command.empty() && arguments.command[0] == "help") {
    // "help COMMAND" is "COMMAND --help".
    arguments.command.erase(arguments.command.begin());
    arguments.help = arguments.command.empty();
    arguments.command.emplace_back("--help");
  }
  if (arguments.help) {
    return Print(table.Help());
  }
  if (version) {
    return Print(absl::StrCat("corral ", sandbox::kVersion, "\n"));
  }
  if (arguments.command.empty()) {
    return UsageError("no command is given; see corral --help");
  }
  const std::string& name = arguments.command[0];
  const Subcommand* subcommand = Find(name);
  if (subcommand == nullptr) {
    return UsageError(absl::StrCat("unknown command \"", Printable(name),
                                   "\"; ", Instead(name)));
  }
  invocation.words.assign(std::next(arguments.command.begin()),
                          arguments.command.end());
  return subcommand->run(std::move(invocation));
}

// Opens the descriptors 0, 1 and 2 if they are closed: the next socket would
// get their number. Reading input and writing output then fail as before;
// errors go nowhere.
void OccupyStandardDescriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0) {
      ::open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY);
    }
  }
}

// Names the option in place of the API's field.
std::string Explain(const absl::Status& status) {
  absl::string_view message = status.message();
  if (absl::ConsumePrefix(&message, "sandbox.workspace.path")) {
    return absl::StrCat("the workspace", message,
                        "; name another with --workspace DIR, or use "
                        "--no-workspace");
  }
  return absl::ConsumePrefix(&message, "sandbox_id")
             ? absl::StrCat("--name", message)
             : std::string(message);
}

}  // namespace

int RunCommandLine(const std::vector<std::string>& words,
                   const client::Timing& timing) {
  OccupyStandardDescriptors();
  // Ignored, so that writing into a closed pipe fails with EPIPE, which the
  // writer handles.
  ::signal(SIGPIPE, SIG_IGN);
  // The calls report their errors; gRPC's own log would repeat them.
  ::gpr_set_log_function([](gpr_log_func_args*) {});
  const absl::StatusOr<int> code = Dispatch(words, timing);
  if (code.ok()) {
    return *code;
  }
  if (absl::IsAborted(code.status())) {
    return kBrokenPipe;
  }
  Say(Explain(code.status()));
  return absl::IsInvalidArgument(code.status()) ? kUsageError : kCorralFailed;
}

}  // namespace bridge
