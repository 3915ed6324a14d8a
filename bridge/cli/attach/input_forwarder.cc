#include "bridge/cli/attach/input_forwarder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "bridge/cli/attach/nonblocking.h"
#include "sandbox/base/log.h"

namespace bridge {
namespace {

constexpr size_t kReadBytes = 65536;
constexpr char kTypedEnd = '\x04';  // Ctrl-D

}  // namespace

InputForwarder::InputForwarder(client::Connection& connection,
                               std::string execution_name, Target target,
                               uint64_t accepted_offset, Filter filter)
    : target_(target),
      filter_(std::move(filter)),
      input_(ReopenNonblocking(STDIN_FILENO, O_RDONLY)),
      stop_(::eventfd(0, EFD_CLOEXEC)),
      writer_(&connection, std::move(execution_name),
              target == Target::kPipe ? client::InputWriter::Sharing::kExclusive
                                      : client::InputWriter::Sharing::kShared,
              target == Target::kPipe ? 0 : accepted_offset),
      thread_([this] { Run(); }) {}

InputForwarder::~InputForwarder() {
  // The writer stops first: Read() then reports an end, for which the thread
  // must write nothing.
  writer_.Stop();
  CHECK(::eventfd_write(stop_.get(), 1) == 0);
  thread_.join();
}

void InputForwarder::Run() {
  bool open = true;
  while (open) {
    const std::string read = Read();
    if (read.empty()) {
      WriteEnd();
      return;
    }
    Filtered filtered = filter_(read);
    if (!filtered.data.empty()) {
      open = Write(std::move(filtered.data), false);
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

bool InputForwarder::Write(std::string data, bool eof) {
  last_ = data.empty() ? last_ : data.back();
  return writer_.Write(std::move(data), eof).ok();
}

}  // namespace bridge
