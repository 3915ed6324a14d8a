// When the disk of one sandbox hangs, only calls that need that disk wait. A
// FIFO in the place of a file plays the disk that hangs: open(2) waits for a
// writer.

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "grpcpp/support/status.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/rpc/output_stream.h"
#include "server/rpc/server_fixture.h"

namespace server {
namespace {

namespace wire = sandbox::wire;

// A file whose open(2) hangs until Release().
class HungFile {
 public:
  explicit HungFile(std::string path) : path_(std::move(path)) {
    std::filesystem::remove(path_);
    EXPECT_EQ(::mkfifo(path_.c_str(), 0600), 0) << path_;
  }
  // Waits until a thread hangs in open(2), and releases all that do.
  void Release() { Open(O_WRONLY); }
  // Releases the threads that hang, if there are any.
  void ReleaseAny() { Open(O_RDWR); }

 private:
  void Open(int mode) {
    // open(2) does not wait while the FIFO is open for writing.
    const sandbox::UniqueFd writer(::open(path_.c_str(), mode | O_CLOEXEC));
    EXPECT_TRUE(writer.valid());
    std::filesystem::remove(path_);
  }

  const std::string path_;
};

class HungDiskTest : public ServerFixture {
 protected:
  // A running execution with an environment and some output.
  std::string StartIn(const std::string& sandbox) {
    corral::v1::Command command = Command();
    command.add_environment()->set_name("NAME");
    const std::string name = StartExecution(CreateSandbox(sandbox), command);
    factory_.Write(name, wire::STDOUT, "text");
    return name;
  }
  // Returns the path of the file with its records and output.
  std::string PathOf(const std::string& name) const {
    return absl::StrCat(path_, "/sandboxes/hung/executions/",
                        name.substr(name.rfind('/') + 1));
  }
  grpc::Status Read(const std::string& name) {
    corral::v1::ReadOutputRequest request;
    request.set_name(name);
    request.set_stream(corral::v1::STDOUT);
    corral::v1::ReadOutputResponse response;
    return Call(execution_stub_.get(), &ExecutionStub::ReadOutput, request,
                &response);
  }
  int ListAll() {
    corral::v1::ListExecutionsRequest request;
    request.set_parent("tenants/default/sandboxes/-");
    corral::v1::ListExecutionsResponse response;
    EXPECT_TRUE(Call(execution_stub_.get(), &ExecutionStub::ListExecutions,
                     request, &response)
                    .ok());
    return response.executions_size();
  }
  // Every call that reads, in a sandbox whose disk works.
  void UseAll(const std::string& name) {
    EXPECT_EQ(Get(name).command().environment_size(), 1);
    EXPECT_TRUE(Read(name).ok());
    EXPECT_EQ(ListAll(), 2);
    factory_.Exit(name, 0);
    EXPECT_EQ(BytesOf(Stream(name)->Rest(), corral::v1::STDOUT), "text");
    EXPECT_EQ(Wait(name).state(), corral::v1::Execution::EXITED);
  }
};

TEST_F(HungDiskTest, ServesOtherSandboxesMeanwhile) {
  const std::string hung = StartIn("hung");
  const std::string other = StartIn("other");
  HungFile log(PathOf(hung));
  const auto stream = Stream(hung);
  EXPECT_TRUE(stream->Next().has_opened());
  // There are more readers than threads that serve gRPC.
  std::vector<std::thread> readers;
  for (int i = 0; i < 8; ++i) {
    readers.emplace_back([&] { Read(hung); });
  }
  const absl::Time begin = absl::Now();
  UseAll(other);
  std::cout << "the calls of another sandbox took "
            << absl::FormatDuration(absl::Now() - begin) << " together\n";
  // Calls that need no disk work in the sandbox itself, too.
  EXPECT_EQ(ListAll(), 2);
  factory_.Exit(hung, 3);
  EXPECT_EQ(Wait(hung).exit().code(), 3);

  log.Release();
  grpc::Status status;
  stream->Rest(&status);
  EXPECT_EQ(Reason(status), "SERVER_FAULT");
  for (std::thread& reader : readers) {
    reader.join();
  }
}

TEST_F(HungDiskTest, LetsAStreamThatWaitsForTheDiskBeCancelled) {
  const std::string hung = StartIn("hung");
  HungFile log(PathOf(hung));
  const auto stream = Stream(hung);
  EXPECT_TRUE(stream->Next().has_opened());
  stream->context.TryCancel();
  grpc::Status status;
  stream->Rest(&status);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
  log.ReleaseAny();
}

TEST_F(HungDiskTest, SendsHeartbeatsWhileTheDiskHangs) {
  const std::string hung = StartIn("hung");
  HungFile log(PathOf(hung));
  const auto stream = Stream(hung);
  EXPECT_TRUE(stream->Next().has_opened());
  timers_.Advance(2 * OutputStream::kHeartbeatInterval);
  EXPECT_EQ(stream->Next().heartbeat().streams(0).end_offset(), 4);
  log.Release();
  grpc::Status status;
  stream->Rest(&status);
}

TEST_F(HungDiskTest, DescribesAnExecutionExceptForItsEnvironment) {
  const std::string hung = StartIn("hung");
  HungFile record(PathOf(hung));
  corral::v1::Execution execution;
  std::thread get([&] {
    corral::v1::GetExecutionRequest request;
    request.set_name(hung);
    Call(execution_stub_.get(), &ExecutionStub::GetExecution, request,
         &execution);
  });
  corral::v1::ListExecutionsRequest list;
  list.set_parent("tenants/default/sandboxes/hung");
  corral::v1::ListExecutionsResponse listed;
  EXPECT_TRUE(
      Call(execution_stub_.get(), &ExecutionStub::ListExecutions, list, &listed)
          .ok());
  const corral::v1::Command& command = listed.executions(0).command();
  EXPECT_EQ(command.argv(0), "true");
  EXPECT_EQ(command.environment_size(), 0);
  record.Release();
  get.join();
}

}  // namespace
}  // namespace server
