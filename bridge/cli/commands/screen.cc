#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bridge/cli/commands/subcommand.h"
#include "bridge/cli/report/json_output.h"
#include "bridge/client/call.h"
#include "bridge/options/quantity.h"
#include "corral/v1/screen_service.grpc.pb.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

constexpr uint64_t kMaxScrollback = 1000;

std::string Text(const corral::v1::Screen& screen) {
  std::string text;
  for (const auto* part : {&screen.scrollback(), &screen.lines()}) {
    for (const corral::v1::Line& line : *part) {
      absl::StrAppend(&text, line.text(), "\n");
    }
  }
  return text;
}

}  // namespace

absl::StatusOr<int> Screen(Invocation invocation) {
  OptionTable table("corral screen", "[OPTIONS] EXECUTION",
                    "Prints what the terminal of an execution shows.");
  bool json = false;
  uint64_t scrollback = 0;
  table.Value(0, "scrollback", "N",
              "Also the last N lines that scrolled off the top, up to 1000.",
              [&scrollback](absl::string_view value) -> absl::Status {
                ASSIGN_OR_RETURN(scrollback, ParseCount(value));
                return scrollback <= kMaxScrollback
                           ? absl::OkStatus()
                           : absl::InvalidArgumentError("allowed is 0 to 1000");
              });
  table.Flag(0, "json", absl::StrCat("Print the Screen as JSON.\n", kJsonHelp),
             json);
  ASSIGN_OR_RETURN(const std::optional<std::string> name,
                   ParseExecution(table, invocation));
  if (!name.has_value()) {
    return 0;
  }
  ASSIGN_OR_RETURN(const auto connection,
                   client::Connection::Open(invocation.server));
  corral::v1::GetScreenRequest request;
  request.set_name(*name);
  request.set_scrollback_lines(static_cast<uint32_t>(scrollback));
  request.set_styles(json);
  ASSIGN_OR_RETURN(
      const corral::v1::GetScreenResponse response,
      client::Call(*connection,
                   &corral::v1::ScreenService::StubInterface::GetScreen,
                   request));
  if (!json) {
    return Print(Text(response.screen()));
  }
  return Print(absl::StrCat(ToJson(response.screen()), "\n"));
}

}  // namespace bridge
