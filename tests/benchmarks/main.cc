// Prints the table of tests/benchmarks/run. That script starts the server and
// passes the paths.

#include <iostream>
#include <memory>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/grpcpp.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/bare_server.h"
#include "tests/benchmarks/corral.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/samples.h"

ABSL_FLAG(std::string, server, "", "unix:PATH of the corrald to measure");
ABSL_FLAG(int, server_pid, 0, "its process id");
ABSL_FLAG(std::string, workspace, "", "a directory for sockets and programs");

namespace tests {
namespace {

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
  RETURN_IF_ERROR(MeasureWarmCommand(setting));
  RETURN_IF_ERROR(MeasureSandbox(setting));
  RETURN_IF_ERROR(MeasureOutput(setting));
  RETURN_IF_ERROR(MeasureIdleMemory(setting));
  return MeasureRetainedMemory(setting);
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
