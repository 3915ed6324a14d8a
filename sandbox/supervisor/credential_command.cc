#include "sandbox/supervisor/credential_command.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/reset_signals.h"
#include "sandbox/supervisor/credential_file.h"

namespace sandbox {
namespace {

// A value that is too long shows, with its newline.
constexpr size_t kMaxOutput = kMaxCredential + 3;

// Between fork and exec: raw system calls only.
[[noreturn]] void Become(char* const* words, int output) {
  ResetSignals();
  const rlimit no_core = {0, 0};
  const int null = ::open("/dev/null", O_RDWR);
  // Its stderr could hold a secret.
  if (::setsid() > 0 && null >= 0 && ::dup2(null, 0) == 0 &&
      ::dup2(output, 1) == 1 && ::dup2(null, 2) == 2 &&
      ::syscall(SYS_close_range, 3, ~0U, 0) == 0 &&
      ::setrlimit(RLIMIT_CORE, &no_core) == 0 &&
      ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0) {
    ::execve(words[0], words, environ);
  }
  ::_exit(127);
}

}  // namespace

CredentialCommand::CredentialCommand(EventLoop* loop,
                                     std::vector<std::string> words, Done done,
                                     absl::Duration patience)
    : loop_(loop),
      words_(std::move(words)),
      done_(std::move(done)),
      patience_(patience) {}

CredentialCommand::~CredentialCommand() {
  if (pidfd_.valid()) {
    End();
  }
}

absl::Status CredentialCommand::Start() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return absl::ErrnoToStatus(errno, "pipe2");
  }
  output_.Reset(ends[0]);
  const UniqueFd output(ends[1]);
  ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
  std::vector<char*> words;
  for (const std::string& word : words_) {
    words.push_back(const_cast<char*>(word.c_str()));
  }
  words.push_back(nullptr);
  int pidfd = -1;
  clone_args arguments = {};
  arguments.flags = CLONE_PIDFD;
  arguments.pidfd = reinterpret_cast<uint64_t>(&pidfd);
  arguments.exit_signal = SIGCHLD;
  const long pid = ::syscall(SYS_clone3, &arguments, sizeof(arguments));
  if (pid < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("start ", words_[0]));
  }
  if (pid == 0) {
    Become(words.data(), output.get());
  }
  pid_ = static_cast<pid_t>(pid);
  pidfd_.Reset(pidfd);
  loop_->Watch(output_.get(), EPOLLIN, [this](uint32_t) { ReadOutput(); });
  loop_->Watch(pidfd_.get(), EPOLLIN, [this](uint32_t) { OnEnd(); });
  timeout_ = Timer(loop_, patience_, [this] {
    End();
    Finish(absl::DeadlineExceededError(absl::StrCat(
        words_[0], " did not end within ", absl::FormatDuration(patience_))));
  });
  return absl::OkStatus();
}

void CredentialCommand::ReadOutput() {
  char bytes[4096];
  ssize_t got;
  while ((got = ::read(output_.get(), bytes, sizeof(bytes))) > 0) {
    // The rest is discarded, so that the command can end.
    printed_.append(bytes, static_cast<size_t>(got));
    printed_.resize(std::min(printed_.size(), kMaxOutput));
  }
  if (got == 0) {
    // Clearing the events is not enough: epoll always reports a hang-up.
    loop_->Unwatch(output_.get());
  }
}

void CredentialCommand::OnEnd() {
  ReadOutput();
  const siginfo_t info = End();
  if (info.si_code != CLD_EXITED) {
    Finish(absl::UnavailableError(
        absl::StrCat(words_[0], " was ended by signal ", info.si_status)));
  } else if (info.si_status != 0) {
    Finish(absl::UnavailableError(
        absl::StrCat(words_[0], " ended with status ", info.si_status)));
  } else {
    Finish(std::move(printed_));
  }
}

siginfo_t CredentialCommand::End() {
  timeout_.Cancel();
  loop_->Unwatch(output_.get());
  loop_->Unwatch(pidfd_.get());
  // Its session may not have begun yet. Nobody else can have its number until
  // it is reaped.
  ::kill(pid_, SIGKILL);
  ::kill(-pid_, SIGKILL);
  siginfo_t info = {};
  ::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED);
  pidfd_.Reset();
  output_.Reset();
  return info;
}

void CredentialCommand::Finish(absl::StatusOr<std::string> output) {
  // The call may destroy this object.
  const Done done = done_;
  done(std::move(output));
}

}  // namespace sandbox
