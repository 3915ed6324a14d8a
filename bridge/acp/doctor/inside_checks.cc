#include "bridge/acp/doctor/inside_checks.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using corral::v1::Execution;

// The codes of a shell for a program that it cannot execute or find.
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

}  // namespace

Finding CheckMount(client::Connection& connection, const std::string& sandbox,
                   const corral::v1::Mount& mount) {
  const std::string& place =
      mount.target().empty() ? mount.source() : mount.target();
  const char* const test = mount.writable() ? "-w" : "-r";
  ASSIGN_OR_RETURN(const Execution ended,
                   Run(connection, sandbox,
                       {{"/bin/sh", "-c", "test \"$0\" \"$1\"", test, place}}));
  if (!Succeeded(ended)) {
    return absl::PermissionDeniedError(absl::StrCat(
        "commands cannot ", mount.writable() ? "write to " : "read ", place,
        ", which is ", mount.source(), "; its owner and mode decide"));
  }
  return absl::StrCat(place, mount.writable() ? ", writable" : ", read-only");
}

Finding CheckVersion(client::Connection& connection, const std::string& sandbox,
                     Trial trial) {
  trial.argv.emplace_back("--version");
  ASSIGN_OR_RETURN(const Execution ended, Run(connection, sandbox, trial));
  const bool started = ended.exit().has_code() &&
                       ended.exit().code() != kNotExecutable &&
                       ended.exit().code() != kNotFound;
  ASSIGN_OR_RETURN(const std::string said,
                   OutputOf(connection, ended,
                            started ? corral::v1::STDOUT : corral::v1::STDERR));
  if (!started) {
    return absl::FailedPreconditionError(
        absl::StrCat("it does not run: ", said.substr(0, said.find('\n')),
                     "; --mount shows it more directories"));
  }
  return absl::StrCat("runs, and says: ", said.substr(0, said.find('\n')));
}

}  // namespace bridge
