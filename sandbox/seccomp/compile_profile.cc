// A build tool that compiles the profiles with libseccomp to BPF programs, as
// C++ arrays. Compiling takes milliseconds, loading a compiled filter
// microseconds.
//
//   compile_profile > file.inc

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <set>
#include <vector>

#include "sandbox/seccomp/arguments.h"
#include "sandbox/seccomp/filter.h"
#include "sandbox/seccomp/profile.h"
#include "sandbox/seccomp/profile_name.h"
#include "sandbox/seccomp/supervisor_profile.h"

namespace sandbox::seccomp {
namespace {

constexpr uint32_t kRefuse = SCMP_ACT_ERRNO(EPERM);
constexpr uint32_t kAbsentAction = SCMP_ACT_ERRNO(ENOSYS);
// The call succeeds, and the kernel does nothing.
constexpr uint32_t kDoNothing = SCMP_ACT_ERRNO(0);
// Above all call numbers that any distribution's libseccomp knows.
constexpr int kNumbers = 512;

// Allows only AF_UNIX, since other families have no use for pairs, and the
// kernel loads a family's module before it finds that the family has no pairs.
// Compares all 64 bits, though the kernel ignores the upper ones.
void AddSocketPair(Filter& filter) {
  filter.Add(SCMP_ACT_ALLOW, SCMP_SYS(socketpair),
             {SCMP_A0(SCMP_CMP_EQ, AF_UNIX, 0)});
  filter.Add(kRefuse, SCMP_SYS(socketpair), {SCMP_A0(SCMP_CMP_NE, AF_UNIX, 0)});
}

// Refuses new namespaces, since a user namespace opens the kernel's privileged
// surface, and CLONE_PARENT, which makes children of the supervisor. clone3 has
// the same flags out of a filter's sight: the first are also forbidden by
// number, and the supervisor reaps such children.
void AddClone(Filter& filter) {
  const std::initializer_list<uint64_t> refused = {
      0x00000080, 0x00008000, 0x00020000, 0x02000000, 0x04000000,
      0x08000000, 0x10000000, 0x20000000, 0x40000000};
  uint64_t all = 0;
  for (uint64_t bit : refused) {
    all |= bit;
    filter.Add(kRefuse, SCMP_SYS(clone),
               {SCMP_A0(SCMP_CMP_MASKED_EQ, bit, bit)});
  }
  filter.Add(SCMP_ACT_ALLOW, SCMP_SYS(clone),
             {SCMP_A0(SCMP_CMP_MASKED_EQ, all, 0)});
}

// Allows PER_LINUX, PER_LINUX32, UNAME26, the last two together, and the query,
// but not READ_IMPLIES_EXEC, and ADDR_NO_RANDOMIZE only for debuggers.
void AddPersonality(Filter& filter, Profile profile) {
  for (uint64_t persona :
       std::initializer_list<uint64_t>{0, 8, 0x20000, 0x20008}) {
    filter.Add(SCMP_ACT_ALLOW, SCMP_SYS(personality),
               {SCMP_A0(SCMP_CMP_EQ, persona, 0)});
    if (profile == Profile::kDebug) {
      filter.Add(SCMP_ACT_ALLOW, SCMP_SYS(personality),
                 {SCMP_A0(SCMP_CMP_EQ, persona | kNotRandom, 0)});
    }
  }
  filter.Add(SCMP_ACT_ALLOW, SCMP_SYS(personality),
             {SCMP_A0(SCMP_CMP_EQ, 0xffffffff, 0)});
}

template <size_t kCount>
std::set<int> Numbers(const Change (&changes)[kCount]) {
  std::set<int> numbers;
  for (const Change& change : changes) {
    numbers.insert(Number(change.call));
  }
  return numbers;
}

// The calls that the profile allows whatever their arguments.
std::set<int> Allowed(Profile profile) {
  std::set<int> allowed(std::begin(kAllowedNumbers), std::end(kAllowedNumbers));
  for (const char* name : kAllowed) {
    allowed.insert(Number(name));
  }
  switch (profile) {
    case Profile::kDefault:
      break;
    case Profile::kStrict:
      for (int number : Numbers(kStrictRefuses)) {
        allowed.erase(number);
      }
      break;
    case Profile::kDebug:
      allowed.merge(Numbers(kDebugAllows));
      break;
    case Profile::kNested:
      allowed.merge(Numbers(kNestedAllows));
      allowed.insert(SCMP_SYS(clone));
      break;
  }
  return allowed;
}

std::vector<sock_filter> Allow(Profile profile) {
  Filter filter(kAbsentAction);
  std::set<int> named = Allowed(profile);
  for (int number : named) {
    filter.Add(SCMP_ACT_ALLOW, number);
  }
  if (named.insert(SCMP_SYS(clone)).second) {
    AddClone(filter);
  }
  AddSocketPair(filter);
  AddPersonality(filter, profile);
  named.insert({SCMP_SYS(socketpair), SCMP_SYS(personality)});
  for (const char* name : kAbsent) {
    named.insert(seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, name));
  }
  // EPERM for calls that exist, ENOSYS for numbers that have no call yet.
  for (int number = 0; number < kNumbers; ++number) {
    char* name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, number);
    if (name != nullptr && named.count(number) == 0) {
      filter.Add(kRefuse, number);
    }
    std::free(name);
  }
  return filter.Export();
}

// Makes changes of RLIMIT_CORE succeed without an effect. The limit is 1: with
// any other value the kernel runs the host's core dump program, also with 0,
// which gpg and ssh-agent insist on.
void KeepCoreLimit(Filter& filter) {
  const scmp_arg_cmp is_new = SCMP_A2(SCMP_CMP_NE, 0, 0);
  const auto core = [](unsigned argument) {
    return SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, kWhole, RLIMIT_CORE);
  };
  filter.Add(kDoNothing, SCMP_SYS(setrlimit), {core(0)});
  filter.Add(kDoNothing, SCMP_SYS(prlimit64),
             {core(1), is_new, SCMP_A3(SCMP_CMP_EQ, 0, 0)});
  // The caller would use the old limit, which nobody has written.
  filter.Add(kRefuse, SCMP_SYS(prlimit64),
             {core(1), is_new, SCMP_A3(SCMP_CMP_NE, 0, 0)});
}

std::vector<sock_filter> Deny(Profile profile) {
  Filter filter(SCMP_ACT_ALLOW);
  for (const Refusal& refusal : kRefusals) {
    filter.Add(refusal);
  }
  for (const Question& question : kAsked) {
    filter.Add(HasListener(profile) ? SCMP_ACT_NOTIFY : kRefuse, question);
  }
  if (profile == Profile::kStrict) {
    for (const Refusal& refusal : kStrictRefusals) {
      filter.Add(refusal);
    }
  }
  KeepCoreLimit(filter);
  for (const char* name : kWithoutEffect) {
    filter.Add(kDoNothing, Number(name));
  }
  std::vector<sock_filter> program = SocketInstructions();
  const std::vector<sock_filter> rest = filter.Export();
  program.insert(program.end(), rest.begin(), rest.end());
  return program;
}

// Returns one program for both: the kernel then has one for each sandbox. Rules
// that refuse some arguments of an allowed call need a filter of their own,
// since libseccomp cannot express "not equal, masked".
std::vector<sock_filter> Compile(Profile profile) {
  std::vector<sock_filter> program = Deny(profile);
  for (size_t i = 0; i < program.size(); ++i) {
    if (program[i].code == (BPF_RET | BPF_K) &&
        program[i].k == SECCOMP_RET_ALLOW) {
      program[i] = {BPF_JMP | BPF_JA, 0, 0,
                    static_cast<uint32_t>(program.size() - i - 1)};
    }
  }
  const std::vector<sock_filter> allow = Allow(profile);
  program.insert(program.end(), allow.begin(), allow.end());
  return program;
}

std::vector<sock_filter> CompileForSupervisor() {
  Filter filter(SCMP_ACT_KILL_PROCESS);
  for (const char* name : kSupervisorAllowed) {
    filter.Add(SCMP_ACT_ALLOW, Number(name));
  }
  for (const Permission& permission : kSupervisorPermissions) {
    filter.Add(permission);
  }
  filter.Add(kAbsentAction, SCMP_SYS(clone3));
  std::vector<sock_filter> program = NoCallInstructions();
  const std::vector<sock_filter> rest = filter.Export();
  program.insert(program.end(), rest.begin(), rest.end());
  return program;
}

void Print(const char* name, const std::vector<sock_filter>& program) {
  std::printf("// Generated by sandbox/seccomp/compile_profile.\n");
  std::printf("inline constexpr sock_filter %s[] = {\n", name);
  for (const sock_filter& step : program) {
    std::printf("    {0x%x, %u, %u, 0x%x},\n", step.code, step.jt, step.jf,
                step.k);
  }
  std::printf("};\n");
}

}  // namespace
}  // namespace sandbox::seccomp

int main() {
  using sandbox::seccomp::Compile;
  using sandbox::seccomp::CompileForSupervisor;
  using sandbox::seccomp::Print;
  using sandbox::seccomp::Profile;
  Print("kDefaultFilter", Compile(Profile::kDefault));
  Print("kStrictFilter", Compile(Profile::kStrict));
  Print("kDebugFilter", Compile(Profile::kDebug));
  Print("kNestedFilter", Compile(Profile::kNested));
  Print("kSupervisorFilter", CompileForSupervisor());
  return 0;
}
