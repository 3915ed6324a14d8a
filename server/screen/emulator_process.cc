#include "server/screen/emulator_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/filter_error.h"
#include "sandbox/base/log.h"
#include "sandbox/base/program_image.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/kernel/privileges.h"
#include "server/screen/emulator/emulator_image.h"

namespace server {
namespace {

using sandbox::UniqueFd;
using screen::Action;
using screen::Request;

constexpr int kPatienceMillis = 5000;
constexpr int kEndMillis = 1000;

static_assert(screen::kEmulatorSocket == sandbox::kProgramSocket);

absl::Status Lost(absl::string_view what) {
  return absl::UnavailableError(absl::StrCat("emulator: ", what));
}

}  // namespace

absl::StatusOr<UniqueFd> MakeEmulatorImage() {
  return sandbox::MakeProgramImage("corral-emulator", sandbox::EmulatorImage());
}

bool HasScreen(const corral::v1::TerminalSize& size) {
  return size.rows() > 0 && size.columns() > 0 &&
         size.rows() <= screen::kMaxRows &&
         size.columns() <= screen::kMaxColumns &&
         size.rows() * size.columns() <= screen::kMaxScreenCells;
}

absl::StatusOr<std::unique_ptr<EmulatorProcess>> EmulatorProcess::Start(
    const UniqueFd& image, const corral::v1::TerminalSize& size,
    uint64_t offset) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ErrnoToStatus(errno, "socket of an emulator");
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  if (::fcntl(ours.get(), F_SETFL, O_NONBLOCK) != 0) {
    return absl::ErrnoToStatus(errno, "socket of an emulator");
  }
  ASSIGN_OR_RETURN(const pid_t pid,
                   sandbox::StartProgram("corral-emulator", image, theirs.get(),
                                         sandbox::ErrorOutput::kDiscarded));
  std::unique_ptr<EmulatorProcess> emulator(
      new EmulatorProcess(pid, std::move(ours)));
  // An emulator can be replaced, but it has inherited corrald's late place in
  // the order of the OOM killer.
  const absl::Status first = sandbox::MakeFirstOomVictim(pid);
  if (!first.ok()) {
    LOG(WARNING) << "the OOM killer may spare an emulator: " << first;
  }
  Request begin = {};
  begin.action = Action::kBegin;
  begin.rows = size.rows();
  begin.columns = size.columns();
  begin.offset = offset;
  RETURN_IF_ERROR(emulator->Send(begin));
  return emulator;
}

EmulatorProcess::EmulatorProcess(pid_t pid, UniqueFd socket)
    : pid_(pid), socket_(std::move(socket)) {}

EmulatorProcess::~EmulatorProcess() {
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

absl::Status EmulatorProcess::WhyEnded() const {
  // Its socket closes a moment before its status is known.
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  pollfd end = {pidfd.get(), POLLIN, 0};
  ::poll(&end, 1, kEndMillis);
  siginfo_t info = {};
  ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  return info.si_code == CLD_EXITED &&
                 info.si_status == screen::kNoFilterMemoryStatus
             ? Lost(sandbox::kNoFilterMemoryText)
             : Lost("it has ended");
}

absl::Status EmulatorProcess::SendAll(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent =
        ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(sent);
      continue;
    }
    pollfd item = {socket_.get(), POLLOUT, 0};
    if (errno != EAGAIN && errno != EINTR) {
      return WhyEnded();
    }
    if (errno == EAGAIN && ::poll(&item, 1, kPatienceMillis) == 0) {
      return Lost("it takes no data");
    }
  }
  return absl::OkStatus();
}

absl::Status EmulatorProcess::Receive(char* buffer, size_t size) {
  while (size > 0) {
    const ssize_t got = ::recv(socket_.get(), buffer, size, 0);
    if (got > 0) {
      buffer += got;
      size -= got;
      continue;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      return WhyEnded();
    }
    pollfd item = {socket_.get(), POLLIN, 0};
    if (errno == EAGAIN && ::poll(&item, 1, kPatienceMillis) == 0) {
      return Lost("it does not answer");
    }
  }
  return absl::OkStatus();
}

absl::Status EmulatorProcess::Send(const Request& request,
                                   absl::string_view output) {
  std::string bytes(reinterpret_cast<const char*>(&request), sizeof(request));
  absl::StrAppend(&bytes, output);
  return SendAll(bytes);
}

absl::Status EmulatorProcess::Write(absl::string_view output) {
  while (!output.empty()) {
    const absl::string_view part = output.substr(0, screen::kMaxWrite);
    Request request = {};
    request.action = Action::kWrite;
    request.size = part.size();
    RETURN_IF_ERROR(Send(request, part));
    output.remove_prefix(part.size());
  }
  return absl::OkStatus();
}

absl::Status EmulatorProcess::Skip(uint64_t bytes) {
  Request request = {};
  request.action = Action::kSkip;
  request.offset = bytes;
  return Send(request);
}

absl::Status EmulatorProcess::Clear() {
  Request request = {};
  request.action = Action::kClear;
  return Send(request);
}

absl::StatusOr<EmulatorProcess::View> EmulatorProcess::Get(
    uint32_t scrollback_lines, bool styles, uint64_t answers_from) {
  Request request = {};
  request.action = Action::kGet;
  request.scrollback_lines = scrollback_lines;
  request.styles = styles ? 1 : 0;
  request.offset = answers_from;
  RETURN_IF_ERROR(Send(request));
  screen::Reply reply;
  RETURN_IF_ERROR(Receive(reinterpret_cast<char*>(&reply), sizeof(reply)));
  if (reply.answers_size > screen::kMaxReply ||
      reply.screen_size > screen::kMaxReply) {
    return Lost("its answer is too large");
  }
  View view;
  view.answers.resize(reply.answers_size);
  RETURN_IF_ERROR(Receive(view.answers.data(), view.answers.size()));
  std::string message(reply.screen_size, '\0');
  RETURN_IF_ERROR(Receive(message.data(), message.size()));
  if (!view.screen.ParseFromString(message)) {
    return Lost("its answer is no screen");
  }
  return view;
}

}  // namespace server
