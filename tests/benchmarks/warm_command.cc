#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/samples.h"
#include "tests/benchmarks/spawn.h"

namespace tests {
namespace {

constexpr int kWarmUp = 30;
constexpr int kRounds = 400;

struct Program {
  std::string path;
  Samples corral;
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

  void Print() const {
    PrintRow("/bin/true, posix_spawn", "us", libc_.spawn, "reference");
    PrintRow("/bin/true, warm sandbox", "us", libc_.corral,
             AtMost(libc_.corral.Median() / libc_.spawn.Median(), 2));
    PrintRow("static, no libc, posix_spawn", "us", nolibc_.spawn, "reference");
    PrintRow("static, no libc, warm sandbox", "us", nolibc_.corral,
             absl::StrFormat("adds %.0f us, no goal",
                             nolibc_.corral.Median() - nolibc_.spawn.Median()));
    PrintRow("an empty gRPC call", "us", hop_, "the least a client can see");
  }

 private:
  absl::Status Start(Program& program, bool keep) {
    ASSIGN_OR_RETURN(const absl::Duration spawn, TimeSpawn({program.path}));
    ASSIGN_OR_RETURN(const absl::Duration command,
                     setting_.corral.TimeCommand(sandbox_, {program.path}));
    if (keep) {
      program.spawn.Add(absl::ToDoubleMicroseconds(spawn));
      program.corral.Add(absl::ToDoubleMicroseconds(command));
    }
    return absl::OkStatus();
  }

  const Setting& setting_;
  const std::string sandbox_;
  Program libc_{.path = "/bin/true", .corral = {}, .spawn = {}};
  Program nolibc_{.path = setting_.nolibc_true, .corral = {}, .spawn = {}};
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
  command.Print();
  return setting.corral.DeleteSandbox(sandbox);
}

}  // namespace tests
