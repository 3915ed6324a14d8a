#include "bridge/mcp/terminal/terminal_output.h"

#include <utility>

#include "absl/status/statusor.h"
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
      // A recording has the output before a caller can see it.
      observer_->OnOutput(execution_, (*event)->chunk().offset(),
                          (*event)->chunk().data());
      history_.Add((*event)->chunk().offset(), (*event)->chunk().data());
      if (questions_.Find((*event)->chunk().data())) {
        answer_();
      }
      return true;
    case corral::v1::OutputEvent::kEnded:
      SetEnd(ExitCodeOf((*event)->ended()));
      return false;
    default:
      return true;
  }
}

}  // namespace bridge
