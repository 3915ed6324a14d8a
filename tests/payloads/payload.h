// What the attack tests run inside a sandbox: one static program, whose first
// argument names the attack. It tries something and prints what came of it,
// "what: ENAME" or "what: number"; the test knows what it should be.

#ifndef TESTS_PAYLOADS_PAYLOAD_H_
#define TESTS_PAYLOADS_PAYLOAD_H_

namespace payloads {

// argv[0] is the attack's name.
using Attack = int (*)(int argc, char** argv);

struct Entry {
  const char* name;
  Attack run;
};

// Prints a result of the C library's convention: -1 and errno, or a value.
void Tell(const char* what, long result);

// The attacks of each source file; the last entry has no name.
extern const Entry kSyscalls[];
extern const Entry kFiles[];
extern const Entry kProcesses[];
extern const Entry kResources[];
extern const Entry kNetwork[];
extern const Entry kTerminal[];

}  // namespace payloads

#endif  // TESTS_PAYLOADS_PAYLOAD_H_
