#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/call_trace.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/samples.h"
#include "tests/benchmarks/sandbox_processes.h"

namespace tests {
namespace {

constexpr int kWarmUp = 20;
constexpr int kCommands = 100;
// The work behind an answer is over after this time.
constexpr absl::Duration kPause = absl::Milliseconds(50);

// The calls of each command: on the path between request and answer, and off
// it. The pause keeps the work behind an earlier answer off the path.
struct Calls {
  explicit Calls(size_t commands) : path(commands), off(commands) {}

  std::vector<double> path;
  std::vector<double> off;
  std::vector<double> syncs;
  std::map<std::string, int> by_name;
};

// When a request was sent and answered.
using Windows = std::vector<std::pair<absl::Time, absl::Time>>;

// `answering` is the only thread whose calls are on the path; 0: all are.
void Count(const std::vector<SystemCall>& trace, const Windows& windows,
           pid_t answering, Calls& calls) {
  calls.syncs.resize(windows.size());
  for (const SystemCall& call : trace) {
    // The last window that began before the call.
    const auto next =
        std::upper_bound(windows.begin(), windows.end(), call.begin,
                         [](absl::Time time, const auto& window) {
                           return time < window.first;
                         });
    if (next == windows.begin()) {
      continue;
    }
    const size_t command = next - windows.begin() - 1;
    const bool on_path = call.begin <= windows[command].second &&
                         (answering == 0 || call.thread == answering);
    ++(on_path ? calls.path : calls.off)[command];
    ++calls.by_name[call.name];
    if (on_path && (call.name == "fsync" || call.name == "fdatasync")) {
      ++calls.syncs[command];
    }
  }
}

Samples ToSamples(const std::vector<double>& values) {
  Samples samples;
  for (const double value : values) {
    samples.Add(value);
  }
  return samples;
}

// "futex 12.3, recvmsg 4.0": the most frequent ones, for each command.
std::string Frequent(const Calls& calls) {
  std::multimap<int, std::string, std::greater<>> by_count;
  for (const auto& [name, count] : calls.by_name) {
    by_count.emplace(count, name);
  }
  std::string text;
  int left = 8;
  for (const auto& [count, name] : by_count) {
    if (left-- == 0) {
      break;
    }
    absl::StrAppendFormat(&text, "%s%s %.1f", text.empty() ? "" : ", ", name,
                          count / static_cast<double>(kCommands));
  }
  return text;
}

void Add(const Setting& setting, const std::string& figure,
         const std::vector<double>& values, Goal goal,
         const std::string& note = "") {
  setting.report.Add({figure, "", ToSamples(values), "", {}, goal, note});
}

absl::StatusOr<Windows> RunCommands(const Setting& setting,
                                    const std::string& sandbox, int count) {
  Windows windows;
  for (int i = 0; i < count; ++i) {
    absl::SleepFor(kPause);
    const absl::Time begin = absl::Now();
    RETURN_IF_ERROR(
        setting.corral.RunCommand(sandbox, {setting.nolibc_true}).status());
    windows.emplace_back(begin, absl::Now());
  }
  absl::SleepFor(kPause);
  return windows;
}

absl::Status Measure(const Setting& setting, const std::string& sandbox) {
  RETURN_IF_ERROR(RunCommands(setting, sandbox, kWarmUp).status());
  ASSIGN_OR_RETURN(const SandboxProcesses processes,
                   FindProcesses(setting.corral, sandbox, setting.server_pid));
  const std::string file = setting.workspace + "/calls-";
  ASSIGN_OR_RETURN(CallTrace server,
                   CallTrace::Attach(setting.server_pid, file + "corrald"));
  ASSIGN_OR_RETURN(
      CallTrace supervisor,
      CallTrace::Attach(processes.supervisor, file + "supervisor"));
  ASSIGN_OR_RETURN(CallTrace spawner,
                   CallTrace::Attach(processes.spawner, file + "spawner"));
  ASSIGN_OR_RETURN(const Windows windows,
                   RunCommands(setting, sandbox, kCommands));
  Calls both(windows.size());
  struct Traced {
    std::string who;
    CallTrace& trace;
    // The other threads of a supervisor work behind the answers.
    pid_t answering;
    bool counts;
  };
  for (const Traced& traced :
       {Traced{"corrald", server, 0, true},
        Traced{"supervisor", supervisor, processes.supervisor, true},
        Traced{"spawner and command", spawner, 0, false}}) {
    ASSIGN_OR_RETURN(const std::vector<SystemCall> calls, traced.trace.Stop());
    Calls own(windows.size());
    Count(calls, windows, traced.answering, own);
    Add(setting, "system calls on the path, " + traced.who, own.path,
        Goal::None(), "all: " + Frequent(own));
    if (traced.counts) {
      Count(calls, windows, traced.answering, both);
    }
  }
  const std::string figure = "system calls, corrald and supervisor, ";
  Add(setting, figure + "on the path", both.path, Goal::AtMost(60));
  Add(setting, figure + "off it", both.off, Goal::AtMost(30));
  Add(setting, "fsync and fdatasync on the path", both.syncs, Goal::AtMost(0));
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureSystemCalls(const Setting& setting) {
  ASSIGN_OR_RETURN(const std::string sandbox,
                   setting.corral.CreateSandbox(setting.workspace));
  RETURN_IF_ERROR(Measure(setting, sandbox));
  return setting.corral.DeleteSandbox(sandbox);
}

}  // namespace tests
