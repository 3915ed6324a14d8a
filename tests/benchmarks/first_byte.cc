#include <unistd.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/crowd.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/other_stream.h"
#include "tests/benchmarks/samples.h"
#include "tests/benchmarks/spawn.h"

namespace tests {
namespace {

using ::corral::v1::OutputEvent;

constexpr int kOthers = 100;
constexpr int kSandboxes = 8;
constexpr char kOthersPause[] = "100";
constexpr char kLines[] = "400";
constexpr char kPause[] = "10";

// Adds the age of each time in `text`.
void AddAges(const std::string& text, absl::Time now, Samples& ages) {
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    int64_t written = 0;
    if (absl::SimpleAtoi(line, &written)) {
      ages.Add(absl::ToDoubleMilliseconds(now - absl::FromUnixNanos(written)));
    }
  }
}

class FirstByte {
 public:
  explicit FirstByte(const Setting& setting)
      : setting_(setting),
        program_(absl::StrCat(setting.workspace, "/line_clock")) {}

  // Reads lines from a command, with a bare pipe beside it at the same time.
  absl::Status Read(const std::string& sandbox, Samples& lines, Samples& bare) {
    absl::Status piped;
    std::thread pipe([&] { piped = ReadPipe(bare); });
    absl::Status streamed = ReadStream(sandbox, lines);
    pipe.join();
    RETURN_IF_ERROR(piped);
    return streamed;
  }

  absl::StatusOr<std::string> StartOther(const std::string& sandbox) {
    return setting_.corral.Start(sandbox, {program_, "0", kOthersPause});
  }

 private:
  absl::Status ReadPipe(Samples& ages) const {
    ASSIGN_OR_RETURN(SpawnedCommand command,
                     SpawnedCommand::Start({program_, kLines, kPause}));
    std::array<char, 4096> buffer;
    ssize_t size = 0;
    while ((size = read(command.output(), buffer.data(), buffer.size())) > 0) {
      AddAges(std::string(buffer.data(), size), absl::Now(), ages);
    }
    return command.Wait();
  }

  absl::Status ReadStream(const std::string& sandbox, Samples& ages) const {
    grpc::ClientContext context;
    const auto reader = setting_.corral.executions().RunExecution(
        &context, MakeRequest(sandbox, {program_, kLines, kPause}));
    OutputEvent event;
    while (reader->Read(&event)) {
      if (event.has_chunk()) {
        AddAges(event.chunk().data(), absl::Now(), ages);
      }
    }
    RETURN_IF_ERROR(FromGrpc(reader->Finish()));
    return CheckEnd(event);
  }

  const Setting& setting_;
  const std::string program_;
};

void Add(const Setting& setting, const std::string& figure,
         const Samples& lines, const Samples& bare, Goal goal,
         const std::string& others) {
  setting.report.Add(
      {figure, "ms", lines, "a bare pipe, " + others, bare, goal, ""});
}

absl::Status MeasureWithOthers(const Setting& setting, const Crowd& crowd,
                               FirstByte& first_byte) {
  std::vector<std::string> executions;
  std::vector<std::unique_ptr<OtherStream>> others;
  for (int i = 0; i < kOthers; ++i) {
    ASSIGN_OR_RETURN(std::string execution,
                     first_byte.StartOther(crowd.names()[i % kSandboxes]));
    others.push_back(
        std::make_unique<OtherStream>(setting.corral.executions(), execution));
    executions.push_back(std::move(execution));
  }
  Samples lines;
  Samples bare;
  const absl::Status read = first_byte.Read(crowd.names().front(), lines, bare);
  others.clear();
  for (const std::string& execution : executions) {
    RETURN_IF_ERROR(setting.corral.DeleteExecution(execution));
  }
  RETURN_IF_ERROR(read);
  const std::string busy = "100 others write";
  const std::string figure = "a line to the client, " + busy;
  Add(setting, figure, lines, bare, Goal::AtMost(0.3), busy);
  Add(setting, figure + ", slowest", lines, bare, Goal::AtMost(2, 0.99), busy);
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureFirstByte(const Setting& setting) {
  Crowd crowd(setting.corral);
  RETURN_IF_ERROR(crowd.Grow(kSandboxes, setting.workspace).status());
  FirstByte first_byte(setting);
  Samples lines;
  Samples bare;
  RETURN_IF_ERROR(first_byte.Read(crowd.names().front(), lines, bare));
  Add(setting, "a line to the client, no other writes", lines, bare,
      Goal::None(), "no other writes");
  RETURN_IF_ERROR(MeasureWithOthers(setting, crowd, first_byte));
  return crowd.End();
}

}  // namespace tests
