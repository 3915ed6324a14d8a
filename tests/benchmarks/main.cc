// Prints the table of tests/benchmarks/run. That script starts the server and
// passes the paths. The current directory holds corrald, corral and corral-acp.

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
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
#include "tests/benchmarks/cost_plot.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/report.h"

ABSL_FLAG(std::string, server, "", "unix:PATH of the corrald to measure");
ABSL_FLAG(int, server_pid, 0, "its process id");
ABSL_FLAG(std::string, state_dir, "", "its state directory");
ABSL_FLAG(std::vector<std::string>, figures, {},
          "measure only these: warm, cli, calls, throughput, concurrent, "
          "terminal, sandbox, output, line, wayout, port, idle, many, "
          "retained, start");
ABSL_FLAG(std::string, workspace, "", "a directory for sockets and programs");
ABSL_FLAG(std::string, bundle, "", "the directory of an OCI bundle");
ABSL_FLAG(std::string, peers, "", "a directory with the packages from npm");
ABSL_FLAG(bool, large, false, "measure thousands of sandboxes too");
ABSL_FLAG(std::string, json, "", "a file for the figures as JSON");
ABSL_FLAG(std::string, svg, "", "a file for the plot");

namespace tests {
namespace {

struct Figure {
  absl::string_view name;
  absl::Status (*measure)(const Setting& setting);
};

// Those with callbacks of gRPC come last: once a process has used one, threads
// of gRPC take the answers to all its calls and then wake the caller. Idle
// sandboxes and retained executions come before those that fill corrald's heap,
// which would hide what they take.
constexpr Figure kFigures[] = {{"warm", MeasureWarmCommand},
                               {"cli", MeasureCommandLine},
                               {"calls", MeasureSystemCalls},
                               {"terminal", MeasureTerminal},
                               {"sandbox", MeasureSandbox},
                               {"idle", MeasureIdleSandbox},
                               {"retained", MeasureRetainedExecution},
                               {"output", MeasureOutput},
                               {"line", MeasureFirstByte},
                               {"wayout", MeasureWayOut},
                               {"port", MeasurePublishedPort},
                               {"start", MeasureServerStart},
                               {"many", MeasureManySandboxes},
                               {"throughput", MeasureThroughput},
                               {"concurrent", MeasureConcurrentCommands}};

// A figure that fails is reported, and the others are still measured.
bool MeasureAll(const Setting& setting) {
  const std::vector<std::string> only = absl::GetFlag(FLAGS_figures);
  bool complete = true;
  for (const Figure& figure : kFigures) {
    if (!only.empty() &&
        std::find(only.begin(), only.end(), figure.name) == only.end()) {
      continue;
    }
    if (const absl::Status status = figure.measure(setting); !status.ok()) {
      setting.report.NotMeasured(
          absl::StrCat("the rest of \"", figure.name, "\""), status.ToString());
      complete = false;
    }
  }
  return complete;
}

absl::Status WriteFile(const std::string& path, const std::string& content) {
  if (path.empty()) {
    return absl::OkStatus();
  }
  std::ofstream file(path);
  file << content;
  file.close();
  return file.good() ? absl::OkStatus()
                     : absl::UnknownError(absl::StrCat("cannot write ", path));
}

// Every client has a connection.
void AllowManyDescriptors() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

absl::Status Measure() {
  AllowManyDescriptors();
  const std::string workspace = absl::GetFlag(FLAGS_workspace);
  ASSIGN_OR_RETURN(const std::unique_ptr<BareServer> bare,
                   BareServer::Start(absl::StrCat(workspace, "/bare.sock")));
  // Keeps gRPC from shutting down between figures, which it reports as an error
  // if something still runs.
  ::grpc_init();
  Corral corral(grpc::CreateChannel(absl::GetFlag(FLAGS_server),
                                    grpc::InsecureChannelCredentials()));
  Report report;
  CostPlot plot;
  const Setting setting{.corral = corral,
                        .bare = *bare,
                        .report = report,
                        .plot = plot,
                        .server = absl::GetFlag(FLAGS_server),
                        .server_pid = absl::GetFlag(FLAGS_server_pid),
                        .state_directory = absl::GetFlag(FLAGS_state_dir),
                        .workspace = workspace,
                        .nolibc_true = absl::StrCat(workspace, "/nolibc_true"),
                        .bundle = absl::GetFlag(FLAGS_bundle),
                        .peers = absl::GetFlag(FLAGS_peers),
                        .large = absl::GetFlag(FLAGS_large)};
  const bool complete = MeasureAll(setting);
  report.PrintSum();
  RETURN_IF_ERROR(WriteFile(absl::GetFlag(FLAGS_json), report.Json()));
  if (!plot.empty()) {
    RETURN_IF_ERROR(WriteFile(absl::GetFlag(FLAGS_svg), plot.Svg()));
  }
  return complete ? absl::OkStatus()
                  : absl::InternalError("some figures were not measured");
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
