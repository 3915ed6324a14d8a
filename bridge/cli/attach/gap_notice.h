// What of a command's output is missing, in lines for people. A reader that is
// overtaken again and again is told once a second, of all gaps together.

#ifndef BRIDGE_CLI_ATTACH_GAP_NOTICE_H_
#define BRIDGE_CLI_ATTACH_GAP_NOTICE_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"

namespace bridge {

// Not thread-safe.
class GapNotice {
 public:
  // Gaps of one stream come in order.
  void Add(const corral::v1::Gap& gap);

  // A line for each stream with gaps that were not told; empty: there is none,
  // or the last lines are not a second old.
  std::string Take(absl::Time now);

  // Of all that was not told.
  std::string TakeAll();

 private:
  struct Missing {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t bytes = 0;  // fewer than from begin to end: some between came
    uint64_t gaps = 0;
  };

  static std::string Line(corral::v1::Stream stream, const Missing& missing);

  std::map<corral::v1::Stream, Missing> missing_;
  absl::Time last_ = absl::InfinitePast();
};

}  // namespace bridge

#endif  // BRIDGE_CLI_ATTACH_GAP_NOTICE_H_
