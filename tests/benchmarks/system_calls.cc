// Counts system calls with strace, so that the figures do not depend on what
// else the machine does.

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/process_memory.h"
#include "tests/benchmarks/samples.h"

namespace tests {
namespace {

constexpr int kWarmUp = 20;
constexpr int kCommands = 200;

bool IsTraced(pid_t pid) {
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("TracerPid:", 0) == 0) {
      return line != "TracerPid:\t0";
    }
  }
  return true;  // it has ended
}

// Counts the calls of a process, its threads and its children.
class Counter {
 public:
  static absl::StatusOr<Counter> Attach(pid_t pid, const std::string& file) {
    const std::string target = absl::StrCat(pid);
    std::vector<const char*> argv = {"strace", "-f",           "-q",
                                     "-c",     "-o",           file.c_str(),
                                     "-p",     target.c_str(), nullptr};
    pid_t strace = -1;
    const int error =
        posix_spawnp(&strace, argv[0], nullptr, nullptr,
                     const_cast<char* const*>(argv.data()), environ);
    if (error != 0) {
      return absl::ErrnoToStatus(error, "strace");
    }
    for (int i = 0; i < 2000 && !IsTraced(pid); ++i) {
      absl::SleepFor(absl::Milliseconds(5));
    }
    return Counter(strace, file);
  }

  // Detaches. Returns the number of calls by name, and as "total".
  absl::StatusOr<std::map<std::string, double>> Stop() {
    kill(strace_, SIGINT);
    waitpid(strace_, nullptr, 0);
    std::ifstream table(file_);
    std::map<std::string, double> counts;
    // "% time  seconds  usecs/call  calls  [errors]  syscall"
    for (std::string line; std::getline(table, line);) {
      std::istringstream words(line);
      std::vector<std::string> fields;
      for (std::string word; words >> word;) {
        fields.push_back(word);
      }
      double calls = 0;
      if (fields.size() >= 4 && absl::SimpleAtod(fields[3], &calls)) {
        counts[fields.back()] = calls;
      }
    }
    if (counts.count("total") == 0) {
      return absl::InternalError("strace wrote no table");
    }
    return counts;
  }

 private:
  Counter(pid_t strace, std::string file)
      : strace_(strace), file_(std::move(file)) {}

  pid_t strace_;
  std::string file_;
};

// The newest process that `parent` started, by the name that ps shows.
absl::StatusOr<pid_t> FindChild(pid_t parent, const std::string& name) {
  pid_t found = 0;
  for (const auto& [pid, its_parent] : ReadParents()) {
    std::ifstream comm(absl::StrCat("/proc/", pid, "/comm"));
    std::string its_name;
    std::getline(comm, its_name);
    if (its_parent == parent && its_name == name && pid > found) {
      found = pid;
    }
  }
  if (found == 0) {
    return absl::NotFoundError(absl::StrCat("no process ", name));
  }
  return found;
}

// The sandbox's own supervisor has just run a command: of all supervisors, it
// has the newest spawner that was waited for.
absl::StatusOr<pid_t> FindSupervisor(pid_t server) {
  pid_t found = 0;
  for (const auto& [pid, parent] : ReadParents()) {
    std::ifstream stat(absl::StrCat("/proc/", pid, "/stat"));
    std::string text;
    std::getline(stat, text);
    if (parent != server || text.find("(corral-supervis)") == text.npos) {
      continue;
    }
    // Minor faults of its children that were reaped: the 11th field.
    std::istringstream fields(text.substr(text.rfind(')') + 2));
    std::string field;
    for (int i = 3; i <= 11; ++i) {
      fields >> field;
    }
    static long most = -1;
    long faults = 0;
    if (found == 0) {
      most = -1;
    }
    if (absl::SimpleAtoi(field, &faults) && faults > most) {
      most = faults;
      found = pid;
    }
  }
  if (found == 0) {
    return absl::NotFoundError("no supervisor");
  }
  return found;
}

void PrintCalls(const std::string& who,
                const std::map<std::string, double>& counts) {
  Samples calls;
  calls.Add(counts.at("total") / kCommands);
  std::multimap<double, std::string> by_count;
  for (const auto& [name, count] : counts) {
    if (name != "total") {
      by_count.emplace(count, name);
    }
  }
  std::string most;
  int left = 8;
  for (auto it = by_count.rbegin(); it != by_count.rend() && left > 0;
       ++it, --left) {
    absl::StrAppend(&most, most.empty() ? "" : ", ", it->second, " ",
                    static_cast<int>(it->first / kCommands * 10 + 0.5) / 10.0);
  }
  PrintRow(absl::StrCat("system calls, ", who), "", calls, most);
}

}  // namespace

absl::Status MeasureSystemCalls(const Setting& setting) {
  ASSIGN_OR_RETURN(const std::string sandbox,
                   setting.corral.CreateSandbox(setting.workspace));
  const std::vector<std::string> command = {setting.nolibc_true};
  for (int i = 0; i < kWarmUp; ++i) {
    RETURN_IF_ERROR(setting.corral.RunCommand(sandbox, command).status());
  }
  ASSIGN_OR_RETURN(const pid_t supervisor, FindSupervisor(setting.server_pid));
  ASSIGN_OR_RETURN(const pid_t spawner,
                   FindChild(supervisor, "corral-spawner"));
  const std::string file = setting.workspace + "/calls-";
  std::vector<std::pair<std::string, pid_t>> processes = {
      {"corrald", setting.server_pid},
      {"supervisor", supervisor},
      {"spawner and command", spawner}};
  for (const auto& [who, pid] : processes) {
    ASSIGN_OR_RETURN(Counter counter, Counter::Attach(pid, file + who));
    for (int i = 0; i < kCommands; ++i) {
      RETURN_IF_ERROR(setting.corral.RunCommand(sandbox, command).status());
    }
    // Work behind the answers, like syncing, belongs to the commands.
    absl::SleepFor(absl::Milliseconds(500));
    ASSIGN_OR_RETURN(const auto counts, counter.Stop());
    PrintCalls(who, counts);
  }
  return setting.corral.DeleteSandbox(sandbox);
}

}  // namespace tests
