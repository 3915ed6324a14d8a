#include "sandbox/supervisor/marked_group.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/small_file.h"

namespace sandbox {
namespace {

// A sandbox starts fewer commands.
constexpr uint64_t kMarks = uint64_t{1} << 32;

// A process has ended if only its entry is left, which its parent has not
// reaped, and all its threads are gone.
bool HasEnded(pid_t pid) {
  const absl::StatusOr<std::string> stat =
      ReadSmallFile(absl::StrCat("/proc/", pid, "/stat"));
  if (!stat.ok()) {
    return absl::IsNotFound(stat.status());
  }
  // The fields after "pid (name) ": see proc(5).
  constexpr size_t kState = 0;
  constexpr size_t kThreads = 17;
  const std::vector<absl::string_view> fields = absl::StrSplit(
      absl::string_view(*stat).substr(stat->rfind(')') + 2), ' ');
  return fields.size() > kThreads &&
         (fields[kState] == "Z" || fields[kState] == "X") &&
         (fields[kThreads] == "0" || fields[kThreads] == "1");
}

}  // namespace

absl::StatusOr<std::shared_ptr<Marks>> Marks::Create(
    pid_t init, std::function<pid_t()> spawner) {
  struct stat pids;
  const std::string path = absl::StrCat("/proc/", init, "/ns/pid");
  if (::stat(path.c_str(), &pids) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("stat ", path));
  }
  Directory proc(::opendir("/proc"));
  if (proc == nullptr) {
    return absl::ErrnoToStatus(errno, "open /proc");
  }
  const uint64_t last = (uint64_t{pids.st_ino} + 1) * kMarks;
  rlimit core = {};
  ::getrlimit(RLIMIT_CORE, &core);
  if (core.rlim_max < last) {
    return MakeFailure(
        wire::Reply::ISOLATION,
        absl::StrCat("the processes of a command cannot be told from others: "
                     "there are no control groups, and the hard limit of core "
                     "dumps is ",
                     core.rlim_max,
                     "; start corrald with \"unlimited\" (ulimit -Hc, systemd: "
                     "LimitCORE=infinity)"));
  }
  return std::shared_ptr<Marks>(
      new Marks(last, std::move(spawner), std::move(proc)));
}

uint64_t Marks::MarkSpawner() {
  const rlimit mark = {1, last_ - 1};
  if (::prlimit(spawner_(), RLIMIT_CORE, &mark, nullptr) != 0) {
    return 0;
  }
  return --last_;
}

bool Marks::Has(pid_t pid, uint64_t mark) {
  rlimit core = {};
  return ::prlimit(pid, RLIMIT_CORE, nullptr, &core) == 0 &&
         core.rlim_max == mark;
}

std::vector<pid_t> Marks::Find(uint64_t mark) {
  std::vector<pid_t> pids;
  ::rewinddir(proc_.get());
  while (const dirent* entry = ::readdir(proc_.get())) {
    pid_t pid = 0;
    if (absl::SimpleAtoi(entry->d_name, &pid) && pid != spawner_() &&
        Has(pid, mark) && !HasEnded(pid)) {
      pids.push_back(pid);
    }
  }
  return pids;
}

int MarkedGroup::BeginStart() {
  mark_ = marks_->MarkSpawner();
  return mark_ != 0 ? 0 : errno;
}

std::vector<pid_t> MarkedGroup::Pids() const {
  return mark_ == 0 ? std::vector<pid_t>() : marks_->Find(mark_);
}

void MarkedGroup::SignalProcessGroup(int signal, pid_t process_group) {
  for (const pid_t pid : Pids()) {
    const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    // The pid may have been reused since it was found. If it still has the
    // mark, the descriptor stands for a process of the command.
    if (pidfd.valid() && Marks::Has(pid, mark_) &&
        (process_group == 0 || ::getpgid(pid) == process_group)) {
      ::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0);
    }
  }
}

bool MarkedGroup::Kill() {
  // The kernel gives new processes rising pids and lists them so: what is born
  // while the others are killed is mostly found in the same turn.
  Signal(SIGKILL);
  return Pids().empty();
}

absl::StatusOr<absl::Duration> MarkedGroup::CpuTime() const {
  return MakeFailure(wire::Reply::ISOLATION,
                     "nothing counts the CPU time of a command's processes "
                     "together: this host gives corrald no control groups");
}

absl::Status MarkedGroup::Recycle() {
  return absl::UnimplementedError("a mark serves one command");
}

absl::Status MarkedGroup::Remove() {
  return Pids().empty()
             ? absl::OkStatus()
             : absl::FailedPreconditionError("a process has the mark");
}

}  // namespace sandbox
