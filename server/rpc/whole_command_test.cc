#include "server/rpc/whole_command.h"

#include <filesystem>
#include <fstream>
#include <ios>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/v1/error_reason.pb.h"
#include "corral/v1/execution.pb.h"
#include "gtest/gtest.h"
#include "sandbox/storage/record_file.h"
#include "server/api/errors.h"
#include "server/core/execution.h"
#include "server/core/execution_fixture.h"

namespace server {
namespace {

class WholeCommandTest : public ExecutionFixture {
 protected:
  absl::Status Read(corral::v1::Execution::State state) {
    description_.set_state(state);
    return ReadWholeCommand(*execution_, &description_);
  }

  const std::shared_ptr<Execution> execution_ = Start();
  corral::v1::Execution description_;
};

TEST_F(WholeCommandTest, IsWhatTheClientSent) {
  corral::v1::Command command;
  command.add_environment()->set_name("NAME");
  Record start;
  start.mutable_command()->set_original(command.SerializeAsString());
  ASSERT_TRUE(File().WriteStart(sandbox::SealRecord(start)).ok());
  EXPECT_TRUE(Read(corral::v1::Execution::RUNNING).ok());
  EXPECT_EQ(description_.command().environment(0).name(), "NAME");
}

TEST_F(WholeCommandTest, IsNotFoundForADeletedExecution) {
  EXPECT_EQ(ReasonOf(Read(corral::v1::Execution::RUNNING)),
            corral::v1::EXECUTION_NOT_FOUND);
}

TEST_F(WholeCommandTest, IsNotWrittenYetDuringTheStart) {
  description_.mutable_command()->add_argv("true");
  EXPECT_TRUE(Read(corral::v1::Execution::STARTING).ok());
  EXPECT_EQ(description_.command().argv(0), "true");
}

TEST_F(WholeCommandTest, IsAFaultOfTheServerIfTheDiskDoesNotGiveIt) {
  // The directory of an earlier supervisor, with a record that is none.
  std::filesystem::create_directories(absl::StrCat(file_path_, "/start.pb"));
  EXPECT_EQ(ReasonOf(Read(corral::v1::Execution::STARTING)),
            corral::v1::SERVER_FAULT);
}

}  // namespace
}  // namespace server
