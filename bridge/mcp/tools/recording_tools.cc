// startRecording and stopRecording.

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bridge/mcp/terminal/screen_redraw.h"
#include "bridge/mcp/tools/tools.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

// "60 minutes". Parts of a minute do not count.
std::string Minutes(double seconds) {
  const auto minutes = static_cast<int64_t>(std::floor(seconds / 60));
  return absl::StrCat(minutes, minutes == 1 ? " minute" : " minutes");
}

// Returns text about when the recording stops by itself; empty if it does not.
std::string AutoStopMessage(const RecordingOptions& options) {
  std::vector<std::string> limits;
  if (options.max_duration > 0) {
    limits.push_back(Minutes(options.max_duration));
  }
  if (options.inactivity_timeout > 0) {
    limits.push_back(
        absl::StrCat(Minutes(options.inactivity_timeout), " of inactivity"));
  }
  return limits.empty() ? ""
                        : absl::StrCat("Recording will auto-stop after ",
                                       absl::StrJoin(limits, " or "));
}

const char* ModeOf(const RecordingOptions& options) {
  return options.only_failures ? "on-failure" : "always";
}

absl::StatusOr<RecordingOptions> ToOptions(const Arguments& arguments) {
  RecordingOptions options;
  RETURN_IF_ERROR(arguments.Choice("format", {"v2"}).status());
  ASSIGN_OR_RETURN(const std::string mode,
                   arguments.Choice("mode", {"always", "on-failure"}));
  options.only_failures = mode == "on-failure";
  ASSIGN_OR_RETURN(options.directory, arguments.String("outputDir", ""));
  ASSIGN_OR_RETURN(options.idle_time_limit,
                   arguments.Number("idleTimeLimit", options.idle_time_limit));
  ASSIGN_OR_RETURN(options.max_duration,
                   arguments.Number("maxDuration", options.max_duration));
  ASSIGN_OR_RETURN(
      options.inactivity_timeout,
      arguments.Number("inactivityTimeout", options.inactivity_timeout));
  return options;
}

absl::StatusOr<FirstScreen> ToFirstScreen(
    const std::shared_ptr<Terminal>& terminal) {
  ASSIGN_OR_RETURN(const corral::v1::Screen screen,
                   terminal->GetScreen(/*styles=*/true));
  FirstScreen first;
  first.terminal = terminal->execution();
  first.columns = screen.size().columns();
  first.rows = screen.size().rows();
  first.redraw = Redraw(screen);
  first.offset = screen.end_offset();
  first.since = [terminal](uint64_t offset) {
    return terminal->OutputSince(offset);
  };
  return first;
}

ToolResult InProgress(const Recording& active) {
  return ToolResult::Failure(
      SerializeIndented({{"error", "A recording is already in progress"},
                         {"activeRecordingId", active.id},
                         {"activePath", active.path}}));
}

}  // namespace

Tools::Result Tools::StartRecording(const Arguments& arguments) {
  ASSIGN_OR_RETURN(RecordingOptions options, ToOptions(arguments));
  ASSIGN_OR_RETURN(const bool with_screen,
                   arguments.Bool("startWithScreen", false));
  const std::optional<Recording> active = recorder_->active();
  if (active.has_value()) {
    return InProgress(*active);
  }
  if (with_screen) {
    ASSIGN_OR_RETURN(const std::shared_ptr<Terminal> terminal, Find(arguments));
    ASSIGN_OR_RETURN(options.first, ToFirstScreen(terminal));
  }
  ASSIGN_OR_RETURN(const Recording recording, recorder_->Start(options));
  OrderedJson answer = {
      {"recordingId", recording.id},
      {"path", recording.path},
      {"format", "v2"},
      {"mode", ModeOf(options)},
      {"maxDuration", JavaScriptNumber(options.max_duration)},
      {"inactivityTimeout", JavaScriptNumber(options.inactivity_timeout)}};
  const std::string message = AutoStopMessage(options);
  if (!message.empty()) {
    answer["message"] = message;
  }
  return ToolResult::Object(answer);
}

Tools::Result Tools::StopRecording(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::string id,
                   arguments.RequiredString("recordingId"));
  ASSIGN_OR_RETURN(const RecordingResult result, recorder_->Stop(id));
  return ToolResult::Object({{"recordingId", id},
                             {"path", result.recording.path},
                             {"durationMs", result.duration_ms},
                             {"bytesWritten", result.bytes},
                             {"saved", result.saved},
                             {"mode", ModeOf(result.recording.options)},
                             {"stopReason", StopReasonName(result.reason)}});
}

}  // namespace bridge
