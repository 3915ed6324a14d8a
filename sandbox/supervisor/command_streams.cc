#include "sandbox/supervisor/command_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "sandbox/base/status_macros.h"
#include "sandbox/kernel/pty.h"
#include "sandbox/supervisor/pipe_size.h"

namespace sandbox {
namespace {

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

// Makes a pipe that belongs to `owner`, and whose ends block.
absl::StatusOr<Pipe> MakePipe(uid_t owner) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) {
    return absl::ErrnoToStatus(errno, "pipe2");
  }
  Pipe pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
  if (::fchown(fds[0], owner, owner) != 0) {
    return absl::ErrnoToStatus(errno, "fchown(pipe)");
  }
  return pipe;
}

absl::StatusOr<UniqueFd> Duplicate(const UniqueFd& fd) {
  UniqueFd copy(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
  if (!copy.valid()) {
    return absl::ErrnoToStatus(errno, "duplicate a descriptor");
  }
  return copy;
}

}  // namespace

absl::StatusOr<CommandStreams> OpenPipes(bool open_stdin, bool merge_stderr,
                                         uid_t owner) {
  CommandStreams streams;
  if (open_stdin) {
    ASSIGN_OR_RETURN(Pipe in, MakePipe(owner));
    if (::fcntl(in.write.get(), F_SETFL, O_NONBLOCK) != 0) {
      return absl::ErrnoToStatus(errno, "fcntl(pipe)");
    }
    EnlargePipe(in.write.get());
    streams.input = std::move(in.write);
    streams.command.push_back(std::move(in.read));
  }
  ASSIGN_OR_RETURN(Pipe out, MakePipe(owner));
  streams.outputs.emplace_back(wire::STDOUT, std::move(out.read));
  streams.command.push_back(std::move(out.write));
  if (merge_stderr) {
    ASSIGN_OR_RETURN(UniqueFd same, Duplicate(streams.command.back()));
    streams.command.push_back(std::move(same));
    return streams;
  }
  ASSIGN_OR_RETURN(Pipe error, MakePipe(owner));
  streams.outputs.emplace_back(wire::STDERR, std::move(error.read));
  streams.command.push_back(std::move(error.write));
  return streams;
}

absl::StatusOr<CommandStreams> OpenTerminal(int devpts, uint32_t rows,
                                            uint32_t columns, uid_t owner) {
  ASSIGN_OR_RETURN(Pty pty, OpenPty(devpts, rows, columns));
  if (::fchown(pty.slave.get(), owner, owner) != 0) {
    return absl::ErrnoToStatus(errno, "fchown(terminal)");
  }
  CommandStreams streams;
  // A loop can watch a descriptor only once, so input gets one of its own.
  ASSIGN_OR_RETURN(streams.input, Duplicate(pty.master));
  streams.outputs.emplace_back(wire::TERMINAL, std::move(pty.master));
  for (int i = 0; i < 3; ++i) {
    ASSIGN_OR_RETURN(UniqueFd end, Duplicate(pty.slave));
    streams.command.push_back(std::move(end));
  }
  return streams;
}

}  // namespace sandbox
