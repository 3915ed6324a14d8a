// System calls without a C library. corral-init has none: it is executed twice
// for every sandbox, and the start-up of a static glibc alone takes ten times
// as long as executing these few pages. Besides, code that is not there cannot
// be attacked.
//
// Return values are the kernel's: -errno on failure. x86-64 only.

#ifndef SANDBOX_INIT_SYSCALL_H_
#define SANDBOX_INIT_SYSCALL_H_

#include <stddef.h>
#include <stdint.h>

// Keeps gcc from replacing a loop with a call of memset or memcpy.
#ifndef __clang__
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif

namespace sandbox::init {

inline long Syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0,
                    long e = 0, long f = 0) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

template <typename T>
long Address(T* pointer) {
  return reinterpret_cast<long>(pointer);
}

// clone3 for a child that shares our memory and must not share our stack: it
// runs entry(argument) on the stack that `arguments`, a clone_args of `size`
// bytes, names, and exits with its result. Returns in the parent only, with the
// result of clone3.
long CloneRunning(void* arguments, size_t size, int (*entry)(void*),
                  void* argument);

// The two roles of the program. Neither returns while its sandbox lives.
int RunInit();
int RunSpawner();

}  // namespace sandbox::init

#endif  // SANDBOX_INIT_SYSCALL_H_
