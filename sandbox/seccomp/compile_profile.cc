// A build tool that compiles the profile with libseccomp to BPF programs, as
// C++ arrays. Compiling takes milliseconds, loading a compiled filter
// microseconds.
//
//   compile_profile allow|deny|command NAME > file.inc

#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "sandbox/seccomp/profile.h"

namespace sandbox::seccomp {
namespace {

constexpr uint32_t kRefuse = SCMP_ACT_ERRNO(EPERM);
constexpr uint32_t kAbsentAction = SCMP_ACT_ERRNO(ENOSYS);
// Above all call numbers that any distribution's libseccomp knows.
constexpr int kNumbers = 512;

void Check(int result, const char* what) {
  if (result < 0) {
    std::fprintf(stderr, "compile_profile: %s: %s\n", what,
                 std::strerror(-result));
    std::exit(1);
  }
}

class Filter {
 public:
  explicit Filter(uint32_t otherwise) : context_(seccomp_init(otherwise)) {
    // Calls of other architectures, x32 included, have other numbers.
    Check(seccomp_attr_set(context_, SCMP_FLTATR_ACT_BADARCH, kAbsentAction),
          "bad architecture");
    Check(seccomp_attr_set(context_, SCMP_FLTATR_CTL_OPTIMIZE, 2), "optimize");
  }
  ~Filter() { seccomp_release(context_); }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  void Add(uint32_t action, int number,
           std::initializer_list<scmp_arg_cmp> arguments = {}) {
    const std::vector<scmp_arg_cmp> list(arguments);
    Check(seccomp_rule_add_exact_array(context_, action, number, list.size(),
                                       list.data()),
          "rule");
  }

  std::vector<sock_filter> Export() const {
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

 private:
  scmp_filter_ctx context_;
};

int Number(const char* name) {
  return seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, name);
}

// Allows three families, and NETLINK_ROUTE of netlink. Others have been ways
// into the kernel (AF_ALG, AF_PACKET, ...) or out of the machine (AF_VSOCK).
// Compares all 64 bits, though the kernel ignores the upper ones.
void AddSockets(Filter& filter) {
  const int socket = SCMP_SYS(socket);
  const std::set<uint64_t> allowed = {AF_UNIX, AF_INET, AF_INET6};
  for (uint64_t family = 0; family < AF_NETLINK; ++family) {
    filter.Add(allowed.count(family) != 0 ? SCMP_ACT_ALLOW : kRefuse, socket,
               {SCMP_A0(SCMP_CMP_EQ, family, 0)});
  }
  filter.Add(SCMP_ACT_ALLOW, socket,
             {SCMP_A0(SCMP_CMP_EQ, AF_NETLINK, 0), SCMP_A2(SCMP_CMP_EQ, 0, 0)});
  filter.Add(kRefuse, socket,
             {SCMP_A0(SCMP_CMP_EQ, AF_NETLINK, 0), SCMP_A2(SCMP_CMP_NE, 0, 0)});
  filter.Add(kRefuse, socket, {SCMP_A0(SCMP_CMP_GT, AF_NETLINK, 0)});
  // Only AF_UNIX, since other families have no use for pairs, and the kernel
  // loads a family's module before it finds that the family has no pairs.
  filter.Add(SCMP_ACT_ALLOW, SCMP_SYS(socketpair),
             {SCMP_A0(SCMP_CMP_EQ, AF_UNIX, 0)});
  filter.Add(kRefuse, SCMP_SYS(socketpair), {SCMP_A0(SCMP_CMP_NE, AF_UNIX, 0)});
}

// Refuses new namespaces, since a user namespace opens the kernel's privileged
// surface, and CLONE_PARENT, since the supervisor is a command's parent and
// would get children that it does not know and does not reap.
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
// but neither ADDR_NO_RANDOMIZE nor READ_IMPLIES_EXEC.
void AddPersonality(Filter& filter) {
  for (uint64_t persona :
       std::initializer_list<uint64_t>{0, 8, 0x20000, 0x20008, 0xffffffff}) {
    filter.Add(SCMP_ACT_ALLOW, SCMP_SYS(personality),
               {SCMP_A0(SCMP_CMP_EQ, persona, 0)});
  }
}

std::vector<sock_filter> Allow() {
  Filter filter(kAbsentAction);
  std::set<int> named = {SCMP_SYS(socket), SCMP_SYS(socketpair),
                         SCMP_SYS(clone), SCMP_SYS(personality)};
  for (const char* name : kAllowed) {
    const int number = Number(name);
    Check(number, name);
    filter.Add(SCMP_ACT_ALLOW, number);
    named.insert(number);
  }
  for (int number : kAllowedNumbers) {
    filter.Add(SCMP_ACT_ALLOW, number);
    named.insert(number);
  }
  for (const char* name : kAbsent) {
    named.insert(Number(name));
  }
  AddSockets(filter);
  AddClone(filter);
  AddPersonality(filter);
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

// Commands must not make setuid files: on the host a workspace is not mounted
// nosuid, and such a file would act for the workspace's owner.
void DenySetuidModes(Filter& filter) {
  for (uint64_t bits : std::initializer_list<uint64_t>{04000, 02000}) {
    const auto mode = [bits](unsigned argument) {
      return SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, bits, bits);
    };
    filter.Add(kRefuse, SCMP_SYS(chmod), {mode(1)});
    filter.Add(kRefuse, SCMP_SYS(fchmod), {mode(1)});
    filter.Add(kRefuse, SCMP_SYS(fchmodat), {mode(2)});
    filter.Add(kRefuse, SCMP_SYS(creat), {mode(1)});
    filter.Add(kRefuse, SCMP_SYS(mknod), {mode(1)});
    filter.Add(kRefuse, SCMP_SYS(mknodat), {mode(2)});
    // Without one of these flags the mode is not an argument, and its register
    // holds anything. The second flag is __O_TMPFILE.
    for (uint64_t flag : std::initializer_list<uint64_t>{O_CREAT, 020000000}) {
      filter.Add(kRefuse, SCMP_SYS(open),
                 {SCMP_A1(SCMP_CMP_MASKED_EQ, flag, flag), mode(2)});
      filter.Add(kRefuse, SCMP_SYS(openat),
                 {SCMP_A2(SCMP_CMP_MASKED_EQ, flag, flag), mode(3)});
    }
  }
}

std::vector<sock_filter> Deny() {
  Filter filter(SCMP_ACT_ALLOW);
  // Refuses to type into a terminal that a command shares with others. The
  // kernel looks at the low 32 bits only.
  for (uint64_t request : std::initializer_list<uint64_t>{TIOCSTI, TIOCLINUX}) {
    filter.Add(kRefuse, SCMP_SYS(ioctl),
               {SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, request)});
  }
  DenySetuidModes(filter);
  return filter.Export();
}

// Denies commands the calls that only the spawner needs.
std::vector<sock_filter> Command() {
  Filter filter(SCMP_ACT_ALLOW);
  filter.Add(kAbsentAction, SCMP_SYS(clone3));
  return filter.Export();
}

void Print(const char* name, const std::vector<sock_filter>& program) {
  std::printf("// Generated from sandbox/seccomp/profile.h.\n");
  std::printf("inline constexpr sock_filter %s[] = {\n", name);
  for (const sock_filter& step : program) {
    std::printf("    {0x%x, %u, %u, 0x%x},\n", step.code, step.jt, step.jf,
                step.k);
  }
  std::printf("};\n");
}

}  // namespace
}  // namespace sandbox::seccomp

int main(int argc, char** argv) {
  namespace seccomp = sandbox::seccomp;
  const std::string which = argc == 3 ? argv[1] : "";
  if (which == "allow") {
    seccomp::Print(argv[2], seccomp::Allow());
  } else if (which == "deny") {
    seccomp::Print(argv[2], seccomp::Deny());
  } else if (which == "command") {
    seccomp::Print(argv[2], seccomp::Command());
  } else {
    std::fprintf(stderr, "usage: compile_profile allow|deny|command NAME\n");
    return 2;
  }
  return 0;
}
