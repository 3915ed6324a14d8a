#include "bridge/cli/attach/input_forwarder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "bridge/cli/attach/nonblocking.h"
#include "sandbox/base/log.h"

namespace bridge {
namespace {

using sandbox::MutexLock;

constexpr size_t kReadBytes = 65536;
constexpr char kTypedEnd = '\x04';  // Ctrl-D

}  // namespace

InputForwarder::InputForwarder(client::Connection& connection,
                               std::string execution_name, Target target,
                               uint64_t accepted_offset, Filter filter)
    : connection_(connection),
      name_(std::move(execution_name)),
      target_(target),
      filter_(std::move(filter)),
      input_(ReopenNonblocking(STDIN_FILENO, O_RDONLY)),
      stop_(::eventfd(0, EFD_CLOEXEC)),
      offset_(target == Target::kPipe ? 0 : accepted_offset),
      thread_([this] { Run(); }) {}

InputForwarder::~InputForwarder() {
  {
    MutexLock lock(&mutex_);
    stopped_ = true;
    if (context_ != nullptr) {
      context_->TryCancel();
    }
  }
  CHECK(::eventfd_write(stop_.get(), 1) == 0);
  thread_.join();
}

bool InputForwarder::stopped() {
  MutexLock lock(&mutex_);
  return stopped_;
}

void InputForwarder::Run() {
  Outcome outcome = Outcome::kTaken;
  while (outcome == Outcome::kTaken) {
    const std::string read = Read();
    if (stopped()) {
      return;
    }
    if (read.empty()) {
      WriteEnd();
      return;
    }
    Filtered filtered = filter_(read);
    if (!filtered.data.empty()) {
      outcome = Write(std::move(filtered.data), false);
    }
    if (filtered.then != nullptr) {
      filtered.then();
      return;
    }
  }
}

void InputForwarder::WriteEnd() {
  switch (target_) {
    case Target::kPipe:
      Write("", true);
      break;
    case Target::kTerminal:
      // Within a line the first Ctrl-D only submits what was typed so far.
      Write(std::string(last_ == '\n' ? 1 : 2, kTypedEnd), false);
      break;
    case Target::kSharedTerminal:
      break;
  }
}

bool InputForwarder::WaitForInput() {
  pollfd items[] = {
      {input_.valid() ? input_.get() : STDIN_FILENO, POLLIN, 0},
      {stop_.get(), POLLIN, 0},
  };
  while (::poll(items, 2, -1) < 0) {
    if (errno != EINTR) {
      return false;
    }
  }
  return items[1].revents == 0;
}

std::string InputForwarder::Read() {
  std::string data(kReadBytes, '\0');
  while (WaitForInput()) {
    const ssize_t size = ::read(input_.valid() ? input_.get() : STDIN_FILENO,
                                data.data(), data.size());
    if (size >= 0) {
      data.resize(size);
      return data;
    }
    if (errno != EAGAIN && errno != EINTR) {
      // A terminal that is gone (EIO) has ended, like any other input.
      break;
    }
  }
  return "";
}

client::Retry InputForwarder::MakeRetry() {
  client::CallOptions options;
  // The answer comes when the command has read enough. While the queue of its
  // input is full, the server refuses; the input is still wanted.
  options.timeouts = client::Timeouts::kRenewal;
  options.refusals = client::Refusals::kForEver;
  options.abandoned = [this] { return stopped(); };
  return client::Retry(connection_, options);
}

grpc::Status InputForwarder::WriteOnce(
    const corral::v1::WriteInputRequest& request, client::Retry& retry,
    corral::v1::InputState* state) {
  grpc::ClientContext* context = nullptr;
  {
    MutexLock lock(&mutex_);
    if (stopped_) {
      return grpc::Status::CANCELLED;
    }
    context_ = std::make_unique<grpc::ClientContext>();
    context = context_.get();
  }
  retry.Begin(*context);
  return connection_.executions().WriteInput(context, request, state);
}

InputForwarder::Outcome InputForwarder::Write(std::string data, bool eof) {
  client::Retry retry = MakeRetry();
  for (;;) {
    corral::v1::WriteInputRequest request;
    request.set_name(name_);
    if (target_ == Target::kPipe) {
      request.set_offset(offset_);
    }
    request.set_data(data);
    request.set_eof(eof);
    corral::v1::InputState state;
    grpc::Status status = WriteOnce(request, retry, &state);
    if (status.ok()) {
      offset_ = target_ == Target::kPipe ? offset_ + data.size()
                                         : state.accepted_offset();
      last_ = data.empty() ? last_ : data.back();
      return state.closed() ? Outcome::kNoMoreWanted : Outcome::kTaken;
    }
    if (!retry.ShouldRepeat(status) ||
        SkipTaken(data) == Outcome::kNoMoreWanted) {
      return Outcome::kNoMoreWanted;
    }
  }
}

InputForwarder::Outcome InputForwarder::SkipTaken(std::string& data) {
  if (target_ == Target::kPipe) {
    // Written at an offset: the server skips what arrived before.
    return Outcome::kTaken;
  }
  // Asks with an empty write: it waits for its turn, so its answer includes all
  // writes before it. The answer of GetExecution may be older than they are.
  corral::v1::WriteInputRequest nothing;
  nothing.set_name(name_);
  corral::v1::InputState state;
  client::Retry retry = MakeRetry();
  grpc::Status status;
  do {
    status = WriteOnce(nothing, retry, &state);
  } while (retry.ShouldRepeat(status));
  if (!status.ok() || state.closed()) {
    return Outcome::kNoMoreWanted;
  }
  data.erase(
      0, std::min<uint64_t>(state.accepted_offset() - offset_, data.size()));
  offset_ = state.accepted_offset();
  return Outcome::kTaken;
}

}  // namespace bridge
