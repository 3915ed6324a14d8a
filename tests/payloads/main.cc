#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tests/payloads/payload.h"

namespace payloads {

void Report(const char* what, long result) {
  if (result == -1) {
    const char* name = ::strerrorname_np(errno);
    std::printf("%s: %s\n", what, name != nullptr ? name : "?");
  } else {
    std::printf("%s: %ld\n", what, result);
  }
  std::fflush(stdout);
}

}  // namespace payloads

int main(int argc, char** argv) {
  using payloads::Entry;
  const Entry* const tables[] = {payloads::kSyscalls,  payloads::kFiles,
                                 payloads::kProcesses, payloads::kResources,
                                 payloads::kNetwork,   payloads::kTerminal,
                                 payloads::kFilters,   payloads::kTables,
                                 payloads::kGroups,    payloads::kDisks};
  const char* wanted = argc > 1 ? argv[1] : "";
  for (const Entry* entry : tables) {
    for (; entry->name != nullptr; ++entry) {
      if (std::strcmp(entry->name, wanted) == 0) {
        return entry->run(argc - 1, argv + 1);
      }
    }
  }
  std::fprintf(stderr, "no attack '%s'\n", wanted);
  return 2;
}
