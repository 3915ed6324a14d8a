#include "sandbox/supervisor/sandbox_shape.h"

#include <algorithm>

namespace sandbox {

wire::SandboxSpec ShapeOf(wire::SandboxSpec spec) {
  spec.clear_directory();
  spec.clear_id();
  spec.clear_name();
  spec.clear_create_time_ns();
  spec.clear_boot_id();
  // The supervisor uses none of the others.
  spec.clear_ephemeral();
  spec.clear_request();
  spec.clear_max_age_ns();
  spec.clear_idle_timeout_ns();
  spec.clear_max_ended_executions();
  spec.clear_max_ended_age_ns();
  spec.clear_lease_timeout_ns();
  return spec;
}

wire::SandboxSpec ProfileOnly(const wire::SandboxSpec& spec) {
  wire::SandboxSpec profile;
  profile.set_profile(spec.profile());
  return profile;
}

bool CanBeCompletedAhead(const wire::SandboxSpec& spec) {
  return !spec.has_egress() && spec.disk_bytes() == 0 &&
         spec.disk_inodes() == 0 && spec.read_only_paths().empty() &&
         std::all_of(
             spec.further_workspaces().begin(), spec.further_workspaces().end(),
             [](const auto& each) { return each.read_only_paths().empty(); });
}

}  // namespace sandbox
