// A server in a sandbox, reached at a published port.

#include <csignal>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/network_figures.h"
#include "tests/benchmarks/samples.h"
#include "tests/process.h"

namespace tests {
namespace {

constexpr char kTurns[] = "2000";
constexpr char kAddress[] = "127.0.0.1:";

// Waits until the program's errors name its port.
absl::StatusOr<std::string> AwaitPort(Process& program) {
  while (program.IsRunning()) {
    const std::string error = program.ReadError();
    const size_t found = error.find(kAddress);
    const size_t end = error.find('\n', found);
    if (found != std::string::npos && end != std::string::npos) {
      const size_t begin = found + sizeof(kAddress) - 1;
      return error.substr(begin, end - begin);
    }
    absl::SleepFor(absl::Milliseconds(1));
  }
  return absl::InternalError(
      absl::StrCat("a program does not listen: ", program.ReadError()));
}

// Measures in turn at both ports.
absl::Status Measure(const Setting& setting, const std::string& socat_port,
                     const std::string& corral_port) {
  Samples rates[2];
  Samples turns[2];
  const std::string ports[2] = {socat_port, corral_port};
  const std::string client = absl::StrCat(setting.workspace, "/network_client");
  for (int i = 0; i < 2 * kNetworkRounds; ++i) {
    const std::string& port = ports[i % 2];
    RETURN_IF_ERROR(
        AddNumbers({client, "download", "127.0.0.1", port, kDownloadMebibytes},
                   rates[i % 2]));
    RETURN_IF_ERROR(
        AddNumbers({client, "turns", "127.0.0.1", port, kTurns}, turns[i % 2]));
  }
  const std::string reference = "socat, the same server outside";
  setting.report.Add({"a download of 512 MiB from a published port", "MB/s",
                      rates[1], reference, rates[0], Goal::RatioAtLeast(0.5),
                      ""});
  setting.report.Add({"a round trip of a byte to a published port", "us",
                      turns[1], reference + ", round trip", turns[0],
                      Goal::None(), ""});
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasurePublishedPort(const Setting& setting) {
  const std::string server = absl::StrCat(setting.workspace, "/network_server");
  Process outside({server, "serve", "0"});
  ASSIGN_OR_RETURN(const std::string upstream, ReadPort(outside));
  // With two -d, it names its port.
  Process socat({"socat", "-d", "-d", "-b65536",
                 "TCP-LISTEN:0,bind=127.0.0.1,fork,nodelay",
                 absl::StrCat("TCP:127.0.0.1:", upstream, ",nodelay")});
  ASSIGN_OR_RETURN(const std::string socat_port, AwaitPort(socat));
  Process corral({"./corral", "--server", setting.server, "run", "--workspace",
                  setting.workspace, "--publish", "8080:0", "--", server,
                  "serve", "8080"});
  corral.CloseInput();
  RETURN_IF_ERROR(ReadPort(corral).status());
  ASSIGN_OR_RETURN(const std::string corral_port, AwaitPort(corral));
  const absl::Status measured = Measure(setting, socat_port, corral_port);
  corral.Signal(SIGTERM);
  corral.Wait();
  return measured;
}

}  // namespace tests
