// The server that runs in the process of a BareServer.

#ifndef TESTS_BENCHMARKS_BARE_SERVICE_H_
#define TESTS_BENCHMARKS_BARE_SERVICE_H_

#include <string>

namespace tests {

// Bytes on the socket `control`. Each command is answered with itself.
constexpr char kHold = 'h';
constexpr char kRelease = 'r';

// Serves at `address`. Sends kRelease once it does, obeys the commands that
// come, and returns at the end of the stream. Returns false if it cannot
// listen.
bool ServeBare(const std::string& address, int control);

}  // namespace tests

#endif  // TESTS_BENCHMARKS_BARE_SERVICE_H_
