#include "bridge/mcp/terminal/terminal_input.h"

#include <utility>

#include "sandbox/base/log.h"

namespace bridge {

using sandbox::MutexLock;

namespace {

// Below the limit of one WriteInput, 1 MiB.
constexpr size_t kMaxCall = 64 << 10;

}  // namespace

TerminalInput::TerminalInput(client::Connection* connection,
                             std::string execution_name, uint64_t accepted)
    : name_(std::move(execution_name)),
      // People who attach type into the same terminal.
      writer_(connection, name_, client::InputWriter::Sharing::kShared,
              accepted),
      thread_([this] { Run(); }) {}

TerminalInput::~TerminalInput() {
  {
    MutexLock lock(&mutex_);
    stopped_ = true;
    mutex_.Signal();
  }
  writer_.Stop();
  thread_.join();
}

absl::Status TerminalInput::Write(absl::string_view bytes) {
  MutexLock lock(&mutex_);
  if (closed_) {
    return absl::FailedPreconditionError("the terminal's program has ended");
  }
  if (waiting_.size() + bytes.size() > kMaxWaiting) {
    return absl::ResourceExhaustedError(
        "the terminal's program does not read its input; 16 MiB wait already");
  }
  waiting_.append(bytes.data(), bytes.size());
  mutex_.Signal();
  return absl::OkStatus();
}

void TerminalInput::Run() {
  while (true) {
    std::string data;
    {
      MutexLock lock(&mutex_);
      mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopped_ || !waiting_.empty();
      });
      if (stopped_) {
        return;
      }
      data = waiting_.substr(0, kMaxCall);
      waiting_.erase(0, data.size());
    }
    const absl::Status written = writer_.Write(std::move(data), /*eof=*/false);
    if (written.ok()) {
      continue;
    }
    if (!absl::IsFailedPrecondition(written) && !absl::IsCancelled(written)) {
      LOG(WARNING) << name_ << ": input was lost: " << written.message();
    }
    MutexLock lock(&mutex_);
    closed_ = true;
    return;
  }
}

}  // namespace bridge
