#include "server/core/registry.h"

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/error_reason.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/api/errors.h"
#include "server/core/sandbox.h"
#include "server/core/sandbox_fixture.h"

namespace server {
namespace {

namespace wire = sandbox::wire;
using ::testing::ElementsAre;

constexpr uint32_t kMaxSandboxes = 3;
constexpr uint64_t kMaxOutput = 100;
constexpr uint64_t kMaxMemory = 1000;
constexpr uint64_t kMaxPids = 50;

class RegistryTest : public SandboxFixture {
 protected:
  static wire::RequestIdentity Request(const std::string& id,
                                       const std::string& digest = "digest") {
    wire::RequestIdentity request;
    request.set_request_id(id);
    request.set_digest(digest);
    return request;
  }

  std::shared_ptr<Sandbox> MakeSandbox(const std::string& id,
                                       uint64_t output_bytes,
                                       const wire::RequestIdentity& request) {
    wire::SandboxSpec spec;
    spec.set_id(id);
    spec.set_name("tenants/default/sandboxes/" + id);
    spec.set_output_bytes(output_bytes);
    spec.set_memory_bytes(memory_bytes_);
    spec.set_pids(pids_);
    *spec.mutable_request() = request;
    return Sandbox::Create(spec, Environment(), Sandbox::Origin::kNew);
  }

  absl::StatusOr<Registry::Added> Add(const std::string& id,
                                      uint64_t output_bytes,
                                      const wire::RequestIdentity& request) {
    return registry_.Add(id, request, [&](const std::string& chosen) {
      return MakeSandbox(chosen, output_bytes, request);
    });
  }
  // Adds a sandbox with a request of its own.
  absl::StatusOr<Registry::Added> Add(const std::string& id,
                                      uint64_t output_bytes) {
    return Add(id, output_bytes, Request("r-" + id));
  }

  uint64_t memory_bytes_ = 1;
  uint64_t pids_ = 1;
  Registry registry_{kMaxSandboxes, {kMaxOutput, kMaxMemory, kMaxPids}};
};

TEST_F(RegistryTest, FindsWhatItAdded) {
  const absl::StatusOr<Registry::Added> added = Add("box", 1);
  ASSERT_TRUE(added.ok());
  EXPECT_TRUE(added->is_new);
  EXPECT_EQ(registry_.Find("box"), added->sandbox);
  EXPECT_EQ(registry_.Find("other"), nullptr);
  EXPECT_EQ(registry_.size(), 1);
}

TEST_F(RegistryTest, MakesUpAnIdIfNoneIsChosen) {
  const absl::StatusOr<Registry::Added> added = Add("", 1);
  ASSERT_TRUE(added.ok());
  EXPECT_FALSE(added->sandbox->id().empty());
  EXPECT_EQ(registry_.Find(added->sandbox->id()), added->sandbox);
}

TEST_F(RegistryTest, ReturnsWhatTheSameRequestMade) {
  const auto sandbox = Add("box", 1, Request("r"))->sandbox;
  const absl::StatusOr<Registry::Added> again = Add("", 1, Request("r"));
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->is_new);
  EXPECT_EQ(again->sandbox, sandbox);
  EXPECT_EQ(registry_.size(), 1);
}

TEST_F(RegistryTest, RefusesADifferentRequestUnderAUsedId) {
  ASSERT_TRUE(Add("box", 1, Request("r")).ok());
  EXPECT_EQ(ReasonOf(Add("b", 1, Request("r", "other")).status()),
            corral::v1::REQUEST_MISMATCH);
  EXPECT_EQ(ReasonOf(Add("box", 1, Request("s", "other")).status()),
            corral::v1::SANDBOX_EXISTS);
}

TEST_F(RegistryTest, RefusesOneMoreThanAllowed) {
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_TRUE(Add(id, 1).ok());
  }
  EXPECT_EQ(ReasonOf(Add("d", 1).status()), corral::v1::TOO_MANY_SANDBOXES);
  registry_.Remove(*registry_.Find("b"));
  EXPECT_TRUE(Add("d", 1).ok());
}

TEST_F(RegistryTest, AdmitsExactlyTheTotalOutput) {
  ASSERT_TRUE(Add("a", 60).ok());
  EXPECT_EQ(ReasonOf(Add("b", 41).status()), corral::v1::TOO_MUCH_OUTPUT);
  EXPECT_TRUE(Add("b", 40).ok());
  EXPECT_EQ(ReasonOf(Add("c", 1).status()), corral::v1::TOO_MUCH_OUTPUT);
}

TEST_F(RegistryTest, RefusesASandboxWithoutALimitUnderATotalLimit) {
  const absl::Status refused = Add("a", 0).status();
  EXPECT_EQ(ReasonOf(refused), corral::v1::TOO_MUCH_OUTPUT);
  EXPECT_EQ(refused.message(),
            "all sandboxes together may have 100 bytes of output, of which 0 "
            "are given; sandbox.limits.output_bytes is no limit");
}

TEST_F(RegistryTest, GivesOutputBackWhenASandboxIsRemoved) {
  const auto sandbox = Add("a", kMaxOutput)->sandbox;
  registry_.Remove(*sandbox);
  EXPECT_TRUE(Add("b", kMaxOutput).ok());
}

TEST_F(RegistryTest, RefusesMoreWhenEarlierSandboxesExceedTheTotal) {
  EXPECT_TRUE(registry_.AddExisting(
      MakeSandbox("old", 2 * kMaxOutput, Request("old"))));
  EXPECT_EQ(ReasonOf(Add("a", 1).status()), corral::v1::TOO_MUCH_OUTPUT);
}

TEST_F(RegistryTest, RemovesOnlyTheSandboxThatIsMeant) {
  const auto sandbox = Add("box", 1)->sandbox;
  const auto other = MakeSandbox("box", 1, Request("other"));
  EXPECT_FALSE(registry_.AddExisting(other));
  registry_.Remove(*other);
  EXPECT_EQ(registry_.Find("box"), sandbox);
}

TEST_F(RegistryTest, ListsFromAnIdOn) {
  const auto b = Add("b", 1)->sandbox;
  const auto a = Add("a", 1)->sandbox;
  EXPECT_THAT(registry_.List("", 5), ElementsAre(a, b));
  EXPECT_THAT(registry_.List("b", 5), ElementsAre(b));
  EXPECT_THAT(registry_.List("", 1), ElementsAre(a));
}

TEST_F(RegistryTest, GivesNoMoreMemoryAndPidsThanThereAre) {
  memory_bytes_ = 600;
  ASSERT_TRUE(Add("first", 1).ok());
  const absl::Status memory = Add("second", 1).status();
  EXPECT_EQ(ReasonOf(memory), corral::v1::TOO_MUCH_MEMORY);
  EXPECT_EQ(memory.message(),
            "all sandboxes together may have 1000 bytes of memory, of which "
            "600 are given; sandbox.limits.memory_bytes is 600");
  memory_bytes_ = 400;
  pids_ = 50;
  const absl::Status pids = Add("second", 1).status();
  EXPECT_EQ(ReasonOf(pids), corral::v1::TOO_MANY_PIDS);
  EXPECT_EQ(pids.message(),
            "all sandboxes together may have 50 processes, of which 1 are "
            "given; sandbox.limits.pids is 50");
  pids_ = 49;
  EXPECT_TRUE(Add("second", 1).ok());
  registry_.Remove(*registry_.Find("first"));
  memory_bytes_ = 600;
  pids_ = 1;
  EXPECT_TRUE(Add("third", 1).ok());
}

TEST_F(RegistryTest, KeepsTheIdOfASandboxThatCannotBeReadYet) {
  registry_.Reserve("box");
  EXPECT_THAT(registry_.Unreadable(), ElementsAre("box"));
  EXPECT_EQ(registry_.Find("box"), nullptr);
  for (const absl::Status& status :
       {registry_.Get(SandboxName("box")).status(), Add("box", 1).status()}) {
    ExpectUnavailable(status, "its directory cannot be read yet",
                      absl::Milliseconds(500));
  }
  EXPECT_EQ(ReasonOf(registry_.Get(SandboxName("other")).status()),
            corral::v1::SANDBOX_NOT_FOUND);
  ASSERT_TRUE(registry_.AddExisting(MakeSandbox("box", 1, Request("r"))));
  EXPECT_THAT(registry_.Unreadable(), ::testing::IsEmpty());
  EXPECT_TRUE(registry_.Get(SandboxName("box")).ok());
}

TEST_F(RegistryTest, ARepeatedRequestFindsThatItsSandboxCannotBeReadYet) {
  const wire::RequestIdentity request =
      Request("request", "0123456789abcdef0123456789abcdef");
  const std::string id = Add("", 1, request)->sandbox->id();
  registry_.Remove(*registry_.Find(id));
  registry_.Reserve(id);
  EXPECT_TRUE(absl::IsUnavailable(Add("", 1, request).status()));
  EXPECT_TRUE(
      Add("", 1, Request("other", "fedcba9876543210fedcba9876543210")).ok());
}

TEST_F(RegistryTest, AdmitsASandboxWithoutALimitWhereNoTotalIsSet) {
  Registry registry(kMaxSandboxes, {});
  memory_bytes_ = 0;
  pids_ = 0;
  const wire::RequestIdentity request = Request("r");
  EXPECT_TRUE(registry
                  .Add("a", request,
                       [&](const std::string& id) {
                         return MakeSandbox(id, 0, request);
                       })
                  .ok());
}

TEST_F(RegistryTest, CountsSandboxesThatCannotBeReadYetUntilTheyAreFreed) {
  for (const char* id : {"a", "b", "c"}) {
    registry_.Reserve(id);
  }
  EXPECT_EQ(ReasonOf(Add("d", 1).status()), corral::v1::TOO_MANY_SANDBOXES);
  registry_.Free("b");
  EXPECT_THAT(registry_.Unreadable(), ElementsAre("a", "c"));
  EXPECT_TRUE(Add("d", 1).ok());
}

TEST_F(RegistryTest, AnIdThatItMakesUpGivesWayToOneThatAClientChose) {
  const wire::RequestIdentity request =
      Request("request", "0123456789abcdef0123456789abcdef");
  const std::string id = Add("", 1, request)->sandbox->id();
  registry_.Remove(*registry_.Find(id));
  ASSERT_TRUE(Add(id, 1, Request("other", "other digest")).ok());
  const auto added = Add("", 1, request);
  ASSERT_TRUE(added.ok());
  EXPECT_TRUE(added->is_new);
  EXPECT_NE(added->sandbox->id(), id);
}

}  // namespace
}  // namespace server
