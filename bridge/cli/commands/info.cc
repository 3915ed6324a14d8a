#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bridge/cli/commands/subcommand.h"
#include "bridge/cli/report/json_output.h"
#include "bridge/cli/report/text_table.h"
#include "bridge/client/call.h"
#include "bridge/options/quantity.h"
#include "bridge/options/server_options.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using corral::v1::ServerInfo;

std::string LimitsText(const corral::v1::Limits& limits) {
  return absl::StrCat(
      limits.has_memory_bytes() ? FormatBytes(limits.memory_bytes())
                                : "no limit",
      " of memory, ",
      limits.has_pids() ? absl::StrCat(limits.pids()) : "any number of",
      " processes, ",
      limits.has_cpu_millis()
          ? absl::StrFormat("%.4g",
                            static_cast<double>(limits.cpu_millis()) / 1000)
          : "all",
      " CPUs",
      limits.has_file_bytes() ? absl::StrCat(", files of at most ",
                                             FormatBytes(limits.file_bytes()))
                              : "",
      limits.has_disk_bytes_per_second()
          ? absl::StrCat(", ", FormatBytes(limits.disk_bytes_per_second()),
                         " of each disk in a second")
          : "",
      limits.has_disk_operations_per_second()
          ? absl::StrCat(", ", limits.disk_operations_per_second(),
                         " operations of each disk in a second")
          : "",
      limits.has_disk_bytes()
          ? absl::StrCat(", ", FormatBytes(limits.disk_bytes()),
                         " in each workspace")
          : "",
      limits.has_disk_inodes()
          ? absl::StrCat(", ", limits.disk_inodes(), " files in each workspace")
          : "");
}

std::string StateOf(const corral::v1::IsolationFeature& feature) {
  if (feature.state() == corral::v1::IsolationFeature::STATE_UNSPECIFIED) {
    return feature.enforced() ? "enforced" : "missing";  // an older server
  }
  return absl::AsciiStrToLower(
      corral::v1::IsolationFeature::State_Name(feature.state()));
}

std::string Text(const ServerInfo& info, const std::string& address) {
  std::vector<std::vector<std::string>> rows = {
      {"server",
       absl::StrCat(address, info.draining() ? " (shutting down)" : "")},
      {"version", info.version()},
      {"kernel", info.kernel()},
      {"sandboxes", absl::StrCat(info.sandboxes())},
      {"executions", absl::StrCat(info.executions())},
      {"default limits", LimitsText(info.default_limits())},
  };
  if (!info.egress_services().empty()) {
    rows.push_back({"services", absl::StrJoin(info.egress_services(), ", ")});
  }
  if (!info.storage_failure().empty()) {
    rows.push_back({"storage failure", info.storage_failure()});
  }
  std::vector<std::vector<std::string>> features = {
      {"ISOLATION", "STATE", "REQUIRED", "DETAIL"}};
  for (const corral::v1::IsolationFeature& feature : info.isolation()) {
    features.push_back({feature.name(), StateOf(feature),
                        feature.required() ? "yes" : "no", feature.detail()});
  }
  return absl::StrCat(FormatTable(rows, 0), "\n", FormatTable(features, 0));
}

}  // namespace

absl::StatusOr<int> Info(Invocation invocation) {
  OptionTable table("corral info", "[OPTIONS]",
                    "Shows the server and what it enforces on its host.");
  bool json = false;
  table.Flag(0, "json", "Print the ServerInfo as JSON.", json);
  AddServerOptions(table, invocation.server);
  ASSIGN_OR_RETURN(const Arguments arguments, table.Parse(invocation.words));
  if (arguments.help) {
    return Print(table.Help());
  }
  ASSIGN_OR_RETURN(const auto connection,
                   client::Connection::Open(invocation.server));
  ASSIGN_OR_RETURN(
      const ServerInfo info,
      client::Call(*connection,
                   &corral::v1::AdminService::StubInterface::GetServerInfo,
                   corral::v1::GetServerInfoRequest()));
  return Print(json ? absl::StrCat(ToJson(info), "\n")
                    : Text(info, connection->address()));
}

}  // namespace bridge
