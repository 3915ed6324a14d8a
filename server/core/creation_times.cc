#include "server/core/creation_times.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "corral/v1/sandbox.pb.h"
#include "google/protobuf/util/time_util.h"
#include "sandbox/base/instant.h"

namespace server {

using google::protobuf::util::TimeUtil;

int64_t CreationTimes::Lap() {
  const int64_t now = sandbox::MonotonicNanoseconds();
  return std::max<int64_t>(now - std::exchange(last_ns_, now), 1);
}

void CreationTimes::AddTo(corral::v1::Sandbox* sandbox) const {
  if (admission_ns_ != 0) {
    *sandbox->mutable_trace()->mutable_admission() =
        TimeUtil::NanosecondsToDuration(admission_ns_);
  }
  if (record_ns_ != 0) {
    *sandbox->mutable_trace()->mutable_record() =
        TimeUtil::NanosecondsToDuration(record_ns_);
  }
  if (supervisor_ns_ != 0) {
    *sandbox->mutable_trace()->mutable_supervisor() =
        TimeUtil::NanosecondsToDuration(supervisor_ns_);
  }
}

}  // namespace server
