// The code of this program in memory.
//
// May be called from any thread.

#ifndef SANDBOX_BASE_PROGRAM_CODE_H_
#define SANDBOX_BASE_PROGRAM_CODE_H_

namespace sandbox {

// Takes all code and constants out of this process's memory. The kernel maps
// them again, from its cache, when they are used; what is never used again
// costs nothing then. Takes some 10 us, and the first use of each 64 KiB one.
void ForgetCode();

}  // namespace sandbox

#endif  // SANDBOX_BASE_PROGRAM_CODE_H_
