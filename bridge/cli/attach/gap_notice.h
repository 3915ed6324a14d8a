// Reports missing output in lines for people: at most once a second, all gaps
// together, because a slow reader may be overtaken again and again.

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
  // The gaps of one stream must be added in order.
  void Add(const corral::v1::Gap& gap);

  // A line for each stream with gaps that were not reported yet. Empty: there
  // are none, or the last report is less than a second old.
  std::string Take(absl::Time now);

  // A line for each stream with gaps that were not reported yet, at once.
  std::string TakeAll();

 private:
  struct Missing {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t bytes = 0;  // less than end - begin if output came in between
    uint64_t gaps = 0;
  };

  static std::string Line(corral::v1::Stream stream, const Missing& missing);

  std::map<corral::v1::Stream, Missing> missing_;
  absl::Time last_ = absl::InfinitePast();
};

}  // namespace bridge

#endif  // BRIDGE_CLI_ATTACH_GAP_NOTICE_H_
