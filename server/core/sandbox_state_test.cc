#include "server/core/sandbox_state.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gtest/gtest.h"

namespace server {
namespace {

using Action = SandboxState::Action;
using Event = SandboxState::Event;
using State = SandboxState::State;
using corral::supervisor::v1::ExitRecord;

constexpr State kAllStates[] = {State::kCreating, State::kRecovering,
                                State::kReady,    State::kRecordingDeletion,
                                State::kEnding,   State::kFailed,
                                State::kEmptied,  State::kRemoved};
constexpr Event kAllEvents[] = {Event::kMade,
                                Event::kNotMade,
                                Event::kAbandoned,
                                Event::kDeletionRequested,
                                Event::kDeletionRecorded,
                                Event::kGone,
                                Event::kFilesRemoved};

// The shortest way to each state; none of a state that a sandbox begins with.
SandboxState In(State state) {
  SandboxState machine(state == State::kRecovering ? State::kRecovering
                                                   : State::kCreating);
  const std::map<State, std::vector<Event>> ways = {
      {State::kCreating, {}},
      {State::kRecovering, {}},
      {State::kReady, {Event::kMade}},
      {State::kRecordingDeletion, {Event::kMade, Event::kDeletionRequested}},
      {State::kEnding, {Event::kNotMade}},
      {State::kFailed, {Event::kMade, Event::kGone}},
      {State::kEmptied, {Event::kNotMade, Event::kGone}},
      {State::kRemoved, {Event::kAbandoned}},
  };
  for (const Event event : ways.at(state)) {
    machine.Handle(event, ExitRecord::SANDBOX_DELETED);
  }
  EXPECT_EQ(machine.state(), state);
  return machine;
}

struct Transition {
  State next;
  Action action;
};

// All that change something. Any other event changes nothing.
const std::map<std::pair<State, Event>, Transition>& Transitions() {
  static const auto& transitions = *new std::map<std::pair<State, Event>,
                                                 Transition>{
      {{State::kCreating, Event::kMade}, {State::kReady, Action::kAnswerReady}},
      {{State::kCreating, Event::kNotMade}, {State::kEnding, Action::kNothing}},
      {{State::kCreating, Event::kAbandoned},
       {State::kRemoved, Action::kAnswerRemoved}},
      {{State::kCreating, Event::kGone},
       {State::kFailed, Action::kReportLosses}},
      {{State::kRecovering, Event::kMade},
       {State::kReady, Action::kAnswerReady}},
      {{State::kRecovering, Event::kDeletionRequested},
       {State::kRecordingDeletion, Action::kRecordDeletion}},
      {{State::kRecovering, Event::kGone},
       {State::kFailed, Action::kReportLosses}},
      {{State::kReady, Event::kDeletionRequested},
       {State::kRecordingDeletion, Action::kRecordDeletion}},
      {{State::kReady, Event::kGone}, {State::kFailed, Action::kReportLosses}},
      {{State::kRecordingDeletion, Event::kDeletionRecorded},
       {State::kEnding, Action::kKill}},
      {{State::kRecordingDeletion, Event::kGone},
       {State::kEmptied, Action::kRemoveFiles}},
      {{State::kEnding, Event::kGone}, {State::kEmptied, Action::kRemoveFiles}},
      {{State::kFailed, Event::kDeletionRequested},
       {State::kEmptied, Action::kRecordAndRemoveFiles}},
      {{State::kEmptied, Event::kFilesRemoved},
       {State::kRemoved, Action::kAnswerRemoved}},
  };
  return transitions;
}

TEST(SandboxState, MakesEachTransitionAndNoOther) {
  for (const State state : kAllStates) {
    for (const Event event : kAllEvents) {
      SandboxState machine = In(state);
      const Action action = machine.Handle(event, ExitRecord::SANDBOX_DELETED);
      const auto expected = Transitions().find({state, event});
      const Transition want = expected == Transitions().end()
                                  ? Transition{state, Action::kNothing}
                                  : expected->second;
      EXPECT_EQ(machine.state(), want.next)
          << static_cast<int>(state) << " " << static_cast<int>(event);
      EXPECT_EQ(action, want.action)
          << static_cast<int>(state) << " " << static_cast<int>(event);
    }
  }
}

TEST(SandboxState, DeletesWhenMadeIfThatWasRequestedDuringTheCreation) {
  SandboxState machine(State::kCreating);
  EXPECT_EQ(
      machine.Handle(Event::kDeletionRequested, ExitRecord::SERVER_SHUTDOWN),
      Action::kNothing);
  EXPECT_EQ(machine.state(), State::kCreating);
  EXPECT_EQ(machine.Handle(Event::kMade), Action::kRecordDeletion);
  EXPECT_EQ(machine.state(), State::kRecordingDeletion);
  EXPECT_EQ(machine.deletion_cause(), ExitRecord::SERVER_SHUTDOWN);
}

TEST(SandboxState, RemovesFilesIfItGoesBeforeAWantedDeletionCouldBegin) {
  SandboxState machine(State::kCreating);
  machine.Handle(Event::kDeletionRequested, ExitRecord::SANDBOX_DELETED);
  EXPECT_EQ(machine.Handle(Event::kGone), Action::kRemoveFiles);
  EXPECT_EQ(machine.state(), State::kEmptied);
}

TEST(SandboxState, KeepsTheCauseOfTheFirstDeletion) {
  SandboxState machine(State::kCreating);
  EXPECT_EQ(machine.deletion_cause(), std::nullopt);
  machine.Handle(Event::kMade);
  machine.Handle(Event::kDeletionRequested, ExitRecord::SANDBOX_EXPIRED);
  machine.Handle(Event::kDeletionRequested, ExitRecord::SANDBOX_DELETED);
  EXPECT_EQ(machine.deletion_cause(), ExitRecord::SANDBOX_EXPIRED);
}

TEST(SandboxState, KnowsInWhichStatesNoProcessIsLeft) {
  for (const State state : kAllStates) {
    EXPECT_EQ(In(state).gone(), state == State::kFailed ||
                                    state == State::kEmptied ||
                                    state == State::kRemoved)
        << static_cast<int>(state);
    EXPECT_EQ(In(state).pending(),
              state == State::kCreating || state == State::kRecovering)
        << static_cast<int>(state);
  }
}

TEST(SandboxState, ShowsClientsFourStates) {
  using corral::v1::Sandbox;
  EXPECT_EQ(In(State::kCreating).ToApi(), Sandbox::CREATING);
  EXPECT_EQ(In(State::kRecovering).ToApi(), Sandbox::CREATING);
  EXPECT_EQ(In(State::kReady).ToApi(), Sandbox::READY);
  EXPECT_EQ(In(State::kRecordingDeletion).ToApi(), Sandbox::DELETING);
  EXPECT_EQ(In(State::kEnding).ToApi(), Sandbox::DELETING);
  EXPECT_EQ(In(State::kEmptied).ToApi(), Sandbox::DELETING);
  EXPECT_EQ(In(State::kRemoved).ToApi(), Sandbox::DELETING);
  EXPECT_EQ(In(State::kFailed).ToApi(), Sandbox::FAILED);
}

}  // namespace
}  // namespace server
