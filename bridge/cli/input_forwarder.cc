#include "bridge/cli/input_forwarder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bridge/cli/nonblocking.h"
#include "bridge/client/call.h"
#include "sandbox/base/log.h"

namespace bridge {
namespace {

using sandbox::MutexLock;

constexpr size_t kReadBytes = 65536;
constexpr char kTypedEnd = '\x04';  // Ctrl-D

}  // namespace

InputForwarder::InputForwarder(client::Connection& connection,
                               std::string execution_name,
                               const Options& options, Filter filter)
    : connection_(connection),
      name_(std::move(execution_name)),
      options_(options),
      filter_(std::move(filter)),
      input_(ReopenNonblocking(STDIN_FILENO, O_RDONLY)),
      stop_(::eventfd(0, EFD_CLOEXEC)),
      offset_(options.terminal ? options.accepted_offset : 0),
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
  bool wanted = true;
  while (wanted) {
    const std::string read = Read();
    if (stopped()) {
      return;
    }
    if (read.empty()) {
      WriteEnd();
      return;
    }
    Passed passed = filter_(read);
    wanted = passed.data.empty() || Write(std::move(passed.data), false);
    if (passed.then != nullptr) {
      passed.then();
      return;
    }
  }
}

void InputForwarder::WriteEnd() {
  if (!options_.pass_end) {
    return;
  }
  if (options_.terminal) {
    // Within a line the first one only hands over what there is of it.
    Write(std::string(last_ == '\n' ? 1 : 2, kTypedEnd), false);
  } else {
    Write("", true);
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
      // Of a terminal that is gone (EIO), as of any other input: it has ended.
      break;
    }
  }
  return "";
}

grpc::Status InputForwarder::WriteOnce(
    const corral::v1::WriteInputRequest& request,
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
  return connection_.executions().WriteInput(context, request, state);
}

bool InputForwarder::Write(std::string data, bool eof) {
  for (;;) {
    corral::v1::WriteInputRequest request;
    request.set_name(name_);
    if (!options_.terminal) {
      request.set_offset(offset_);
    }
    request.set_data(data);
    request.set_eof(eof);
    corral::v1::InputState state;
    const grpc::Status status = WriteOnce(request, &state);
    if (status.ok()) {
      offset_ =
          options_.terminal ? state.accepted_offset() : offset_ + data.size();
      last_ = data.empty() ? last_ : data.back();
      return !state.closed();
    }
    if (!MayRepeat(status) || !SkipTaken(data)) {
      return false;
    }
  }
}

bool InputForwarder::MayRepeat(const grpc::Status& status) {
  return !stopped() && client::IsServerGone(status) &&
         connection_.Reconnect(absl::Now() + client::kPatience,
                               [this] { return stopped(); });
}

bool InputForwarder::SkipTaken(std::string& data) {
  if (!options_.terminal) {
    // Written at an offset: what arrived before is not taken twice.
    return true;
  }
  // Nothing more, but in its turn: what an execution says of its input may be
  // older than what was taken of it before the server went away.
  corral::v1::WriteInputRequest nothing;
  nothing.set_name(name_);
  corral::v1::InputState state;
  grpc::Status status;
  do {
    status = WriteOnce(nothing, &state);
  } while (!status.ok() && MayRepeat(status));
  if (!status.ok() || state.closed()) {
    return false;
  }
  data.erase(
      0, std::min<uint64_t>(state.accepted_offset() - offset_, data.size()));
  offset_ = state.accepted_offset();
  return true;
}

}  // namespace bridge
