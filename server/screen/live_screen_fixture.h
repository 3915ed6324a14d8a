// For tests: the screen of one execution with a real log.

#ifndef SERVER_SCREEN_LIVE_SCREEN_FIXTURE_H_
#define SERVER_SCREEN_LIVE_SCREEN_FIXTURE_H_

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "corral/v1/execution.pb.h"
#include "corral/v1/screen_service.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/output_log.h"
#include "server/core/execution.h"
#include "server/core/execution_fixture.h"
#include "server/screen/emulator_process.h"
#include "server/screen/live_screen.h"
#include "tests/status_matchers.h"

namespace server {

class LiveScreenFixture : public ExecutionFixture {
 protected:
  LiveScreenFixture()
      : execution_(Start(InTerminal(4, 20))),
        log_(&Log(sandbox::wire::TERMINAL)) {
    execution_->Update(MakeRecord(Record::RUNNING, 0));
  }

  static corral::v1::Command InTerminal(uint32_t rows, uint32_t columns) {
    corral::v1::Command command;
    command.mutable_terminal()->set_rows(rows);
    command.mutable_terminal()->set_columns(columns);
    return command;
  }

  corral::v1::GetScreenResponse Get() {
    corral::v1::GetScreenRequest request;
    request.set_scrollback_lines(1000);
    request.set_answers_from(0);
    corral::v1::GetScreenResponse response;
    EXPECT_THAT(screen_.Get(*execution_, request, &response), tests::IsOk());
    return response;
  }
  std::string FirstLine() { return Get().screen().lines(0).text(); }
  void KillEmulator() {
    const pid_t pid = screen_.emulator_pid();
    ASSERT_GT(pid, 0);
    ::kill(pid, SIGKILL);
  }

  const sandbox::UniqueFd image_ = MakeEmulatorImage().value();
  const std::shared_ptr<Execution> execution_;
  sandbox::OutputLogWriter* const log_;
  LiveScreen screen_{&image_};
};

}  // namespace server

#endif  // SERVER_SCREEN_LIVE_SCREEN_FIXTURE_H_
