// Where the time went, as tables for people. Times are in microseconds.

#ifndef BRIDGE_CLI_REPORT_TRACE_REPORT_H_
#define BRIDGE_CLI_REPORT_TRACE_REPORT_H_

#include <cstdint>
#include <string>

#include "corral/v1/sandbox.pb.h"
#include "corral/v1/trace.pb.h"

namespace bridge {

// The times that the client itself has taken, in nanoseconds.
struct ClientTimes {
  // When it sent the request, since 1970.
  int64_t begin_unix_ns;
  // How long it took until the end had arrived.
  int64_t total_ns;
};

// Returns a line for each stage that the execution has reached: its name, when
// it began, counted from the client's begin, and how long it took. The last
// line is the total, which is the sum of the others. Returns an empty string if
// the server has timed nothing.
//
// The server's clock places its stages between those of the client. It may be
// that of another machine, and is believed only as far as no answer comes
// before its request.
std::string StageTable(const corral::v1::ExecutionTrace& trace,
                       const ClientTimes& client);

// Returns a line for each step of the sandbox's creation that the server knows:
// its name, how long it took, and whether it was taken before the request came.
// Returns an empty string if none is known.
std::string CreationTable(const corral::v1::Sandbox& sandbox);

}  // namespace bridge

#endif  // BRIDGE_CLI_REPORT_TRACE_REPORT_H_
