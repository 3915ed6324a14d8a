#include "tests/chaos/reader.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/chaos/pattern.h"
#include "tests/text_file.h"

namespace tests {
namespace {

using ::corral::v1::Execution;
using ::corral::v1::ExitStatus;
using ::corral::v1::OutputEvent;
using ::corral::v1::OutputPolicy;

bool IsKilledForItsOutput(const Workload& workload) {
  return workload.command.output().overflow() == OutputPolicy::KILL &&
         workload.Overflows(corral::v1::STDOUT);
}

}  // namespace

Reader::Reader(Calls& calls, Tally& tally, const Workload& workload,
               std::string execution,
               std::map<corral::v1::Stream, uint64_t> cursors)
    : calls_(calls),
      tally_(tally),
      workload_(workload),
      execution_(std::move(execution)),
      cursors_(std::move(cursors)) {
  for (const auto& [stream, output] : workload.outputs) {
    cursors_.try_emplace(stream, 0);
  }
}

void Reader::Fail(const std::string& what) {
  failed_ = true;
  tally_.Difference(absl::StrCat(execution_, ": ", what));
}

bool Reader::Read(uint64_t bytes) {
  left_ = bytes;
  absl::Time deadline = absl::Now() + Calls::kPatience;
  while (!done()) {
    const uint64_t left = left_;
    const grpc::Status status = Stream();
    if (done()) {
      break;
    }
    if (left_ < left) {
      deadline = absl::Now() + Calls::kPatience;
    }
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE) {
      Fail("the stream ended: " + ToString(status));
    } else if (absl::Now() > deadline) {
      failed_ = true;
      ReportSilence();
    }
    absl::SleepFor(absl::Milliseconds(5));
  }
  return !failed_;
}

void Reader::ReportSilence() {
  corral::v1::GetExecutionRequest request;
  request.set_name(execution_);
  Execution execution;
  const grpc::Status status =
      calls_.Call(&Calls::ExecutionStub::GetExecution, request, &execution);
  std::string cursors;
  for (const auto& [stream, offset] : cursors_) {
    absl::StrAppend(&cursors, " ", Stream_Name(stream), " ", offset);
  }
  tally_.Loss(absl::StrCat(execution_, ": no output for ",
                           absl::FormatDuration(Calls::kPatience), ", at",
                           cursors, "; ", ToString(status), " ",
                           execution.ShortDebugString()));
}

grpc::Status Reader::Stream() {
  corral::v1::StreamOutputRequest request;
  request.set_name(execution_);
  for (const auto& [stream, offset] : cursors_) {
    corral::v1::StreamCursor* cursor = request.add_cursors();
    cursor->set_stream(stream);
    cursor->set_offset(offset);
  }
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(absl::ToChronoTime(absl::Now() + Calls::kPatience));
  ++tally_.streams;
  unacknowledged_ = UINT64_MAX / 2;
  MaybeAcknowledge();
  const auto reader = calls_.executions().StreamOutput(&context, request);
  OutputEvent event;
  while (!done() && reader->Read(&event)) {
    Accept(event);
    MaybeAcknowledge();
  }
  if (done()) {
    context.TryCancel();
  }
  return reader->Finish();
}

void Reader::Accept(const OutputEvent& event) {
  switch (event.event_case()) {
    case OutputEvent::kChunk:
      return AcceptChunk(event.chunk());
    case OutputEvent::kGap:
      return AcceptGap(event.gap());
    case OutputEvent::kEnded:
      return AcceptEnd(event.ended());
    case OutputEvent::kOpened:
    case OutputEvent::kHeartbeat:
    case OutputEvent::EVENT_NOT_SET:
      return;
  }
}

void Reader::AcceptChunk(const corral::v1::Chunk& chunk) {
  uint64_t& cursor = cursors_[chunk.stream()];
  const Workload::Output& output = workload_.outputs.at(chunk.stream());
  const uint64_t end = chunk.offset() + chunk.data().size();
  const uint64_t difference =
      FindDifference(output.seed, chunk.offset(), chunk.data());
  if (chunk.offset() != cursor || end > output.size || difference < end) {
    return Fail(absl::StrCat(Stream_Name(chunk.stream()), ": [", chunk.offset(),
                             ", ", end, ") of ", output.size, " differs from ",
                             difference, " on; wanted ", cursor));
  }
  cursor = end;
  tally_.bytes_compared += chunk.data().size();
  unacknowledged_ += chunk.data().size();
  left_ -= std::min<uint64_t>(left_, chunk.data().size());
}

bool Reader::MayHaveGap(const corral::v1::Gap& gap) const {
  const uint64_t size = workload_.outputs.at(gap.stream()).size;
  const uint64_t retained = workload_.retained();
  const OutputPolicy::Overflow policy = workload_.command.output().overflow();
  if (policy == OutputPolicy::BLOCK) {
    // One acknowledgement counts for all readers.
    return !acknowledges_ && gap.end_offset() <= size;
  }
  if (gap.end_offset() > size || !workload_.Overflows(gap.stream())) {
    return false;
  }
  switch (policy) {
    case OutputPolicy::HEAD_AND_TAIL:
      // A reader that was overtaken may have begun in the middle.
      return gap.begin_offset() >= retained / 2 &&
             gap.end_offset() <= size - retained / 2;
    case OutputPolicy::KILL:
      return false;
    default:
      return gap.end_offset() <= size - retained;
  }
}

void Reader::AcceptGap(const corral::v1::Gap& gap) {
  uint64_t& cursor = cursors_[gap.stream()];
  if (gap.begin_offset() != cursor || gap.end_offset() <= cursor ||
      !MayHaveGap(gap)) {
    return Fail(absl::StrCat("gap ", gap.ShortDebugString(), " of ",
                             workload_.command.output().ShortDebugString(),
                             " at ", cursor));
  }
  cursor = gap.end_offset();
}

void Reader::AcceptEnd(const Execution& ended) {
  ended_ = ended;
  for (const corral::v1::StreamState& state : ended.streams()) {
    const uint64_t size = workload_.outputs.at(state.stream()).size;
    const bool complete = IsKilledForItsOutput(workload_)
                              ? state.end_offset() <= size
                              : state.end_offset() == size;
    if (!complete || state.end_offset() != cursors_[state.stream()] ||
        !state.closed()) {
      Fail(absl::StrCat("ended at ", cursors_[state.stream()], " of ", size,
                        " with ", state.ShortDebugString()));
    }
  }
}

void Reader::MaybeAcknowledge() {
  if (!acknowledges_ || unacknowledged_ < workload_.retained() / 4) {
    return;
  }
  unacknowledged_ = 0;
  corral::v1::AcknowledgeOutputRequest request;
  request.set_name(execution_);
  for (const auto& [stream, offset] : cursors_) {
    corral::v1::StreamCursor* cursor = request.add_cursors();
    cursor->set_stream(stream);
    cursor->set_offset(offset);
  }
  google::protobuf::Empty response;
  const grpc::Status status =
      calls_.Call(&Calls::ExecutionStub::AcknowledgeOutput, request, &response);
  if (!status.ok()) {
    tally_.Refusal(
        absl::StrCat(execution_, ": acknowledging ", ToString(status)));
  }
}

int CountStarts(const Workload& workload) {
  const std::string ledger = ReadFile(workload.ledger);
  return static_cast<int>(std::count(ledger.begin(), ledger.end(), '\n'));
}

void CheckEnd(const Execution& execution, const Workload& workload,
              Tally& tally) {
  const int starts = CountStarts(workload);
  if (starts != 1) {
    tally.WrongStarts(absl::StrCat(execution.name(), " ran ", starts,
                                   " times: ", execution.ShortDebugString()));
  }
  if (execution.state() != Execution::EXITED) {
    return tally.Loss(execution.ShortDebugString());
  }
  const ExitStatus& exit = execution.exit();
  const bool killed = IsKilledForItsOutput(workload);
  const int expected = killed ? -SIGKILL : workload.end;
  const int end = exit.has_signal() ? -exit.signal() : exit.code();
  if (end != expected || exit.cause() != (killed ? ExitStatus::OUTPUT_LIMIT
                                                 : ExitStatus::NORMAL)) {
    tally.Difference(absl::StrCat(execution.name(), " should end with ",
                                  expected, ": ", exit.ShortDebugString()));
  }
}

}  // namespace tests
