#include "sandbox/supervisor/construction_times.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace sandbox {
namespace {

using Setter = void (wire::SandboxTrace::*)(int64_t);

// By Step.
constexpr Setter kSetters[] = {
    &wire::SandboxTrace::set_groups_ns,
    &wire::SandboxTrace::set_namespaces_ns,
    &wire::SandboxTrace::set_join_ns,
    &wire::SandboxTrace::set_mounts_ns,
    &wire::SandboxTrace::set_init_ns,
    &wire::SandboxTrace::set_spawner_ns,
    &wire::SandboxTrace::set_filter_ns,
    &wire::SandboxTrace::set_ready_ns,
    nullptr,
    &wire::SandboxTrace::set_limits_ns,
    &wire::SandboxTrace::set_workspaces_ns,
    &wire::SandboxTrace::set_protection_ns,
    &wire::SandboxTrace::set_way_out_ns,
};

}  // namespace

ConstructionTimes ConstructionTimes::Start(Clock clock) {
  ConstructionTimes times;
  times.clock_ = clock;
  void* const memory =
      ::mmap(nullptr, kSteps * sizeof(int64_t), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) {
    times.ends_.reset(static_cast<int64_t*>(memory));
  }
  return times;
}

void ConstructionTimes::Unmap::operator()(int64_t* ends) const {
  ::munmap(ends, kSteps * sizeof(int64_t));
}

void ConstructionTimes::Note(Step step) const {
  if (ends_ != nullptr) {
    ends_[static_cast<size_t>(step)] = clock_();
  }
}

wire::SandboxTrace ConstructionTimes::ToWire() const {
  static_assert(std::size(kSetters) == kSteps, "one for each step");
  wire::SandboxTrace trace;
  if (ends_ == nullptr) {
    return trace;
  }
  // In the order of time: a step that was taken again comes late.
  std::vector<std::pair<int64_t, Setter>> ends;
  for (size_t i = 0; i < kSteps; ++i) {
    if (ends_[i] != 0) {
      ends.emplace_back(ends_[i], kSetters[i]);
    }
  }
  std::stable_sort(ends.begin(), ends.end(), [](const auto& a, const auto& b) {
    return a.first < b.first;
  });
  trace.set_prepare_unix_ns(begin_.unix_ns);
  int64_t last = begin_.monotonic_ns;
  for (const auto& [end, set] : ends) {
    if (set != nullptr) {
      // 0 stands for a step that was not taken.
      (trace.*set)(std::max<int64_t>(end - last, 1));
    }
    last = end;
  }
  const int64_t complete = ends_[static_cast<size_t>(Step::kWorkspaces)];
  trace.set_completed_ahead(
      complete != 0 && complete < ends_[static_cast<size_t>(Step::kClaim)]);
  return trace;
}

}  // namespace sandbox
