#include "bridge/acp/relay_phase.h"

#include "gtest/gtest.h"

namespace bridge {
namespace {

using Phase = RelayPhase;
using Event = RelayEvent;

TEST(RelayPhaseTest, MakesTheseTransitionsAndNoOthers) {
  struct Row {
    Phase phase;
    Phase after_client_ended;
    Phase after_agent_ended;  // while its output is open
    Phase after_agent_silent;
  };
  const Row rows[] = {
      {Phase::kRunning, Phase::kClosing, Phase::kDraining, Phase::kRunning},
      {Phase::kClosing, Phase::kClosing, Phase::kDraining, Phase::kClosing},
      {Phase::kDraining, Phase::kDraining, Phase::kDraining, Phase::kFlushing},
      {Phase::kFlushing, Phase::kFlushing, Phase::kFlushing, Phase::kFlushing},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(static_cast<int>(row.phase));
    const auto next = [&row](Event event) {
      return NextPhase(row.phase, event, AgentOutput::kOpen);
    };
    EXPECT_EQ(next(Event::kClientEnded), row.after_client_ended);
    EXPECT_EQ(next(Event::kAgentEnded), row.after_agent_ended);
    EXPECT_EQ(next(Event::kAgentSilent), row.after_agent_silent);
  }
}

TEST(RelayPhaseTest, SkipsDrainingWhenTheOutputHasEndedBeforeTheAgent) {
  for (const Phase phase : {Phase::kRunning, Phase::kClosing}) {
    EXPECT_EQ(NextPhase(phase, Event::kAgentEnded, AgentOutput::kEnded),
              Phase::kFlushing);
  }
}

TEST(RelayPhaseTest, WaitsForTheServerOnlyWhileFlushing) {
  EXPECT_EQ(
      NextPhase(Phase::kFlushing, Event::kServerSilent, AgentOutput::kEnded),
      Phase::kLeaving);
  for (const Phase phase :
       {Phase::kRunning, Phase::kClosing, Phase::kDraining, Phase::kLeaving}) {
    EXPECT_EQ(NextPhase(phase, Event::kServerSilent, AgentOutput::kOpen),
              phase);
  }
}

TEST(RelayReadingTest, StopsReadingTheClientWhileTheAgentDoesNotRead) {
  EXPECT_TRUE(ReadsClient(ClientSide::kOpen, 0));
  EXPECT_TRUE(ReadsClient(ClientSide::kOpen, kMaxQueueBytes - 1));
  EXPECT_FALSE(ReadsClient(ClientSide::kOpen, kMaxQueueBytes));
  EXPECT_FALSE(ReadsClient(ClientSide::kEnded, 0));
  EXPECT_FALSE(ReadsClient(ClientSide::kAbandoned, 0));
}

TEST(RelayReadingTest, StopsReadingTheAgentWhileEitherSideDoesNotRead) {
  for (const Phase phase : {Phase::kRunning, Phase::kClosing}) {
    EXPECT_TRUE(ReadsAgent(phase, kMaxQueueBytes - 1, kMaxQueueBytes - 1));
    EXPECT_FALSE(ReadsAgent(phase, kMaxQueueBytes, 0));
    EXPECT_FALSE(ReadsAgent(phase, 0, kMaxQueueBytes));
  }
}

TEST(RelayReadingTest, ReadsTheRestOfAnAgentThatHasEnded) {
  EXPECT_TRUE(ReadsAgent(Phase::kDraining, kMaxQueueBytes, kMaxQueueBytes));
}

}  // namespace
}  // namespace bridge
