// The entry point, and the functions that a compiler may call without being
// asked to.

#include <asm/unistd.h>
#include <linux/prctl.h>

#include "sandbox/init/exchange.h"
#include "sandbox/init/syscall.h"

namespace {

bool Equal(const char* a, const char* b) {
  for (; *a != '\0' && *a == *b; ++a, ++b) {
  }
  return *a == *b;
}

}  // namespace

extern "C" {

[[gnu::used]] [[noreturn]] void StartWithStack(const long* stack) {
  // stack: argc, argv[0], ...
  const char* name =
      stack[0] > 0 ? reinterpret_cast<const char*>(stack[1]) : "";
  // Without a name, ps would show the number of the descriptor from which this
  // program was executed.
  sandbox::init::Syscall(__NR_prctl, PR_SET_NAME, sandbox::init::Address(name));
  int status = 2;
  if (Equal(name, sandbox::kInitName)) {
    status = sandbox::init::RunInit();
  } else if (Equal(name, sandbox::kSpawnerName)) {
    status = sandbox::init::RunSpawner();
  }
  for (;;) {
    sandbox::init::Syscall(__NR_exit_group, status);
  }
}

[[gnu::naked]] void _start() {  // NOLINT: the linker's name
  asm("xor %ebp, %ebp\n"
      "mov %rsp, %rdi\n"
      "and $-16, %rsp\n"
      "call StartWithStack\n");
}

[[gnu::used]] void* memcpy(void* to, const void* from, size_t size) {
  void* result = to;
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
  return result;
}

[[gnu::used]] void* memset(void* to, int value, size_t size) {
  void* result = to;
  asm volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(value) : "memory");
  return result;
}

}  // extern "C"

namespace sandbox::init {

// In the child the stack is new and has no return address: it calls `entry` and
// exits. r12 and r13 survive the system call, which overwrites rcx and r11.
long CloneRunning(void* arguments, size_t size, int (*entry)(void*),
                  void* argument) {
  long result;
  register int (*r12)(void*) asm("r12") = entry;
  register void* r13 asm("r13") = argument;
  asm volatile(
      "syscall\n"
      "test %%rax, %%rax\n"
      "jnz 1f\n"
      "xor %%ebp, %%ebp\n"
      "mov %%r13, %%rdi\n"
      "call *%%r12\n"
      "mov %%eax, %%edi\n"
      "mov %[exit], %%eax\n"
      "syscall\n"
      "hlt\n"
      "1:\n"
      : "=a"(result)
      : "a"(__NR_clone3), "D"(arguments), "S"(size), "r"(r12),
        "r"(r13), [exit] "i"(__NR_exit)
      : "rcx", "r11", "memory");
  return result;
}

}  // namespace sandbox::init
