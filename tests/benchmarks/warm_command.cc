#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/samples.h"
#include "tests/benchmarks/spawn.h"

namespace tests {
namespace {

constexpr int kWarmUp = 30;
constexpr int kRounds = 1000;

struct Program {
  std::string path;
  Samples corral;
  Samples supervised;
  Samples spawn;
};

class WarmCommand {
 public:
  WarmCommand(const Setting& setting, std::string sandbox)
      : setting_(setting), sandbox_(std::move(sandbox)) {}

  absl::Status Round(bool keep) {
    RETURN_IF_ERROR(Start(libc_, keep));
    RETURN_IF_ERROR(Start(nolibc_, keep));
    ASSIGN_OR_RETURN(const absl::Duration elapsed, setting_.bare.TimeHop());
    if (keep) {
      hop_.Add(absl::ToDoubleMicroseconds(elapsed));
    }
    return absl::OkStatus();
  }

  void Report() const {
    const std::string bare = "posix_spawn of /bin/true";
    Add("start to exit, by the supervisor's clock", libc_.supervised, bare,
        libc_.spawn, Goal::AddsAtMost(60));
    const std::string warm = "/bin/true in a warm sandbox";
    Add(warm, libc_.corral, bare, libc_.spawn, Goal::RatioAtMost(1.6));
    Add(warm + ", what it adds", libc_.corral, bare, libc_.spawn,
        Goal::AddsAtMost(250));
    Add(warm + ", the slowest", libc_.corral, bare, libc_.spawn,
        Goal::AddsAtMost(1500, 0.99));
    Add("static, no libc, in a warm sandbox", nolibc_.corral,
        "posix_spawn of it", nolibc_.spawn, Goal::None());
    Add("an empty gRPC call", hop_, "", {}, Goal::None());
  }

 private:
  absl::Status Start(Program& program, bool keep) {
    ASSIGN_OR_RETURN(const absl::Duration spawn, TimeSpawn({program.path}));
    absl::Duration supervised;
    ASSIGN_OR_RETURN(
        const absl::Duration command,
        setting_.corral.TimeCommand(sandbox_, {program.path}, &supervised));
    if (keep) {
      program.spawn.Add(absl::ToDoubleMicroseconds(spawn));
      program.corral.Add(absl::ToDoubleMicroseconds(command));
      program.supervised.Add(absl::ToDoubleMicroseconds(supervised));
    }
    return absl::OkStatus();
  }

  void Add(const std::string& figure, const Samples& samples,
           const std::string& reference, const Samples& reference_samples,
           Goal goal) const {
    setting_.report.Add(
        {figure, "us", samples, reference, reference_samples, goal, ""});
  }

  const Setting& setting_;
  const std::string sandbox_;
  Program libc_{"/bin/true", {}, {}, {}};
  Program nolibc_{setting_.nolibc_true, {}, {}, {}};
  Samples hop_;
};

}  // namespace

absl::Status MeasureWarmCommand(const Setting& setting) {
  ASSIGN_OR_RETURN(const std::string sandbox,
                   setting.corral.CreateSandbox(setting.workspace));
  WarmCommand command(setting, sandbox);
  for (int round = 0; round < kWarmUp + kRounds; ++round) {
    RETURN_IF_ERROR(command.Round(round >= kWarmUp));
  }
  command.Report();
  return setting.corral.DeleteSandbox(sandbox);
}

}  // namespace tests
