#include "sandbox/kernel/subordinate_ids.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "sandbox/base/small_file.h"

namespace sandbox {
namespace {

constexpr char kMapUsers[] = "/usr/bin/newuidmap";
constexpr char kMapGroups[] = "/usr/bin/newgidmap";

std::string Read(const char* path) { return ReadSmallFile(path).value_or(""); }

// The arguments of newuidmap and newgidmap.
std::vector<std::string> Words(const char* program, pid_t pid, uint32_t own,
                               const Subordinates& more) {
  return {program,
          absl::StrCat(pid),
          "0",
          absl::StrCat(own),
          "1",
          "1",
          absl::StrCat(more.first),
          absl::StrCat(more.count)};
}

bool RunToTheEnd(const std::vector<std::string>& words) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    std::vector<char*> arguments;
    for (const std::string& word : words) {
      arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    char* const environment[] = {nullptr};
    ::execve(arguments[0], arguments.data(), environment);
    ::_exit(127);
  }
  int status = -1;
  while (pid > 0 && ::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0;
}

}  // namespace

std::optional<Subordinates> FindSubordinates(absl::string_view text,
                                             absl::string_view name,
                                             uid_t user) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ':');
    Subordinates found;
    if (fields.size() == 3 && !fields[0].empty() &&
        (fields[0] == name || fields[0] == absl::StrCat(user)) &&
        absl::SimpleAtoi(fields[1], &found.first) &&
        absl::SimpleAtoi(fields[2], &found.count) && found.count > 0) {
      return found;
    }
  }
  return std::nullopt;
}

std::string FindUserName(absl::string_view text, uid_t user) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ':');
    if (fields.size() >= 3 && fields[2] == absl::StrCat(user)) {
      return std::string(fields[0]);
    }
  }
  return "";
}

std::optional<SubordinateIds> SubordinateIds::Prepare() {
  const uid_t user = ::geteuid();
  const std::string name = FindUserName(Read("/etc/passwd"), user);
  const auto users = FindSubordinates(Read("/etc/subuid"), name, user);
  const auto groups = FindSubordinates(Read("/etc/subgid"), name, user);
  int ends[2];
  if (!users.has_value() || !groups.has_value() ||
      ::access(kMapUsers, X_OK) != 0 || ::access(kMapGroups, X_OK) != 0 ||
      ::pipe2(ends, O_CLOEXEC) != 0) {
    return std::nullopt;
  }
  const UniqueFd await(ends[0]);
  UniqueFd go(ends[1]);
  const pid_t mapped = ::getpid();
  const std::vector<std::string> map_groups =
      Words(kMapGroups, mapped, ::getegid(), *groups);
  const std::vector<std::string> map_users =
      Words(kMapUsers, mapped, user, *users);
  const pid_t pid = ::fork();
  if (pid == 0) {
    go.Reset();
    char byte;
    const bool done = ::read(await.get(), &byte, 1) == 1 &&
                      RunToTheEnd(map_groups) && RunToTheEnd(map_users);
    ::_exit(done ? 0 : 1);
  }
  if (pid < 0) {
    return std::nullopt;
  }
  return SubordinateIds(pid, std::move(go));
}

SubordinateIds::~SubordinateIds() {
  if (go_.valid()) {
    // Its end of the pipe is closed, so it ends.
    go_.Reset();
    ::waitpid(pid_, nullptr, 0);
  }
}

bool SubordinateIds::Map() {
  const bool asked = ::write(go_.get(), "g", 1) == 1;
  go_.Reset();
  int status = -1;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  return asked && status == 0;
}

}  // namespace sandbox
