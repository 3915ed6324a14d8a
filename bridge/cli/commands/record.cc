#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "bridge/asciicast/cast_lines.h"
#include "bridge/cli/commands/subcommand.h"
#include "bridge/client/call.h"
#include "bridge/client/output_reader.h"
#include "bridge/client/resource_name.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/screen_service.grpc.pb.h"
#include "google/protobuf/util/time_util.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using corral::v1::Execution;
using corral::v1::TerminalTime;
using google::protobuf::util::TimeUtil;

constexpr double kMillis = 1000;

absl::StatusOr<std::vector<TerminalTime>> ListTimes(
    client::Connection& connection, const std::string& name) {
  std::vector<TerminalTime> times;
  corral::v1::ListTerminalTimesRequest request;
  request.set_name(name);
  while (true) {
    request.set_skip(times.size());
    ASSIGN_OR_RETURN(
        const corral::v1::ListTerminalTimesResponse response,
        client::Call(
            connection,
            &corral::v1::ScreenService::StubInterface::ListTerminalTimes,
            request));
    if (response.times().empty()) {
      return times;
    }
    times.insert(times.end(), response.times().begin(), response.times().end());
  }
}

// Turns output and its times into the lines of a recording.
class Recording {
 public:
  explicit Recording(std::vector<TerminalTime> times)
      : times_(std::move(times)) {}

  // The lines for `output`, which begins at `offset`.
  std::string Add(uint64_t offset, absl::string_view output) {
    std::string lines;
    while (!output.empty()) {
      absl::StrAppend(&lines, PassTimes(offset));
      const uint64_t size =
          next_ < times_.size()
              ? std::min<uint64_t>(output.size(),
                                   times_[next_].offset() - offset)
              : output.size();
      absl::StrAppend(&lines, cast_.Output(seconds_, output.substr(0, size)));
      output.remove_prefix(size);
      offset += size;
    }
    return lines;
  }
  // The lines for resizes after the last output.
  std::string Finish() { return PassTimes(UINT64_MAX); }

 private:
  // Advances the clock to the time of `offset`; returns the lines of the
  // resizes until then.
  std::string PassTimes(uint64_t offset) {
    std::string lines;
    for (; next_ < times_.size() && times_[next_].offset() <= offset; ++next_) {
      const TerminalTime& time = times_[next_];
      seconds_ = static_cast<double>(
                     TimeUtil::DurationToMilliseconds(time.elapsed())) /
                 kMillis;
      if (time.has_size()) {
        absl::StrAppend(&lines, cast_.Resize(seconds_, time.size().columns(),
                                             time.size().rows()));
      }
    }
    return lines;
  }

  const std::vector<TerminalTime> times_;
  size_t next_ = 0;
  double seconds_ = 0;
  CastLines cast_;
};

// Prints the recording up to what is written by now.
absl::Status PrintOutput(client::Connection& connection,
                         const std::string& name, Recording& recording) {
  corral::v1::StreamOutputRequest request;
  request.set_name(name);
  request.set_no_follow(true);
  client::OutputReader reader(connection, request);
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<corral::v1::OutputEvent> event,
                     reader.Next());
    if (!event.has_value()) {
      return Print(recording.Finish()).status();
    }
    if (event->has_chunk()) {
      RETURN_IF_ERROR(
          Print(recording.Add(event->chunk().offset(), event->chunk().data()))
              .status());
    }
  }
}

}  // namespace

absl::StatusOr<int> Record(Invocation invocation) {
  OptionTable table(
      "corral record", "[OPTIONS] EXECUTION",
      "Prints a recording of the terminal of an execution, in the format\n"
      "asciicast v2: corral record EXECUTION > file.cast; asciinema play\n"
      "file.cast. Of a command that runs, the recording goes up to now.");
  ASSIGN_OR_RETURN(const std::optional<std::string> name,
                   ParseExecution(table, invocation));
  if (!name.has_value()) {
    return 0;
  }
  ASSIGN_OR_RETURN(const auto connection,
                   client::Connection::Open(invocation.server));
  corral::v1::GetExecutionRequest request;
  request.set_name(*name);
  ASSIGN_OR_RETURN(
      const Execution execution,
      client::Call(*connection,
                   &corral::v1::ExecutionService::StubInterface::GetExecution,
                   request));
  ASSIGN_OR_RETURN(std::vector<TerminalTime> times,
                   ListTimes(*connection, *name));
  if (times.empty()) {
    return absl::NotFoundError(absl::StrCat(client::ShortName(*name),
                                            " has written nothing, or its "
                                            "times were not recorded"));
  }
  const corral::v1::TerminalSize& size = execution.command().terminal();
  RETURN_IF_ERROR(Print(CastLines::Header(size.columns(), size.rows(),
                                          execution.start_time().seconds()))
                      .status());
  Recording recording(std::move(times));
  RETURN_IF_ERROR(PrintOutput(*connection, *name, recording));
  return 0;
}

}  // namespace bridge
