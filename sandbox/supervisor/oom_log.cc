#include "sandbox/supervisor/oom_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/namespaces.h"

namespace sandbox {
namespace {

// The longest record that one read(2) returns.
constexpr size_t kRecordSize = 8192;

// Returns the number after `key`, or 0 if there is none.
uint32_t NumberAfter(absl::string_view text, absl::string_view key) {
  const size_t at = text.find(key);
  if (at == absl::string_view::npos) {
    return 0;
  }
  text.remove_prefix(at + key.size());
  uint32_t number = 0;
  const bool parsed = absl::SimpleAtoi(
      text.substr(0, text.find_first_not_of("0123456789")), &number);
  return parsed ? number : 0;
}

}  // namespace

void OomLog::Take(absl::string_view record) {
  const uint32_t pid = NumberAfter(record, "of memory: Killed process ");
  // The last match: the name of a process, which comes before it, may contain
  // the same text.
  const size_t user = record.rfind(" UID:");
  if (pid == 0 || user == absl::string_view::npos) {
    return;
  }
  const uint32_t id = NumberAfter(record.substr(user), " UID:");
  if (id < first_id_ || id - first_id_ >= kIdRange) {
    return;
  }
  if (pid == static_cast<uint32_t>(pid_)) {
    is_victim_ = true;
  } else {
    others_ = true;
  }
}

void OomLog::TakeAll(const UniqueFd& kmsg) {
  char record[kRecordSize];
  for (;;) {
    const ssize_t got = ::read(kmsg.get(), record, sizeof(record));
    if (got > 0) {
      Take(absl::string_view(record, static_cast<size_t>(got)));
    } else if (got == 0 || (errno != EPIPE && errno != EINTR)) {
      // EPIPE means that the oldest records were overwritten meanwhile.
      return;
    }
  }
}

bool MayBeOomVictim(pid_t pid, uint32_t first_id) {
  if (first_id == kNoRange) {
    return true;  // nothing in the log tells its processes from others
  }
  OomLog log(pid, first_id);
  log.TakeAll(UniqueFd(
      ::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)));
  return log.MayBeVictim();
}

}  // namespace sandbox
