#include "sandbox/supervisor/killed_processes.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "sandbox/base/small_file.h"
#include "sandbox/supervisor/reap.h"

namespace sandbox {
namespace {

constexpr size_t kMaxDescribed = 32;

// The value of the line "key\tvalue" in a file of proc(5); empty if there is
// none.
absl::string_view FindField(absl::string_view text, absl::string_view key) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::ConsumePrefix(&line, key)) {
      return absl::StripAsciiWhitespace(line);
    }
  }
  return "";
}

// Returns nothing if the process has ended.
std::optional<wire::ExitRecord::Killed> Describe(pid_t pid) {
  const std::string directory = absl::StrCat("/proc/", pid);
  const absl::StatusOr<std::string> status =
      ReadSmallFile(directory + "/status");
  const absl::StatusOr<std::string> command =
      ReadSmallFile(directory + "/comm");
  if (!status.ok() || !command.ok()) {
    return std::nullopt;
  }
  const absl::string_view state = FindField(*status, "State:");
  if (absl::StartsWith(state, "Z") || absl::StartsWith(state, "X")) {
    return std::nullopt;
  }
  // One number for each pid namespace, the innermost last.
  const std::vector<absl::string_view> pids =
      absl::StrSplit(FindField(*status, "NSpid:"), '\t');
  wire::ExitRecord::Killed killed;
  int32_t inside = 0;
  if (absl::SimpleAtoi(pids.back(), &inside)) {
    killed.set_pid(inside);
  }
  killed.set_command(std::string(absl::StripSuffix(*command, "\n")));
  return killed;
}

}  // namespace

void KilledProcesses::Note(const std::vector<pid_t>& pids, int leader) {
  if (pids.empty()) {
    return;
  }
  const pid_t leader_pid = leader >= 0 ? PidOf(leader) : -1;
  for (const pid_t pid : pids) {
    if (pid == leader_pid || noted_.count(pid) != 0) {
      continue;
    }
    if (first_.size() < kMaxDescribed) {
      std::optional<wire::ExitRecord::Killed> killed = Describe(pid);
      if (!killed.has_value()) {
        continue;
      }
      first_.push_back(*std::move(killed));
    }
    noted_.insert(pid);
  }
}

void KilledProcesses::WriteTo(wire::ExitRecord* exit) const {
  for (const wire::ExitRecord::Killed& killed : first_) {
    *exit->add_killed() = killed;
  }
  exit->set_killed_count(static_cast<uint32_t>(noted_.size()));
}

}  // namespace sandbox
