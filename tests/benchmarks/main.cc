// Prints the table of tests/benchmarks/run. That script starts the server and
// passes the paths.

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "grpcpp/grpcpp.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/bare_server.h"
#include "tests/benchmarks/corral.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/samples.h"

ABSL_FLAG(std::string, server, "", "unix:PATH of the corrald to measure");
ABSL_FLAG(int, server_pid, 0, "its process id");
ABSL_FLAG(std::vector<std::string>, figures, {},
          "measure only these: warm, calls, throughput, sandbox, output, idle, "
          "retained");
ABSL_FLAG(std::string, workspace, "", "a directory for sockets and programs");

namespace tests {
namespace {

struct Figure {
  absl::string_view name;
  absl::Status (*measure)(const Setting& setting);
};

constexpr Figure kFigures[] = {
    {"warm", MeasureWarmCommand},       {"calls", MeasureSystemCalls},
    {"throughput", MeasureThroughput},  {"sandbox", MeasureSandbox},
    {"output", MeasureOutput},          {"idle", MeasureIdleMemory},
    {"retained", MeasureRetainedMemory}};

absl::Status MeasureAll(const Setting& setting) {
  const std::vector<std::string> only = absl::GetFlag(FLAGS_figures);
  for (const Figure& figure : kFigures) {
    if (only.empty() ||
        std::find(only.begin(), only.end(), figure.name) != only.end()) {
      RETURN_IF_ERROR(figure.measure(setting));
    }
  }
  return absl::OkStatus();
}

absl::Status Measure() {
  const std::string workspace = absl::GetFlag(FLAGS_workspace);
  Corral corral(grpc::CreateChannel(absl::GetFlag(FLAGS_server),
                                    grpc::InsecureChannelCredentials()));
  ASSIGN_OR_RETURN(const std::unique_ptr<BareServer> bare,
                   BareServer::Start(absl::StrCat(workspace, "/bare.sock")));
  const Setting setting{.corral = corral,
                        .bare = *bare,
                        .workspace = workspace,
                        .nolibc_true = absl::StrCat(workspace, "/nolibc_true"),
                        .server_pid = absl::GetFlag(FLAGS_server_pid)};
  PrintHeader();
  return MeasureAll(setting);
}

}  // namespace
}  // namespace tests

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("Measures a corrald. See tests/benchmarks/run.");
  absl::ParseCommandLine(argc, argv);
  if (const absl::Status status = tests::Measure(); !status.ok()) {
    std::cerr << status << std::endl;
    return 1;
  }
  return 0;
}
