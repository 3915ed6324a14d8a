#include "server/core/creation_times.h"

#include <algorithm>
#include <cstdint>

#include "corral/v1/sandbox.pb.h"
#include "google/protobuf/util/time_util.h"
#include "sandbox/base/instant.h"

namespace server {

using google::protobuf::util::TimeUtil;

int64_t CreationTimes::EndStep() {
  const int64_t took =
      std::max<int64_t>(sandbox::MonotonicNanoseconds() - begin_ns_, 1);
  begin_ns_ += took;
  return took;
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
