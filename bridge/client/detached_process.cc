#include "bridge/client/detached_process.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/reset_signals.h"

namespace client {
namespace {

using sandbox::UniqueFd;

// A message of the new process: its pid at once, and errno if exec fails.
struct Report {
  pid_t pid;
  int errno_value;
};

// The daemon's end of the socket for reports.
constexpr int kReportDescriptor = 3;

// Runs after fork in a process that may have threads: system calls only.
[[noreturn]] void BecomeDaemon(char* const* argv, int report, int output) {
  Report message = {::getpid(), 0};
  (void)!::write(report, &message, sizeof message);
  // Waits until the parent has a pidfd: it could not open one for a process
  // that has ended.
  char go = 0;
  (void)!::read(report, &go, sizeof go);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  // The copies are above all targets, so that no dup2 closes the source of the
  // next one.
  const int report_copy = ::fcntl(report, F_DUPFD_CLOEXEC, 10);
  const int output_copy = ::fcntl(output, F_DUPFD_CLOEXEC, 10);
  const int null_copy = ::fcntl(null, F_DUPFD_CLOEXEC, 10);
  ::dup2(null_copy, STDIN_FILENO);
  ::dup2(output_copy, STDOUT_FILENO);
  ::dup2(output_copy, STDERR_FILENO);
  ::dup3(report_copy, kReportDescriptor, O_CLOEXEC);
  ::close_range(kReportDescriptor + 1, ~0U, 0);
  (void)!::chdir("/");
  sandbox::ResetSignals();
  ::execv(argv[0], argv);
  message.errno_value = errno;
  (void)!::write(kReportDescriptor, &message, sizeof message);
  ::_exit(127);
}

// Returns the daemon's pidfd once exec succeeded.
absl::StatusOr<UniqueFd> AwaitExec(const UniqueFd& reports,
                                   const std::string& program) {
  Report report = {};
  if (::read(reports.get(), &report, sizeof report) != sizeof report) {
    return absl::InternalError("fork: no daemon process");
  }
  // glibc 2.36 declares pidfd_open() for C only.
  UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, report.pid, 0)));
  if (!process.valid()) {
    return absl::ErrnoToStatus(errno,
                               absl::StrCat("pidfd_open(", program, ")"));
  }
  ::send(reports.get(), "", 1, MSG_NOSIGNAL);
  // End of file: exec closed the socket.
  if (::read(reports.get(), &report, sizeof report) == sizeof report) {
    return absl::ErrnoToStatus(report.errno_value,
                               absl::StrCat("exec(", program, ")"));
  }
  return process;
}

}  // namespace

absl::StatusOr<UniqueFd> StartDetached(const std::vector<std::string>& argv,
                                       const UniqueFd& output) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ErrnoToStatus(errno, "socketpair");
  }
  const UniqueFd reports(ends[0]);
  UniqueFd report(ends[1]);
  std::vector<char*> arguments;
  arguments.reserve(argv.size() + 1);
  for (const std::string& argument : argv) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);

  const pid_t child = ::fork();
  if (child < 0) {
    return absl::ErrnoToStatus(errno, "fork");
  }
  if (child == 0) {
    // Otherwise the daemon would not notice that the parent is gone.
    ::close(reports.get());
    // The leader of the session ends at once, and only a leader can get a
    // controlling terminal.
    ::setsid();
    if (::fork() == 0) {
      BecomeDaemon(arguments.data(), report.get(), output.get());
    }
    ::_exit(0);
  }
  report.Reset();
  ::waitpid(child, nullptr, 0);
  return AwaitExec(reports, argv[0]);
}

}  // namespace client
