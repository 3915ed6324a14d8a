#include "sandbox/seccomp/filter.h"

#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace sandbox::seccomp {
namespace {

void Check(int result, const char* what) {
  if (result < 0) {
    std::fprintf(stderr, "compile_profile: %s: %s\n", what,
                 std::strerror(-result));
    std::exit(1);
  }
}

scmp_arg_cmp Compare(const Condition& condition) {
  return SCMP_CMP(condition.argument, SCMP_CMP_MASKED_EQ, condition.mask,
                  condition.value);
}

sock_filter Step(int code, uint32_t k, size_t if_false = 0) {
  return {static_cast<uint16_t>(code), 0, static_cast<uint8_t>(if_false), k};
}

// The lower half of an argument.
sock_filter LoadArgument(unsigned argument) {
  return Step(BPF_LD | BPF_W | BPF_ABS,
              static_cast<uint32_t>(offsetof(seccomp_data, args) +
                                    argument * sizeof(uint64_t)));
}

// Instructions for a rule, which continue with the next instruction if it does
// not apply. A rule that allows jumps over `after` instructions behind it.
std::vector<sock_filter> Instructions(const SocketRule& rule, size_t after) {
  std::vector<sock_filter> checks;
  const int wanted[] = {rule.family, rule.type, rule.protocol};
  for (unsigned i = 0; i < 3; ++i) {
    if (wanted[i] == kAny) {
      continue;
    }
    checks.push_back(LoadArgument(i));
    if (i == 1) {
      checks.push_back(Step(BPF_ALU | BPF_AND | BPF_K, kSocketType));
    }
    checks.push_back(
        Step(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(wanted[i])));
  }
  for (size_t i = 0; i < checks.size(); ++i) {
    if (BPF_CLASS(checks[i].code) == BPF_JMP) {
      checks[i].jf = static_cast<uint8_t>(checks.size() - i);
    }
  }
  checks.push_back(
      rule.error == 0
          ? Step(BPF_JMP | BPF_JA, static_cast<uint32_t>(after))
          : Step(BPF_RET | BPF_K,
                 SECCOMP_RET_ERRNO | static_cast<uint32_t>(rule.error)));
  return checks;
}

}  // namespace

Filter::Filter(uint32_t otherwise) : context_(seccomp_init(otherwise)) {
  Check(seccomp_attr_set(context_, SCMP_FLTATR_ACT_BADARCH,
                         SCMP_ACT_ERRNO(ENOSYS)),
        "bad architecture");
  Check(seccomp_attr_set(context_, SCMP_FLTATR_CTL_OPTIMIZE, 2), "optimize");
}

Filter::~Filter() { seccomp_release(context_); }

void Filter::Add(uint32_t action, int number,
                 const std::vector<scmp_arg_cmp>& arguments) {
  Check(seccomp_rule_add_exact_array(context_, action, number,
                                     static_cast<unsigned>(arguments.size()),
                                     arguments.data()),
        "rule");
}

template <typename Conditions>
void Filter::AddIf(uint32_t action, const char* call,
                   const Conditions& conditions) {
  std::vector<scmp_arg_cmp> arguments;
  for (const Condition& condition : conditions) {
    if (condition.mask != 0) {
      arguments.push_back(Compare(condition));
    }
  }
  Add(action, Number(call), arguments);
}

void Filter::Add(const Refusal& refusal) {
  AddIf(SCMP_ACT_ERRNO(static_cast<uint32_t>(refusal.error)), refusal.call,
        std::initializer_list<Condition>{refusal.first, refusal.second});
}

void Filter::Add(const Permission& permission) {
  AddIf(SCMP_ACT_ALLOW, permission.call, permission.conditions);
}

void Filter::Add(uint32_t action, const Question& question) {
  Add(action, Number(question.call), {Compare(question.condition)});
}

std::vector<sock_filter> Filter::Export() const {
  const int file = ::memfd_create("bpf", MFD_CLOEXEC);
  Check(seccomp_export_bpf(context_, file), "export");
  std::vector<sock_filter> program(
      static_cast<size_t>(::lseek(file, 0, SEEK_END)) / sizeof(sock_filter));
  if (::pread(file, program.data(), program.size() * sizeof(sock_filter), 0) <
      0) {
    Check(-errno, "read");
  }
  ::close(file);
  return program;
}

int Number(const char* name) {
  const int number = seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, name);
  Check(number, name);
  return number;
}

std::vector<sock_filter> NoCallInstructions() {
  constexpr uint32_t kNoCall = 0xffffffff;
  return {Step(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
          Step(BPF_JMP | BPF_JEQ | BPF_K, kNoCall, 1),
          Step(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
}

std::vector<sock_filter> SocketInstructions() {
  std::vector<sock_filter> program;
  // From the last rule to the first, so that each knows what is behind it.
  for (size_t i = std::size(kSockets); i-- > 0;) {
    std::vector<sock_filter> rule = Instructions(kSockets[i], program.size());
    program.insert(program.begin(), rule.begin(), rule.end());
  }
  // A conditional jump has 8 bits for its distance, so a jump over the whole
  // program needs a BPF_JA of its own.
  const sock_filter start[] = {
      Step(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      Step(BPF_JMP | BPF_JEQ | BPF_K, SCMP_ARCH_X86_64, 2),
      Step(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_socket},
      Step(BPF_JMP | BPF_JA, static_cast<uint32_t>(program.size()))};
  program.insert(program.begin(), std::begin(start), std::end(start));
  return program;
}

}  // namespace sandbox::seccomp
