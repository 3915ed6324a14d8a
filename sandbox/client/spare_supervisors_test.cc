#include "sandbox/client/spare_supervisors.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "gtest/gtest.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/client/supervisor_process.h"

namespace sandbox {
namespace {

using Shape = SpareSupervisors::Shape;

constexpr auto kPeriod = SpareSupervisors::kPeriod;
constexpr char kDefault[] = "";
constexpr char kNested[] = "nested";
constexpr char kStrict[] = "strict";

class SpareSupervisorsTest : public ::testing::Test {
 protected:
  void Add(const Shape& shape) {
    auto pair = *PacketSocket::Pair();
    made_.push_back(pair.first.fd());
    others_.push_back(std::move(pair.second));
    spares_.Add(shape, {std::move(pair.first), nullptr}, now_);
  }
  // Makes all that lack. Returns how many did.
  size_t Fill() {
    size_t made = 0;
    while (const auto shape = spares_.Lacking()) {
      Add(*shape);
      ++made;
    }
    return made;
  }
  bool Take(const Shape& shape) {
    return spares_.Take(shape, now_).socket.valid();
  }
  size_t Trim() { return spares_.Trim(now_).size(); }

  SpareSupervisors::Clock::time_point now_{};
  SpareSupervisors spares_{2};
  // The descriptors of the spares' sockets, and the other ends.
  std::vector<int> made_;
  std::vector<PacketSocket> others_;
};

TEST_F(SpareSupervisorsTest, OneOfTheDefaultShapeIsAlwaysWanted) {
  EXPECT_EQ(spares_.Lacking(), kDefault);
  EXPECT_EQ(Fill(), 1u);
  now_ += 10 * kPeriod;
  EXPECT_EQ(Trim(), 0u);
  EXPECT_TRUE(Take(kDefault));
  EXPECT_EQ(Fill(), 1u);
  EXPECT_EQ(spares_.trim_at(), SpareSupervisors::Clock::time_point::max())
      << "a server wakes up for nothing while one is enough";
}

TEST_F(SpareSupervisorsTest, ARequestThatFindsNoneDoublesThem) {
  Fill();
  EXPECT_TRUE(Take(kDefault));
  EXPECT_FALSE(Take(kDefault));
  EXPECT_EQ(Fill(), 2u);
  EXPECT_TRUE(Take(kDefault));
  EXPECT_TRUE(Take(kDefault));
  EXPECT_FALSE(Take(kDefault));
  EXPECT_EQ(Fill(), 4u);
}

TEST_F(SpareSupervisorsTest, ThereAreNeverMoreThanTheMostOfAllShapes) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(Take(kNested));
    EXPECT_FALSE(Take(kStrict));
  }
  EXPECT_EQ(Fill(), SpareSupervisors::kMost);
}

TEST_F(SpareSupervisorsTest, ASpareServesOnlyItsOwnShape) {
  Fill();
  EXPECT_FALSE(Take(kNested));
  EXPECT_FALSE(Take(kNested));
  EXPECT_EQ(spares_.Lacking(), kNested);
  EXPECT_EQ(Fill(), 1u);
  EXPECT_FALSE(Take(kStrict));
  EXPECT_TRUE(Take(kNested));
  EXPECT_TRUE(Take(kDefault));
}

TEST_F(SpareSupervisorsTest, WhatNobodyNeededInAPeriodEnds) {
  Take(kDefault);
  Take(kDefault);
  EXPECT_EQ(Fill(), 4u);
  EXPECT_EQ(spares_.trim_at(), now_ + kPeriod);
  now_ += kPeriod;
  EXPECT_EQ(Trim(), 0u) << "all of them were needed at its beginning";
  EXPECT_TRUE(Take(kDefault));
  Fill();
  now_ += kPeriod;
  EXPECT_EQ(Trim(), 3u);
  EXPECT_EQ(Fill(), 0u);
  EXPECT_TRUE(Take(kDefault));
}

TEST_F(SpareSupervisorsTest, AnotherShapeThatNobodyAsksForHasNoneInTheEnd) {
  Fill();
  Take(kNested);
  Take(kNested);
  EXPECT_EQ(Fill(), 1u);
  now_ += kPeriod;
  EXPECT_EQ(Trim(), 0u);
  now_ += kPeriod - std::chrono::nanoseconds(1);
  EXPECT_EQ(Trim(), 0u);
  now_ += std::chrono::nanoseconds(1);
  EXPECT_EQ(Trim(), 1u);
  EXPECT_EQ(Fill(), 0u);
  EXPECT_EQ(spares_.trim_at(), SpareSupervisors::Clock::time_point::max());
}

TEST_F(SpareSupervisorsTest, AShapeThatIsAskedForOnceInAPeriodHasNone) {
  Fill();
  EXPECT_FALSE(Take(kNested));
  EXPECT_EQ(Fill(), 0u);
  EXPECT_EQ(spares_.trim_at(), now_ + kPeriod);
  now_ += kPeriod;
  EXPECT_EQ(Trim(), 0u);
  EXPECT_EQ(spares_.trim_at(), SpareSupervisors::Clock::time_point::max());
  EXPECT_FALSE(Take(kNested));
  EXPECT_EQ(Fill(), 0u);
  EXPECT_FALSE(Take(kNested));
  EXPECT_EQ(Fill(), 1u);
}

TEST_F(SpareSupervisorsTest, AShapeThatRestsMakesRoomForAnother) {
  for (int i = 0; i < 10; ++i) {
    Take(kNested);
  }
  EXPECT_EQ(Fill(), SpareSupervisors::kMost);
  now_ += SpareSupervisors::kRest - std::chrono::nanoseconds(1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(Take(kStrict));
  }
  EXPECT_EQ(Fill(), 0u) << "the other shape does not rest yet";
  now_ += std::chrono::nanoseconds(1);
  EXPECT_FALSE(Take(kStrict));
  EXPECT_EQ(spares_.trim_at(), SpareSupervisors::Clock::time_point::min());
  EXPECT_EQ(Trim(), SpareSupervisors::kMost - 1) << "all but the default one";
  EXPECT_EQ(Fill(), 1u);
  EXPECT_TRUE(Take(kStrict));
  EXPECT_TRUE(Take(kDefault));
  EXPECT_FALSE(Take(kNested));
}

TEST_F(SpareSupervisorsTest, AForgottenShapeMustBeAskedForTwiceAgain) {
  Fill();
  Take(kNested);
  Take(kNested);
  EXPECT_EQ(Fill(), 1u);
  EXPECT_EQ(spares_.Forget(kNested).size(), 1u);
  EXPECT_EQ(Fill(), 0u);
  EXPECT_FALSE(Take(kNested));
  EXPECT_EQ(Fill(), 0u);
  EXPECT_EQ(spares_.Forget(kDefault).size(), 0u) << "it is always wanted";
  EXPECT_TRUE(Take(kDefault));
}

TEST_F(SpareSupervisorsTest, ASpareThatNobodyWantsAnyMoreEnds) {
  Fill();
  Take(kNested);
  Take(kNested);
  ASSERT_EQ(spares_.Lacking(), kNested);
  EXPECT_TRUE(spares_.Forget(kNested).empty());
  Add(kNested);
  EXPECT_EQ(Trim(), 1u);
  EXPECT_FALSE(Take(kNested));
}

TEST_F(SpareSupervisorsTest, TheOldestOneIsTakenFirst) {
  Take(kDefault);
  ASSERT_EQ(Fill(), 2u);
  EXPECT_EQ(spares_.Take(kDefault, now_).socket.fd(), made_[0]);
  EXPECT_EQ(spares_.Take(kDefault, now_).socket.fd(), made_[1]);
}

TEST_F(SpareSupervisorsTest, NoMoreAreMadeAtOnceThanAllowed) {
  for (int i = 0; i < 3; ++i) {
    Take(kDefault);
  }
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(spares_.ShapeToMake(now_), kDefault);
    Add(kDefault);
  }
  EXPECT_EQ(spares_.ShapeToMake(now_), std::nullopt);
  EXPECT_EQ(spares_.Lacking(), kDefault);
}

TEST_F(SpareSupervisorsTest, ASpareIsBeingMadeUntilItAnswersOrEnds) {
  for (int i = 0; i < 4; ++i) {
    Take(kDefault);
  }
  Add(kDefault);
  Add(kDefault);
  EXPECT_EQ(spares_.ShapeToMake(now_), std::nullopt);
  ::corral::supervisor::v1::FromSupervisor answer;
  answer.mutable_reply()->set_request_id(1);
  ASSERT_TRUE(others_[0].Send(answer).ok());
  EXPECT_EQ(spares_.ShapeToMake(now_), kDefault);
  Add(kDefault);
  EXPECT_EQ(spares_.ShapeToMake(now_), std::nullopt) << "an answer counts once";
  others_[1] = PacketSocket();
  EXPECT_EQ(spares_.ShapeToMake(now_), kDefault);
}

TEST_F(SpareSupervisorsTest, ASpareThatHangsHindersOthersForAWhileOnly) {
  for (int i = 0; i < 3; ++i) {
    Take(kDefault);
  }
  Add(kDefault);
  Add(kDefault);
  now_ += SpareSupervisors::kMakingPatience - std::chrono::nanoseconds(1);
  EXPECT_EQ(spares_.ShapeToMake(now_), std::nullopt);
  now_ += std::chrono::nanoseconds(1);
  EXPECT_EQ(spares_.ShapeToMake(now_), kDefault);
}

TEST_F(SpareSupervisorsTest, ShapesAreNotRememberedBeyondALimit) {
  for (size_t i = 1; i < SpareSupervisors::kMostShapes; ++i) {
    EXPECT_FALSE(Take(std::to_string(i)));
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(Take(kNested));
  }
  EXPECT_EQ(Fill(), 1u) << "only the default one";
  now_ += kPeriod;
  Trim();
  EXPECT_FALSE(Take(kNested));
  EXPECT_FALSE(Take(kNested));
  EXPECT_EQ(spares_.Lacking(), kNested);
}

TEST_F(SpareSupervisorsTest, WantsNoneOnceItIsCleared) {
  Fill();
  EXPECT_EQ(spares_.Clear().size(), 1u);
  EXPECT_FALSE(spares_.Lacking().has_value());
}

}  // namespace
}  // namespace sandbox
