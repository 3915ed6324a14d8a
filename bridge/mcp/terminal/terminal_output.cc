#include "bridge/mcp/terminal/terminal_output.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "corral/v1/execution_service.pb.h"
#include "sandbox/base/log.h"

namespace bridge {
namespace {

using sandbox::MutexLock;

constexpr int kSignalBase = 128;
constexpr int kUnknown = 255;

corral::v1::StreamOutputRequest From(const std::string& execution,
                                     uint64_t begin) {
  corral::v1::StreamOutputRequest request;
  request.set_name(execution);
  corral::v1::StreamCursor* const cursor = request.add_cursors();
  cursor->set_stream(corral::v1::TERMINAL);
  cursor->set_offset(begin);
  return request;
}

}  // namespace

int ExitCodeOf(const corral::v1::Execution& execution) {
  switch (execution.exit().how_case()) {
    case corral::v1::ExitStatus::kCode:
      return execution.exit().code();
    case corral::v1::ExitStatus::kSignal:
      return kSignalBase + execution.exit().signal();
    default:
      return kUnknown;
  }
}

TerminalOutput::TerminalOutput(client::Connection* connection,
                               const std::string& execution, uint64_t begin,
                               OutputObserver* observer,
                               std::function<void()> answer)
    : execution_(execution),
      observer_(observer),
      answer_(std::move(answer)),
      reader_(*connection, From(execution, begin)),
      thread_([this] { Run(); }) {}

TerminalOutput::~TerminalOutput() {
  IgnoreEnd();
  reader_.Cancel();
  thread_.join();
}

void TerminalOutput::IgnoreEnd() {
  MutexLock lock(&mutex_);
  ignores_end_ = true;
}

std::optional<int> TerminalOutput::exit_code() {
  MutexLock lock(&mutex_);
  return exit_code_;
}

void TerminalOutput::SetEnd(int exit_code) {
  {
    MutexLock lock(&mutex_);
    if (ignores_end_) {
      return;
    }
    exit_code_ = exit_code;
  }
  // A recording is complete before a caller can see the end.
  observer_->OnEnd(exit_code);
  history_.SetEnd(exit_code);
}

std::string TerminalOutput::Since(uint64_t offset) {
  std::string output;
  uint64_t end = 0;
  MutexLock lock(&mutex_);
  history_.Look([&](const OutputHistory::State& state) {
    output = std::string(state.Since(offset));
    end = state.end;
  });
  if (arriving_ != nullptr) {
    const absl::string_view bytes = arriving_->data();
    const uint64_t begin = arriving_->offset();
    const uint64_t skipped = std::max({offset, end, begin}) - begin;
    absl::StrAppend(&output,
                    bytes.substr(std::min<uint64_t>(skipped, bytes.size())));
  }
  return output;
}

void TerminalOutput::Take(const corral::v1::Chunk& chunk) {
  {
    MutexLock lock(&mutex_);
    arriving_ = &chunk;
  }
  // A recording has the output before a caller can see it.
  observer_->OnOutput(execution_, chunk.offset(), chunk.data());
  history_.Add(chunk.offset(), chunk.data());
  {
    MutexLock lock(&mutex_);
    arriving_ = nullptr;
  }
  if (questions_.Find(chunk.data())) {
    answer_();
  }
}

void TerminalOutput::Run() {
  while (Follow()) {
  }
}

bool TerminalOutput::Follow() {
  const absl::StatusOr<std::optional<corral::v1::OutputEvent>> event =
      reader_.Next();
  if (!event.ok()) {
    if (!absl::IsCancelled(event.status())) {
      LOG(WARNING) << "cannot follow the terminal's output: " << event.status();
    }
    SetEnd(kUnknown);
    return false;
  }
  if (!event->has_value()) {
    return false;
  }
  switch ((*event)->event_case()) {
    case corral::v1::OutputEvent::kChunk:
      Take((*event)->chunk());
      return true;
    case corral::v1::OutputEvent::kEnded:
      SetEnd(ExitCodeOf((*event)->ended()));
      return false;
    default:
      return true;
  }
}

}  // namespace bridge
