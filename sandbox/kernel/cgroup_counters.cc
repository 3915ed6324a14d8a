#include "sandbox/kernel/cgroup_counters.h"

#include <fcntl.h>
#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "sandbox/base/failure.h"

namespace sandbox {
namespace {

constexpr char kNone[] = "0\n";

// Returns the value of a line "key value", or 0.
uint64_t ValueOf(absl::string_view text, absl::string_view key) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    uint64_t value;
    if (words.size() == 2 && words[0] == key &&
        absl::SimpleAtoi(words[1], &value)) {
      return value;
    }
  }
  return 0;
}

// Returns the file in the first of the directories that has it. A v1 directory
// has only the files of its own hierarchy's controllers.
std::string Find(const std::vector<std::string>& directories,
                 absl::string_view file) {
  for (const std::string& directory : directories) {
    std::string path = absl::StrCat(directory, "/", file);
    if (::access(path.c_str(), F_OK) == 0) {
      return path;
    }
  }
  return "";
}

}  // namespace

bool CounterFile::Open() {
  if (!fd_.valid() && !path_.empty()) {
    fd_.Reset(::open(path_.c_str(), flags_ | O_CLOEXEC));
  }
  // Before Linux 6.12, v2's memory.peak can only be read.
  if (!fd_.valid() && flags_ != O_RDONLY) {
    fd_.Reset(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  }
  return fd_.valid();
}

std::string CounterFile::Read() {
  char text[4096];
  const ssize_t got = Open() ? ::pread(fd_.get(), text, sizeof(text), 0) : 0;
  return std::string(text, got > 0 ? static_cast<size_t>(got) : 0);
}

uint64_t CounterFile::ReadNumber() {
  uint64_t value = 0;
  const std::string text = Read();
  return absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &value) ? value : 0;
}

bool CounterFile::Write(absl::string_view text) {
  return Open() && ::pwrite(fd_.get(), text.data(), text.size(), 0) ==
                       static_cast<ssize_t>(text.size());
}

CgroupCounters::CgroupCounters(CgroupVersion version,
                               const std::vector<std::string>& directories)
    : version_(version),
      // Also counts processes that have ended and were not reaped.
      processes_(Find(directories, "pids.current")) {
  // v1: memory is the first hierarchy, cpuacct, if there is one, the last.
  const std::string& memory = directories.front();
  const std::string& cpu = directories.back();
  if (version == CgroupVersion::kV2) {
    memory_ = CounterFile(memory + "/memory.current");
    peak_ = CounterFile(memory + "/memory.peak", O_RDWR);
    oom_ = CounterFile(memory + "/memory.events");
    cpu_ = CounterFile(cpu + "/cpu.stat");
  } else {
    memory_ = CounterFile(memory + "/memory.usage_in_bytes");
    peak_ = CounterFile(memory + "/memory.max_usage_in_bytes", O_RDWR);
    oom_ = CounterFile(memory + "/memory.oom_control");
    cpu_ = CounterFile(cpu + "/cpuacct.usage");
    cpu_user_ = CounterFile(cpu + "/cpuacct.usage_user");
    cpu_system_ = CounterFile(cpu + "/cpuacct.usage_sys");
  }
}

uint64_t CgroupCounters::ReadOomKills() {
  return ValueOf(oom_.Read(), "oom_kill");
}

CgroupUsage CgroupCounters::Total() {
  CgroupUsage usage = TotalTimes();
  usage.oom_kills = ReadOomKills();
  return usage;
}

CgroupUsage CgroupCounters::TotalTimes() {
  CgroupUsage usage;
  if (version_ == CgroupVersion::kV2) {
    const std::string times = cpu_.Read();
    usage.user_time_ns = ValueOf(times, "user_usec") * 1000;
    usage.system_time_ns = ValueOf(times, "system_usec") * 1000;
  } else {
    usage.user_time_ns = cpu_user_.ReadNumber();
    usage.system_time_ns = cpu_system_.ReadNumber();
  }
  return usage;
}

CgroupUsage CgroupCounters::Usage() {
  const bool empty = processes_.Read() == kNone;
  CgroupUsage usage = Total();
  last_oom_kills_.reset();
  if (empty) {
    last_oom_kills_ = usage.oom_kills;
  }
  usage.memory_peak_bytes = peak_.ReadNumber();
  usage.oom_kills -= base_.oom_kills;
  usage.user_time_ns -= base_.user_time_ns;
  usage.system_time_ns -= base_.system_time_ns;
  return usage;
}

uint64_t CgroupCounters::OomKills() { return ReadOomKills() - base_.oom_kills; }

absl::Duration CgroupCounters::TotalCpuTime() {
  return version_ == CgroupVersion::kV2
             ? absl::Microseconds(ValueOf(cpu_.Read(), "usage_usec"))
             : absl::Nanoseconds(cpu_.ReadNumber());
}

absl::StatusOr<absl::Duration> CgroupCounters::CpuTime() {
  if (cpu_.Read().empty()) {
    return MakeFailure(
        wire::Reply::ISOLATION,
        "this host does not count CPU time: the cgroup controller cpuacct is "
        "not mounted");
  }
  const absl::Duration total = TotalCpuTime();
  if (!base_cpu_time_.has_value()) {
    base_cpu_time_ = total;
  }
  return total - *base_cpu_time_;
}

absl::Status CgroupCounters::Restart() {
  if (!last_oom_kills_.has_value() && processes_.Read() != kNone) {
    return absl::FailedPreconditionError("a process lives in the group");
  }
  if (memory_.ReadNumber() > kMaxLeftBytes) {
    return absl::FailedPreconditionError("memory is charged to the group");
  }
  // v2: a file that was written counts from then on, since Linux 6.12.
  if (!peak_.Write("0")) {
    return absl::UnimplementedError("this kernel does not reset the peak");
  }
  // CPU time is read again: a process can be reaped before the kernel has
  // counted the last milliseconds that it ran.
  base_ = TotalTimes();
  base_.oom_kills =
      last_oom_kills_.has_value() ? *last_oom_kills_ : ReadOomKills();
  last_oom_kills_.reset();
  base_cpu_time_.reset();
  return absl::OkStatus();
}

}  // namespace sandbox
