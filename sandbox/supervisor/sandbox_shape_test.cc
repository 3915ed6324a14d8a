#include "sandbox/supervisor/sandbox_shape.h"

#include <string>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "gtest/gtest.h"

namespace sandbox {
namespace {

wire::SandboxSpec Described(const char* id) {
  wire::SandboxSpec spec;
  spec.set_directory(std::string("/state/sandboxes/") + id);
  spec.set_id(id);
  spec.set_name(std::string("sandboxes/") + id);
  spec.set_workspace("/work");
  spec.set_memory_bytes(1 << 20);
  spec.set_create_time_ns(id[0]);
  spec.set_ephemeral(id[0] == 'a');
  spec.mutable_request()->set_request_id(id);
  spec.mutable_request()->set_digest(id);
  spec.set_max_age_ns(id[0]);
  spec.set_idle_timeout_ns(id[0]);
  spec.set_lease_timeout_ns(id[0]);
  spec.set_max_ended_executions(1);
  spec.set_max_ended_age_ns(id[0]);
  spec.set_boot_id(id);
  return spec;
}

std::string Shape(const wire::SandboxSpec& spec) {
  return ShapeOf(spec).SerializeAsString();
}

TEST(SandboxShapeTest, IsTheSameForAllWhoAsk) {
  EXPECT_EQ(Shape(Described("a1")), Shape(Described("b2")));
}

TEST(SandboxShapeTest, DiffersWithWhatASandboxIs) {
  const std::string shape = Shape(Described("a1"));
  wire::SandboxSpec other = Described("a1");
  other.set_workspace("/other");
  EXPECT_NE(Shape(other), shape);
  other = Described("a1");
  other.set_memory_bytes(1);
  EXPECT_NE(Shape(other), shape);
  other = Described("a1");
  other.set_profile(wire::SandboxSpec::STRICT);
  EXPECT_NE(Shape(other), shape);
  other = Described("a1");
  other.add_mounts()->set_source("/home/them");
  EXPECT_NE(Shape(other), shape);
}

TEST(SandboxShapeTest, OfWhatChangesTheHostCannotBeCompletedAhead) {
  EXPECT_TRUE(CanBeCompletedAhead(Described("a1")));
  wire::SandboxSpec spec = Described("a1");
  spec.mutable_egress();
  EXPECT_FALSE(CanBeCompletedAhead(spec));
  spec = Described("a1");
  spec.set_disk_bytes(1);
  EXPECT_FALSE(CanBeCompletedAhead(spec));
  spec = Described("a1");
  spec.set_disk_inodes(1);
  EXPECT_FALSE(CanBeCompletedAhead(spec));
  spec = Described("a1");
  spec.add_read_only_paths(".git");
  EXPECT_FALSE(CanBeCompletedAhead(spec));
  spec = Described("a1");
  spec.add_further_workspaces()->set_path("/second");
  EXPECT_TRUE(CanBeCompletedAhead(spec));
  spec.mutable_further_workspaces(0)->add_read_only_paths(".git");
  EXPECT_FALSE(CanBeCompletedAhead(spec));
}

}  // namespace
}  // namespace sandbox
