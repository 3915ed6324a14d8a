#include "tests/supervisor/unprivileged_process.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tests {
namespace {

namespace fs = std::filesystem;

constexpr char kGroups[] = "/sys/fs/cgroup";

std::string own_directory;
std::string why_skipped;

bool Write(const std::string& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool written = file >= 0 && ::write(file, text.data(), text.size()) ==
                                        static_cast<ssize_t>(text.size());
  ::close(file);
  return written;
}

std::string FirstLine(const std::string& path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

// The group that the process `pid` makes.
std::string GroupOf(pid_t pid) {
  return absl::StrCat(kGroups, "/corral-test-", pid);
}

// Supervisors may take a moment to end.
void RemoveGroup(const std::string& group) {
  std::error_code ignored;
  while (fs::exists(group, ignored)) {
    for (const char* below : {"/leaf", "/corral", ""}) {
      ::rmdir((group + below).c_str());
    }
    ::sched_yield();
  }
}

// Makes a group that belongs to `user`, with this process in one below it.
// Returns false if this host has no v2 with the controllers.
bool MakeGroup(uid_t user) {
  const std::string controllers =
      FirstLine(absl::StrCat(kGroups, "/cgroup.controllers"));
  for (const char* each : {"memory", "pids", "cpu"}) {
    if (!absl::StrContains(controllers, each)) {
      return false;
    }
  }
  const std::string group = GroupOf(::getpid());
  if (!Write(absl::StrCat(kGroups, "/cgroup.subtree_control"),
             "+memory +pids +cpu") ||
      ::mkdir(group.c_str(), 0755) != 0 ||
      ::mkdir((group + "/leaf").c_str(), 0755) != 0 ||
      !Write(group + "/leaf/cgroup.procs", absl::StrCat(::getpid()))) {
    return false;
  }
  for (const char* file : {"", "/cgroup.procs", "/cgroup.subtree_control",
                           "/leaf", "/leaf/cgroup.procs"}) {
    if (::chown((group + file).c_str(), user, user) != 0) {
      return false;
    }
  }
  return true;
}

// Does what needs root. Returns why it failed, or "".
std::string Prepare(uid_t user, Groups groups) {
  if (groups == Groups::kItsOwn && !MakeGroup(user)) {
    return kNoGroups;
  }
  // A test runner may forbid core dumps; users usually may have them.
  const rlimit core = {0, RLIM_INFINITY};
  if (::chown(own_directory.c_str(), user, user) != 0 ||
      ::setrlimit(RLIMIT_CORE, &core) != 0) {
    return "the process cannot be prepared";
  }
  return "";
}

std::string CheckNamespaces() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status == 0 ? "" : "this host refuses user namespaces to users";
}

bool Become(uid_t user, const gid_t* groups, size_t count) {
  return ::setgroups(count, groups) == 0 &&
         ::setresgid(user, user, user) == 0 &&
         ::setresuid(user, user, user) == 0 &&
         // Cleared by the change; the process's files in /proc would belong to
         // root.
         ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0;
}

// In a child with root's rights: maps the ids of its parent's new user
// namespace, once there is one. Only from outside may ids of others be mapped.
pid_t StartMapper(const int ends[2]) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[1]);
    char byte;
    const std::string process = absl::StrCat("/proc/", parent);
    const std::string map = absl::StrCat("0 ", kContainer, " 65536");
    const bool mapped = ::read(ends[0], &byte, 1) == 1 &&
                        Write(process + "/uid_map", map) &&
                        Write(process + "/gid_map", map);
    ::_exit(mapped ? 0 : 1);
  }
  return child;
}

bool MakeSysReadOnly() {
  return ::unshare(CLONE_NEWNS) == 0 &&
         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("/sys", "/sys", nullptr, MS_BIND | MS_REC, nullptr) == 0 &&
         ::mount(nullptr, "/sys", nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY,
                 nullptr) == 0;
}

// Makes a directory with a file system mounted below it, before the container
// has its copy of the mounts.
bool MakeCovered(const std::string& directory) {
  const std::string below = directory + "/below";
  return ::mkdir(directory.c_str(), 0755) == 0 &&
         ::mkdir(below.c_str(), 0755) == 0 &&
         ::chown(directory.c_str(), kContainer, kContainer) == 0 &&
         ::mount("tmpfs", below.c_str(), "tmpfs", 0, nullptr) == 0 &&
         ::mkdir((below + "/inner").c_str(), 0755) == 0;
}

int RunAll(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}

std::string ReportIn(const std::string& directory) {
  return directory + "/test.xml";
}

}  // namespace

const std::string& OwnDirectory() { return own_directory; }

const std::string& WhySkipped() { return why_skipped; }

int RunTests(int argc, char** argv, std::string (*become)()) {
  if (::getuid() != 0) {
    why_skipped = "needs root";
    return RunAll(argc, argv);
  }
  char path[] = "/tmp/corral-own-XXXXXX";
  if (::mkdtemp(path) == nullptr) {
    return 1;
  }
  own_directory = path;
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("TEST_TMPDIR", path, 1);
    // The runner's directory may be closed to the user. GoogleTest has read
    // the environment already.
    ::testing::GTEST_FLAG(output) = absl::StrCat("xml:", ReportIn(path));
    ::unsetenv("TEST_PREMATURE_EXIT_FILE");
    why_skipped = become();
    ::exit(RunAll(argc, argv));
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  std::error_code ignored;
  if (const char* const report = std::getenv("XML_OUTPUT_FILE")) {
    fs::copy_file(ReportIn(path), report, fs::copy_options::overwrite_existing,
                  ignored);
  }
  fs::remove_all(path, ignored);
  RemoveGroup(GroupOf(child));
  return status == 0 ? 0 : 1;
}

std::string BecomeUser(Groups groups) {
  std::string why = Prepare(kUser, groups);
  if (!why.empty()) {
    return why;
  }
  const gid_t others[] = {20001, 20002};
  if (!Become(kUser, others, 2)) {
    return "the process does not become a user";
  }
  return CheckNamespaces();
}

std::string EnterContainer(Groups groups) {
  std::string why = Prepare(kContainer, groups);
  if (!why.empty()) {
    return why;
  }
  // By root of the host: later, the flags of mounts are locked.
  if (!MakeSysReadOnly() || !MakeCovered(own_directory + "/covered")) {
    return "the mounts cannot be made";
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return "no pipe";
  }
  const pid_t mapper = StartMapper(ends);
  const bool entered = ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
                       ::write(ends[1], "m", 1) == 1;
  ::close(ends[0]);
  ::close(ends[1]);
  int status = -1;
  ::waitpid(mapper, &status, 0);
  if (!entered || status != 0 || !Become(0, nullptr, 0)) {
    return "this host allows no user namespace with ids of its own";
  }
  return "";
}

}  // namespace tests
