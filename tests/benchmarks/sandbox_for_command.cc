#include <unistd.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/v1/sandbox.pb.h"
#include "google/protobuf/util/time_util.h"
#include "sandbox/base/small_file.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/samples.h"
#include "tests/benchmarks/spawn.h"

namespace tests {
namespace {

using google::protobuf::util::TimeUtil;

constexpr int kWarmUp = 5;
constexpr int kRounds = 150;
constexpr int kCreations = 50;
// Long enough for the server to make the next sandbox ahead, which it does
// while nobody waits.
constexpr absl::Duration kRefill = absl::Milliseconds(50);

// The sandbox that bubblewrap makes with its ordinary options: no cgroup, no
// seccomp filter, no limits.
std::vector<std::string> Bubblewrap() {
  return {"/usr/bin/bwrap", "--unshare-all", "--ro-bind", "/usr",
          "/usr",           "--symlink",     "usr/bin",   "/bin",
          "--symlink",      "usr/lib",       "/lib",      "--symlink",
          "usr/lib64",      "/lib64",        "--proc",    "/proc",
          "--dev",          "/dev",          "--tmpfs",   "/tmp",
          "/bin/true"};
}

std::vector<std::string> Crun(const Setting& setting, int round) {
  return {"/usr/bin/crun",
          "--cgroup-manager=disabled",
          "run",
          "--bundle",
          setting.bundle,
          absl::StrCat("corral-benchmark-", setting.server_pid, "-", round)};
}

absl::Status TryCrun(const Setting& setting) {
  const std::string words = absl::StrJoin(Crun(setting, -1), " ");
  return TimeSpawn({"/bin/sh", "-c", absl::StrCat("exec ", words, " 2>&1")})
      .status();
}

struct Times {
  Samples bubblewrap;
  Samples crun;
  Samples corral;
  Samples gone;
};

absl::Status Round(const Setting& setting, bool crun, int round, Times& times) {
  absl::SleepFor(kRefill);
  ASSIGN_OR_RETURN(const absl::Duration bubblewrap, TimeSpawn(Bubblewrap()));
  absl::Duration container;
  if (crun) {
    ASSIGN_OR_RETURN(container, TimeSpawn(Crun(setting, round)));
  }
  const absl::Time begin = absl::Now();
  ASSIGN_OR_RETURN(const absl::Duration command,
                   setting.corral.TimeCommand(Corral::kTenant, {"/bin/true"}));
  // The removal must not slow down the next sample.
  RETURN_IF_ERROR(setting.corral.AwaitNoSandbox());
  if (round < kWarmUp) {
    return absl::OkStatus();
  }
  times.gone.Add(absl::ToDoubleMicroseconds(absl::Now() - begin));
  times.corral.Add(absl::ToDoubleMicroseconds(command));
  times.bubblewrap.Add(absl::ToDoubleMicroseconds(bubblewrap));
  if (crun) {
    times.crun.Add(absl::ToDoubleMicroseconds(container));
  }
  return absl::OkStatus();
}

// How long clients wait for sandboxes, and the server for their supervisors.
struct CreationTimes {
  Samples client;
  // An empty call, after the same pause.
  Samples call;
  Samples supervisor;
};

absl::StatusOr<CreationTimes> TimeCreations(const Setting& setting) {
  CreationTimes times;
  for (int i = 0; i < kWarmUp + kCreations; ++i) {
    absl::SleepFor(kRefill);
    ASSIGN_OR_RETURN(const absl::Duration call, setting.bare.TimeHop());
    absl::SleepFor(kRefill);
    const absl::Time begin = absl::Now();
    ASSIGN_OR_RETURN(const std::string name, setting.corral.CreateSandbox(""));
    const absl::Duration took = absl::Now() - begin;
    ASSIGN_OR_RETURN(const corral::v1::Sandbox sandbox,
                     setting.corral.GetSandbox(name));
    RETURN_IF_ERROR(setting.corral.DeleteSandbox(name));
    RETURN_IF_ERROR(setting.corral.AwaitNoSandbox());
    if (i >= kWarmUp) {
      times.client.Add(absl::ToDoubleMicroseconds(took));
      times.call.Add(absl::ToDoubleMicroseconds(call));
      times.supervisor.Add(static_cast<double>(
          TimeUtil::DurationToMicroseconds(sandbox.trace().supervisor())));
    }
  }
  return times;
}

// The CPU time that this host has spent since it started, in milliseconds; see
// proc_stat(5).
absl::StatusOr<double> HostCpuTime() {
  ASSIGN_OR_RETURN(const std::string text,
                   sandbox::ReadSmallFile("/proc/stat"));
  const std::vector<std::string> fields =
      absl::StrSplit(text.substr(0, text.find('\n')), ' ', absl::SkipEmpty());
  double ticks = 0;
  // User, nice and system time, and that of interrupts; not idle and iowait.
  for (const size_t field : {1, 2, 3, 6, 7}) {
    double value = 0;
    if (fields.size() <= field || !absl::SimpleAtod(fields[field], &value)) {
      return absl::InternalError("cannot read /proc/stat");
    }
    ticks += value;
  }
  return ticks * 1000 / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// Returns the host's CPU time for one of many repetitions of `work`.
absl::StatusOr<Samples> CpuTimeOf(absl::FunctionRef<absl::Status()> work) {
  ASSIGN_OR_RETURN(const double begin, HostCpuTime());
  for (int i = 0; i < kCreations; ++i) {
    RETURN_IF_ERROR(work());
    absl::SleepFor(kRefill);
  }
  ASSIGN_OR_RETURN(const double end, HostCpuTime());
  Samples samples;
  samples.Add((end - begin) / kCreations);
  return samples;
}

absl::Status MeasureCpuTime(const Setting& setting) {
  ASSIGN_OR_RETURN(const Samples bubblewrap,
                   CpuTimeOf([] { return TimeSpawn(Bubblewrap()).status(); }));
  ASSIGN_OR_RETURN(const Samples corral, CpuTimeOf([&setting]() {
                     ASSIGN_OR_RETURN(const std::string name,
                                      setting.corral.CreateSandbox(""));
                     RETURN_IF_ERROR(setting.corral.DeleteSandbox(name));
                     return setting.corral.AwaitNoSandbox();
                   }));
  setting.report.Add({"CPU time to make and remove a sandbox", "ms", corral,
                      "bwrap --unshare-all", bubblewrap, Goal::None(),
                      absl::StrCat("the host's; mean of ", kCreations)});
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureSandbox(const Setting& setting) {
  const std::string figure = "/bin/true in a sandbox of its own";
  const absl::Status crun = TryCrun(setting);
  Times times;
  for (int round = 0; round < kWarmUp + kRounds; ++round) {
    RETURN_IF_ERROR(Round(setting, crun.ok(), round, times));
  }
  Report& report = setting.report;
  report.Add({figure, "us", times.corral, "bwrap --unshare-all",
              times.bubblewrap, Goal::RatioAtMost(0.5), ""});
  if (crun.ok()) {
    report.Add(
        {figure, "us", times.corral, "crun run", times.crun, Goal::None(), ""});
  } else {
    report.NotMeasured(
        figure + " beside crun",
        absl::StrCat("crun does not run here: ", crun.message()));
  }
  report.Add({"... and until that sandbox is gone",
              "us",
              times.gone,
              "",
              {},
              Goal::None(),
              ""});
  ASSIGN_OR_RETURN(const CreationTimes creations, TimeCreations(setting));
  report.Add({"CreateSandbox, seen by a client, one kept ready", "us",
              creations.client, "an empty gRPC call after the same pause",
              creations.call, Goal::AtMost(700), ""});
  report.Add({"... of which corrald waits for the supervisor",
              "us",
              creations.supervisor,
              "",
              {},
              Goal::AtMost(1000),
              ""});
  return MeasureCpuTime(setting);
}

}  // namespace tests
