// Takes root's rights from the process in which tests run: it becomes that of a
// user, or root of a container. Supervisors that it starts have no others.
//
//     std::string Become() { return BecomeUser(Groups::kOfOthers); }
//     ... tests whose SetUp() skips them for WhySkipped() ...
//     int main(int argc, char** argv) { return RunTests(argc, argv, Become); }

#ifndef TESTS_SUPERVISOR_UNPRIVILEGED_PROCESS_H_
#define TESTS_SUPERVISOR_UNPRIVILEGED_PROCESS_H_

#include <sys/types.h>

#include <string>

namespace tests {

// A user of no importance, and the first id of a container's 65536.
inline constexpr uid_t kUser = 12345;
inline constexpr uid_t kContainer = 0x60000000;

// Which control groups the process has.
enum class Groups {
  // Those of whoever started it, which belong to root.
  kOfOthers,
  // v2: one that belongs to it, as systemd gives to a user's services.
  kItsOwn,
};

// The reason if Groups::kItsOwn cannot be had. Nothing was done then.
inline constexpr char kNoGroups[] =
    "this host has no cgroup v2 with the controllers";

// Runs all tests in a child, after `become`, which returns why they must be
// skipped, or "". Without root's rights, runs them at once, to be skipped.
int RunTests(int argc, char** argv, std::string (*become)());
const std::string& WhySkipped();

// For `become`. Becomes kUser, with two supplementary groups.
std::string BecomeUser(Groups groups);

// For `become`. Becomes root of a user namespace with ids of its own, and of a
// mount namespace in which /sys is read-only, and OwnDirectory()/covered/below
// is a file system with the directory "inner".
std::string EnterContainer(Groups groups);

// A directory that belongs to the process, in which TestSandbox has its
// directories. Exists while tests run.
const std::string& OwnDirectory();

}  // namespace tests

#endif  // TESTS_SUPERVISOR_UNPRIVILEGED_PROCESS_H_
