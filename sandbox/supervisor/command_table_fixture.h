// A table of commands as command_fixture.h has them, and of which a test
// decides when the files of ended ones are read.

#ifndef SANDBOX_SUPERVISOR_COMMAND_TABLE_FIXTURE_H_
#define SANDBOX_SUPERVISOR_COMMAND_TABLE_FIXTURE_H_

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "sandbox/supervisor/background.h"
#include "sandbox/supervisor/command_fixture.h"
#include "sandbox/supervisor/command_table.h"
#include "sandbox/supervisor/ended_command.h"
#include "sandbox/supervisor/fake_command_group.h"
#include "sandbox/supervisor/held_background.h"

namespace sandbox {

class CommandTableTest : public CommandFixture {
 protected:
  CommandTableTest() {
    spares_.SetGroups([this](const std::string&) {
      ++groups_;
      return std::make_unique<FakeCommandGroup>(&group_);
    });
    host_.on_state = [this](const wire::ExecutionRecord& record) {
      states_.push_back(record);
      if (record.state() != wire::ExecutionRecord::RUNNING) {
        table_.OnEnd(record.id());
      }
    };
  }
  CommandTable::Done Answer() {
    return [this](const absl::Status& status) { answers_.push_back(status); };
  }
  // Starts the execution e1, which then runs.
  void StartOne() {
    table_.Start(start_, Answer());
    played_.Receive();
    played_.Succeed();
    RunLoop();
    ASSERT_EQ(answers_, std::vector{absl::OkStatus()});
    answers_.clear();
  }
  // The same, and it ends. The loop has time for what is put off.
  void RunOne() {
    StartOne();
    Exit(0);
    timers_.Advance(absl::Milliseconds(1));
  }
  bool Exists() { return table_.Find("e1").ok(); }
  // True if only an EndedCommand is kept.
  bool IsShrunk() {
    return std::holds_alternative<EndedCommand*>(*table_.Find("e1"));
  }
  // The reports that came last. No value: none has come yet.
  std::optional<wire::Snapshot> snapshot_;
  void AskForReports() {
    snapshot_.reset();
    table_.Report(
        [this](wire::Snapshot snapshot) { snapshot_ = std::move(snapshot); });
  }
  const wire::Snapshot& Reports() {
    AskForReports();
    return *snapshot_;
  }

  std::vector<absl::Status> answers_;
  // The groups that were made.
  int groups_ = 0;
  std::deque<Background::Function> background_;
  CommandTable table_{&host_, [this] {
                        return std::make_unique<HeldBackground>(&background_);
                      }};
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_COMMAND_TABLE_FIXTURE_H_
