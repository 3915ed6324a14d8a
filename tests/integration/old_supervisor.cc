#include "tests/integration/old_supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "sandbox/base/log.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/output_log.h"

namespace tests {
namespace {

namespace wire = ::corral::supervisor::v1;

// Field 1000 with the value "new"; no version has this field.
constexpr char kUnknownField[] = "\xc2\x3e\x03new";
constexpr int64_t kSomeTime = 1'700'000'000'000'000'000;

void Write(const std::string& path,
           const google::protobuf::MessageLite& message) {
  std::ofstream file(path, std::ios::binary);
  CHECK(message.SerializeToOstream(&file) && file.flush().good()) << path;
}

wire::ExecutionRecord Record(const std::string& id,
                             wire::ExecutionRecord::State state) {
  wire::ExecutionRecord record;
  record.set_id(id);
  record.set_state(state);
  record.set_create_time_ns(kSomeTime);
  record.set_start_time_ns(kSomeTime);
  record.add_streams()->set_stream(wire::STDOUT);
  return record;
}

}  // namespace

OldSupervisor::OldSupervisor(const std::string& state_directory)
    : directory_(absl::StrCat(state_directory, "/sandboxes/old")),
      listener_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
  WriteRecords();
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  absl::StrCat(directory_, "/control.sock")
      .copy(address.sun_path, sizeof(address.sun_path) - 1);
  CHECK(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address),
               sizeof(address)) == 0 &&
        ::listen(listener_.get(), 1) == 0);
  thread_ = std::thread([this] { Serve(); });
}

OldSupervisor::~OldSupervisor() { thread_.join(); }

std::vector<wire::StartExecution> OldSupervisor::starts() {
  sandbox::MutexLock lock(&mutex_);
  return starts_;
}

void OldSupervisor::WriteRecords() const {
  const std::string execution = absl::StrCat(directory_, "/executions/run");
  std::filesystem::create_directories(execution);
  wire::SandboxSpec spec;
  spec.set_directory(directory_);
  spec.set_id("old");
  spec.set_name(kSandbox);
  spec.set_create_time_ns(kSomeTime);
  Write(absl::StrCat(directory_, "/spec.pb"), spec);
  corral::v1::Command command;
  command.add_argv("cat");
  command.set_stdin(true);
  wire::ExecutionRecord start = Record("run", wire::ExecutionRecord::STARTING);
  start.mutable_command()->add_argv("cat");
  start.mutable_command()->set_original(command.SerializeAsString());
  Write(absl::StrCat(execution, "/start.pb"), start);
  const sandbox::UniqueFd directory(
      ::open(execution.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  auto log = sandbox::OutputLogWriter::Create(directory.get(), "stdout");
  CHECK(log.ok() && log->Append(kOutput, sizeof(kOutput) - 1).ok());
}

void OldSupervisor::Serve() {
  connection_ = sandbox::PacketSocket(sandbox::UniqueFd(::accept4(
      listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)));
  wire::FromSupervisor hello;
  hello.mutable_snapshot()->set_ready(true);
  *hello.mutable_snapshot()->add_executions() =
      Record("run", wire::ExecutionRecord::RUNNING);
  CHECK(hello.mutable_snapshot()->MergeFromString(kUnknownField));
  Send(hello);
  wire::FromSupervisor unknown;
  CHECK(unknown.MergeFromString(kUnknownField));
  Send(unknown);
  while (true) {
    pollfd readable = {connection_.fd(), POLLIN, 0};
    ::poll(&readable, 1, -1);
    wire::ToSupervisor request;
    const absl::StatusOr<bool> got = connection_.Receive(&request);
    if (!got.ok() || (*got && !Answer(request))) {
      break;
    }
  }
  connection_ = sandbox::PacketSocket();
  listener_.Reset();
}

bool OldSupervisor::Answer(const wire::ToSupervisor& request) {
  wire::FromSupervisor message;
  wire::Reply* reply = message.mutable_reply();
  reply->set_request_id(request.request_id());
  switch (request.request_case()) {
    case wire::ToSupervisor::kStartExecution:
      Start(request.start_execution());
      break;
    case wire::ToSupervisor::kWriteInput:
      reply->mutable_input()->set_accepted_offset(
          request.write_input().offset() + request.write_input().data().size());
      break;
    case wire::ToSupervisor::kSignal:
    case wire::ToSupervisor::kDeleteSandbox:
      break;
    default:
      reply->set_failure(wire::Reply::UNKNOWN_REQUEST);
      break;
  }
  Send(message);
  return !request.has_delete_sandbox();
}

void OldSupervisor::Start(const wire::StartExecution& start) {
  {
    sandbox::MutexLock lock(&mutex_);
    starts_.push_back(start);
  }
  for (const auto state :
       {wire::ExecutionRecord::RUNNING, wire::ExecutionRecord::EXITED}) {
    wire::FromSupervisor message;
    *message.mutable_execution() = Record(start.id(), state);
    if (state == wire::ExecutionRecord::EXITED) {
      message.mutable_execution()->mutable_exit()->set_wait_status(3 << 8);
      message.mutable_execution()->set_end_time_ns(kSomeTime);
    }
    Send(message);
  }
}

void OldSupervisor::Send(const wire::FromSupervisor& message) {
  CHECK(connection_.Send(message).ok());
}

}  // namespace tests
