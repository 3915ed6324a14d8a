// The program that the attack tests run inside a sandbox: one static program,
// whose first argument names the attack. An attack tries something and prints
// the result, "what: ENAME" or "what: number"; the test knows the expected
// result.

#ifndef TESTS_PAYLOADS_PAYLOAD_H_
#define TESTS_PAYLOADS_PAYLOAD_H_

namespace payloads {

// argv[0] is the name of the attack.
using Attack = int (*)(int argc, char** argv);

struct Entry {
  const char* name;
  Attack run;
};

// Prints a result of the C library's convention: errno if it is -1, else the
// value.
void Report(const char* what, long result);

// The attacks of each source file; the last entry has no name.
extern const Entry kSyscalls[];
extern const Entry kFiles[];
extern const Entry kProcesses[];
extern const Entry kResources[];
extern const Entry kNetwork[];
extern const Entry kTerminal[];
extern const Entry kFilters[];
extern const Entry kTables[];
extern const Entry kGroups[];
extern const Entry kDisks[];

}  // namespace payloads

#endif  // TESTS_PAYLOADS_PAYLOAD_H_
