// Makes every call fail that writes a record, a log or a message, one after the
// other.
//
//     faults_test [GoogleTest's flags] [--all]
//
// --all: every single call; otherwise the first calls and some of the later
// ones.

#include <algorithm>
#include <iostream>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/faults/fault_test.h"

namespace tests {
namespace {

struct Kind {
  const char* call;
  const char* effect;
};

std::string NameOf(const ::testing::TestParamInfo<Kind>& info) {
  return absl::StrReplaceAll(
      std::string(info.param.call) + "_" + info.param.effect,
      {{"=", "_"}, {",", "_"}});
}

class Each : public FaultTest, public ::testing::WithParamInterface<Kind> {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    const std::vector<std::string> calls = absl::StrSplit(GetParam().call, ',');
    if (std::count(calls.begin(), calls.end(), "write") != 0 &&
        absl::StartsWith(GetParam().effect, "error")) {
      GTEST_SKIP() << "the sanitizer itself looks at memory with write(2)";
    }
#endif
    FaultTest::SetUp();
  }
  Fault fault() const { return {GetParam().call, GetParam().effect}; }
};

class SupervisorFaultTest : public Each {};
TEST_P(SupervisorFaultTest, ReportsOnlyTheTruth) {
  Enumerate(fault(), [this](const Fault& f) { return StrikeSupervisor(f); });
}

class ServerFaultTest : public Each {};
TEST_P(ServerFaultTest, ReportsOnlyTheTruth) {
  Enumerate(fault(), [this](const Fault& f) { return StrikeServer(f); });
}

class RecoveryFaultTest : public Each {};
TEST_P(RecoveryFaultTest, ReportsOnlyTheTruth) {
  Enumerate(fault(), [this](const Fault& f) { return StrikeRecovery(f); });
}

class LastingFaultTest : public Each {};
TEST_P(LastingFaultTest, ContinuesWhenTheFaultIsOver) {
  StrikeForAWhile(GetParam().call, GetParam().effect);
}

constexpr char kRename[] = "rename,renameat,renameat2";
constexpr char kEio[] = "error=EIO";
constexpr char kEnospc[] = "error=ENOSPC";
constexpr char kKill[] = "signal=KILL";

INSTANTIATE_TEST_SUITE_P(
    , SupervisorFaultTest,
    ::testing::Values(
        Kind{"openat", kEio}, Kind{"openat", kKill},
        Kind{"mkdir,mkdirat", kEnospc}, Kind{"mkdir,mkdirat", kKill},
        Kind{"write", kEnospc}, Kind{"write", kKill}, Kind{"pwrite64", kEio},
        Kind{"pwrite64", kKill}, Kind{"splice", kEnospc}, Kind{"splice", kKill},
        Kind{"fallocate", kEio}, Kind{"ftruncate", kEio}, Kind{"fsync", kEio},
        Kind{"fsync", kKill}, Kind{"fdatasync", kEio}, Kind{"fdatasync", kKill},
        Kind{kRename, kEio}, Kind{kRename, kKill}, Kind{"sendmsg", kEio},
        Kind{"sendmsg", kKill}, Kind{"recvmsg", kEio}, Kind{"recvmsg", kKill}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    , ServerFaultTest,
    ::testing::Values(
        Kind{"openat", kEio}, Kind{"mkdir,mkdirat", kEnospc},
        Kind{"write", kEnospc}, Kind{"write", kKill}, Kind{"pwrite64", kEio},
        Kind{"fsync", kEio}, Kind{"fsync", kKill}, Kind{"fdatasync", kEio},
        Kind{kRename, kEio}, Kind{kRename, kKill}, Kind{"unlinkat", kEio},
        Kind{"unlinkat", kKill}, Kind{"sendmsg", kEio}, Kind{"sendmsg", kKill},
        Kind{"recvmsg", kEio}, Kind{"recvmsg", kKill}, Kind{"pread64", kEio}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    , RecoveryFaultTest,
    ::testing::Values(Kind{"read", kEio}, Kind{"pread64", kEio},
                      Kind{"connect", kKill}, Kind{"sendmsg", kKill},
                      Kind{"recvmsg", kKill}, Kind{kRename, kKill},
                      Kind{"fsync", kKill}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    , LastingFaultTest,
    ::testing::Values(Kind{"splice,pwrite64,fallocate", kEnospc},
                      Kind{"splice,pwrite64,fallocate,write", kEio},
                      Kind{"openat,mkdir", "error=EROFS"},
                      Kind{"fsync,fdatasync", kEio}, Kind{kRename, kEio}),
    NameOf);

}  // namespace
}  // namespace tests

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) != "--all") {
      std::cerr << "unknown argument " << argv[i] << std::endl;
      return 2;
    }
    tests::strike_every_call = true;
  }
  return RUN_ALL_TESTS();
}
