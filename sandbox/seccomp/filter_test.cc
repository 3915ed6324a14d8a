// Runs the programs that the build tool makes as the kernel would.

#include "sandbox/seccomp/filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <vector>

#include "gtest/gtest.h"

namespace sandbox::seccomp {
namespace {

constexpr uint32_t kEnd = 0xdead;
constexpr uint32_t kAllow = SECCOMP_RET_ALLOW;

uint32_t Refused(int error) {
  return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error);
}

seccomp_data Call(int number, std::vector<uint64_t> arguments) {
  seccomp_data call = {};
  call.nr = number;
  call.arch = AUDIT_ARCH_X86_64;
  for (size_t i = 0; i < arguments.size(); ++i) {
    call.args[i] = arguments[i];
  }
  return call;
}

// Returns the decision of the program about the call; kEnd if it has none.
uint32_t Decide(const std::vector<sock_filter>& program,
                const seccomp_data& call) {
  uint32_t value = 0;
  for (size_t at = 0; at < program.size(); ++at) {
    const sock_filter& step = program[at];
    bool jumps = false;
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&value, reinterpret_cast<const char*>(&call) + step.k, 4);
        continue;
      case BPF_ALU | BPF_AND | BPF_K:
        value &= step.k;
        continue;
      case BPF_RET | BPF_K:
        return step.k;
      case BPF_JMP | BPF_JA:
        at += step.k;
        continue;
      case BPF_JMP | BPF_JEQ | BPF_K:
        jumps = value == step.k;
        break;
      case BPF_JMP | BPF_JGT | BPF_K:
        jumps = value > step.k;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        jumps = value >= step.k;
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        jumps = (value & step.k) != 0;
        break;
      default:
        ADD_FAILURE() << "instruction " << step.code;
        return kEnd;
    }
    at += jumps ? step.jt : step.jf;
  }
  return kEnd;
}

TEST(FilterTest, DecidesByNumberAndArgument) {
  Filter filter(SCMP_ACT_ALLOW);
  filter.Add(SCMP_ACT_ERRNO(EPERM), SYS_mount);
  filter.Add(SCMP_ACT_ERRNO(EIO), SYS_kill, {SCMP_A1(SCMP_CMP_EQ, 9, 0)});
  const std::vector<sock_filter> program = filter.Export();
  EXPECT_EQ(Decide(program, Call(SYS_read, {})), kAllow);
  EXPECT_EQ(Decide(program, Call(SYS_mount, {})), Refused(EPERM));
  EXPECT_EQ(Decide(program, Call(SYS_kill, {1, 9})), Refused(EIO));
  EXPECT_EQ(Decide(program, Call(SYS_kill, {9, 1})), kAllow);
}

TEST(FilterTest, HidesCallsOfOtherArchitectures) {
  const std::vector<sock_filter> program = Filter(SCMP_ACT_ALLOW).Export();
  seccomp_data call = Call(SYS_read, {});
  EXPECT_EQ(Decide(program, call), kAllow);
  call.arch = AUDIT_ARCH_I386;
  EXPECT_EQ(Decide(program, call), Refused(ENOSYS));
  EXPECT_EQ(Decide(program, Call(SYS_read | 0x40000000, {})), Refused(ENOSYS))
      << "x32";
}

TEST(FilterTest, RefusesEachRuleByItsConditions) {
  std::vector<Refusal> refusals(std::begin(kRefusals), std::end(kRefusals));
  refusals.insert(refusals.end(), std::begin(kStrictRefusals),
                  std::end(kStrictRefusals));
  Filter filter(SCMP_ACT_ALLOW);
  for (const Refusal& refusal : refusals) {
    filter.Add(refusal);
  }
  const std::vector<sock_filter> program = filter.Export();
  for (const Refusal& refusal : refusals) {
    seccomp_data call = Call(Number(refusal.call), {});
    EXPECT_EQ(Decide(program, call), kAllow) << refusal.call;
    // The kernel ignores the upper half.
    call.args[refusal.first.argument] = uint64_t{7} << 32 | refusal.first.value;
    if (refusal.second.mask != 0) {
      EXPECT_EQ(Decide(program, call), kAllow) << refusal.call;
      call.args[refusal.second.argument] |= refusal.second.value;
    }
    EXPECT_EQ(Decide(program, call), Refused(refusal.error)) << refusal.call;
  }
}

TEST(FilterTest, AsksAboutSetgidBitsAndRefusesSetuidBits) {
  Filter filter(SCMP_ACT_ALLOW);
  for (const Refusal& refusal : kRefusals) {
    filter.Add(refusal);
  }
  for (const Question& question : kAsked) {
    filter.Add(SCMP_ACT_NOTIFY, question);
  }
  const std::vector<sock_filter> program = filter.Export();
  for (const Question& question : kAsked) {
    seccomp_data call = Call(Number(question.call), {});
    const auto decide = [&](uint64_t mode) {
      call.args[question.condition.argument] = mode;
      return Decide(program, call);
    };
    EXPECT_EQ(decide(0755), kAllow) << question.call;
    EXPECT_EQ(decide(02755), SECCOMP_RET_USER_NOTIF) << question.call;
    EXPECT_EQ(decide(02000 | uint64_t{7} << 32), SECCOMP_RET_USER_NOTIF)
        << question.call;
    EXPECT_EQ(decide(04755), Refused(EPERM)) << question.call;
    EXPECT_EQ(decide(06755), Refused(EPERM)) << question.call;
  }
}

TEST(FilterTest, AllowsACallIfAllConditionsAreTrue) {
  constexpr uint32_t kKill = SECCOMP_RET_KILL_PROCESS;
  Filter filter(SCMP_ACT_KILL_PROCESS);
  filter.Add(Permission{"socket", {{0, kWhole, 2}, {1, kSocketType, 1}}});
  filter.Add(Permission{"socket", {{0, kWhole, 10}, {1, kSocketType, 1}}});
  filter.Add(Permission{"mmap", {{2, 4, 0}}});
  filter.Add(Permission{"getpid", {}});
  const std::vector<sock_filter> program = filter.Export();
  EXPECT_EQ(Decide(program, Call(SYS_socket, {2, 1})), kAllow);
  EXPECT_EQ(Decide(program, Call(SYS_socket, {10, 1 | 02000000})), kAllow);
  // The kernel ignores the upper half.
  EXPECT_EQ(Decide(program, Call(SYS_socket, {uint64_t{7} << 32 | 2, 1})),
            kAllow);
  EXPECT_EQ(Decide(program, Call(SYS_socket, {2, 2})), kKill);
  EXPECT_EQ(Decide(program, Call(SYS_socket, {1, 1})), kKill);
  EXPECT_EQ(Decide(program, Call(SYS_mmap, {0, 0, 3})), kAllow);
  EXPECT_EQ(Decide(program, Call(SYS_mmap, {0, 0, 5})), kKill);
  EXPECT_EQ(Decide(program, Call(SYS_getpid, {1, 2})), kAllow);
  EXPECT_EQ(Decide(program, Call(SYS_getppid, {})), kKill);
}

TEST(NoCallInstructionsTest, LetACancelledCallPassAndLeaveOthersToTheRest) {
  const std::vector<sock_filter> program = NoCallInstructions();
  EXPECT_EQ(Decide(program, Call(-1, {})), kAllow);
  EXPECT_EQ(Decide(program, Call(SYS_read, {})), kEnd);
  EXPECT_EQ(Decide(program, Call(-2, {})), kEnd);
}

TEST(FilterTest, KnowsTheNumbersOfCalls) {
  EXPECT_EQ(Number("read"), SYS_read);
  EXPECT_EXIT(Number("no_such_call"), ::testing::ExitedWithCode(1),
              "compile_profile: no_such_call");
}

// Returns the decision of the rules for socket(2).
uint32_t ExpectedFor(int family, int type, int protocol) {
  for (const SocketRule& rule : kSockets) {
    if ((rule.family == kAny || rule.family == family) &&
        (rule.type == kAny || rule.type == type) &&
        (rule.protocol == kAny || rule.protocol == protocol)) {
      return rule.error == 0 ? kEnd : Refused(rule.error);
    }
  }
  return kEnd;
}

TEST(SocketInstructionsTest, TheFirstRuleThatAppliesDecides) {
  const std::vector<sock_filter> program = SocketInstructions();
  for (int family = 0; family < 48; ++family) {
    for (int type = 0; type < 12; ++type) {
      for (const int protocol : {0, 1, 6, 17, 132, 136, 262}) {
        for (const int flags : {0, SOCK_CLOEXEC | SOCK_NONBLOCK}) {
          EXPECT_EQ(Decide(program, Call(SYS_socket,
                                         {static_cast<uint64_t>(family),
                                          static_cast<uint64_t>(type | flags),
                                          static_cast<uint64_t>(protocol)})),
                    ExpectedFor(family, type, protocol))
              << family << " " << type << " " << protocol;
        }
      }
    }
  }
}

TEST(SocketInstructionsTest, LeavesOtherCallsToTheRest) {
  const std::vector<sock_filter> program = SocketInstructions();
  EXPECT_EQ(Decide(program, Call(SYS_socketpair, {AF_VSOCK, SOCK_STREAM, 0})),
            kEnd);
  seccomp_data other = Call(SYS_socket, {AF_VSOCK, SOCK_STREAM, 0});
  EXPECT_EQ(Decide(program, other), Refused(EPERM));
  other.arch = AUDIT_ARCH_I386;
  EXPECT_EQ(Decide(program, other), kEnd);
}

TEST(SocketInstructionsTest, AllowsWhatProgramsNeed) {
  const std::vector<sock_filter> program = SocketInstructions();
  const auto socket = [&](int family, int type, int protocol) {
    return Decide(program, Call(SYS_socket, {static_cast<uint64_t>(family),
                                             static_cast<uint64_t>(type),
                                             static_cast<uint64_t>(protocol)}));
  };
  EXPECT_EQ(socket(AF_UNIX, SOCK_SEQPACKET, 0), kEnd);
  EXPECT_EQ(socket(AF_UNIX, SOCK_STREAM, PF_UNIX), kEnd);
  EXPECT_EQ(socket(AF_INET, SOCK_STREAM, IPPROTO_TCP), kEnd);
  EXPECT_EQ(socket(AF_INET6, SOCK_DGRAM, IPPROTO_UDP), kEnd);
  EXPECT_EQ(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), kEnd);
  EXPECT_EQ(socket(AF_INET, SOCK_STREAM, 262), Refused(EPROTONOSUPPORT));
  EXPECT_EQ(socket(AF_INET, SOCK_RAW, 0), Refused(EPERM));
  EXPECT_EQ(socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER), Refused(EPERM));
  EXPECT_EQ(socket(AF_ALG, SOCK_SEQPACKET, 0), Refused(EPERM));
}

}  // namespace
}  // namespace sandbox::seccomp
