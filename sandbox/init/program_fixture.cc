#include "sandbox/init/program_fixture.h"

#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/fd_passing.h"
#include "sandbox/base/high_fd.h"
#include "sandbox/base/log.h"
#include "sandbox/init/init_image.h"
#include "sandbox/kernel/privileges.h"

namespace sandbox {
namespace {

// A range that no sandbox of the host has.
constexpr uint32_t kFirstId = 0x70000000;

UniqueFd MakeFile(const char* name) {
  UniqueFd fd(::memfd_create(name, MFD_CLOEXEC));
  CHECK(fd.valid());
  return fd;
}

[[noreturn]] void Execute(int image, const char* name) {
  char* const arguments[] = {const_cast<char*>(name), nullptr};
  char* const environment[] = {nullptr};
  ::syscall(SYS_execveat, image, "", arguments, environment, AT_EMPTY_PATH);
  ::_exit(99);
}

std::string Contents(const UniqueFd& file) {
  std::string text(4096, '\0');
  const ssize_t size = ::pread(file.get(), text.data(), text.size(), 0);
  CHECK(size >= 0);
  text.resize(static_cast<size_t>(size));
  return text;
}

}  // namespace

int WaitFor(const UniqueFd& pidfd) {
  siginfo_t info = {};
  CHECK(::waitid(P_PIDFD, static_cast<id_t>(pidfd.get()), &info, WEXITED) == 0);
  return info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
}

StartedProgram::StartedProgram()
    : exchange_fd_(MakeFile("exchange")),
      input_(::open("/dev/null", O_RDONLY | O_CLOEXEC)),
      output_(MakeFile("output")),
      tasks_(MakeFile("tasks")) {
  const absl::string_view program = InitImage();
  const UniqueFd image = MakeFile("image");
  CHECK(::write(image.get(), program.data(), program.size()) ==
        static_cast<ssize_t>(program.size()));
  CHECK(::ftruncate(exchange_fd_.get(), kExchangeSize) == 0);
  exchange_ =
      static_cast<char*>(::mmap(nullptr, kExchangeSize, PROT_READ | PROT_WRITE,
                                MAP_SHARED, exchange_fd_.get(), 0));
  StartInit(image.get());
  StartSpawner(image.get());
}

StartedProgram::~StartedProgram() {
  // The kernel kills all others of its pid namespace with init.
  ::syscall(SYS_pidfd_send_signal, init_.pidfd.get(), SIGKILL, nullptr, 0);
  while (::waitpid(-1, nullptr, 0) > 0) {
  }
  ::munmap(exchange_, kExchangeSize);
}

void StartedProgram::StartInit(int image) {
  int go[2];
  int executes[2];
  CHECK(::pipe2(go, O_CLOEXEC) == 0 && ::pipe2(executes, O_CLOEXEC) == 0);
  const UniqueFd go_read(go[0]);
  UniqueFd go_write(go[1]);
  const UniqueFd executes_read(executes[0]);
  UniqueFd executes_write(executes[1]);
  init_ = *CloneIntoNamespaces(-1, ::geteuid());
  char byte = 'g';
  if (init_.pid == 0) {
    CHECK(::read(go_read.get(), &byte, 1) == 1 && BecomeNamespaceRoot().ok());
    Execute(image, kInitName);
  }
  CHECK(MapIds(init_.pid, kFirstId).ok());
  CHECK(::write(go_write.get(), &byte, 1) == 1);
  executes_write.Reset();
  CHECK(::read(executes_read.get(), &byte, 1) == 0) << "init is not executed";
}

void StartedProgram::StartSpawner(int image) {
  int fds[2];
  CHECK(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
  socket_.Reset(fds[0]);
  UniqueFd theirs(fds[1]);
  spawner_ = *ForkInto(init_.pidfd.get(), -1);
  if (spawner_.pid == 0) {
    const int socket = DuplicateHigh(theirs.get()).Release();
    const int exchange = DuplicateHigh(exchange_fd_.get()).Release();
    const int program = DuplicateHigh(image).Release();
    // Commands must not have a group that the spawner has.
    constexpr gid_t kGroup = 7;
    CHECK(BecomeNamespaceRoot().ok() && ::setgroups(1, &kGroup) == 0 &&
          KeepOnly({CAP_SETUID, CAP_SETGID, CAP_SETPCAP}).ok());
    CHECK(::dup2(socket, kSpawnerSocket) == kSpawnerSocket &&
          ::dup2(exchange, kSpawnerExchange) == kSpawnerExchange);
    // The execution closes all others.
    ::syscall(SYS_close_range, kSpawnerExchange + 1, kHighFd - 1, 0);
    Execute(program, kSpawnerName);
  }
  theirs.Reset();
  SpawnAnswer ready = {SpawnStage::kExec, -1};
  CHECK(::read(socket_.get(), &ready, sizeof(ready)) == sizeof(ready));
  CHECK(ready.stage == SpawnStage::kNone && ready.error == 0);
}

SpawnRequest& StartedProgram::Write(const TestCommand& command) {
  char* const begin = exchange_ + kExchangeStrings;
  char* at = begin;
  const auto add = [&at](const std::string& text) {
    std::memcpy(at, text.c_str(), text.size() + 1);
    at += text.size() + 1;
    return at - text.size() - 1;
  };
  auto& request = *new (exchange_) SpawnRequest();
  add(command.working_directory);
  for (const std::string& argument : command.argv) {
    add(argument);
  }
  for (const std::string& variable : command.environment) {
    const char* const added = add(variable);
    if (command.search) {
      request.path_offset =
          static_cast<uint32_t>(added + sizeof("PATH=") - 1 - exchange_);
    }
  }
  request.argument_count = static_cast<uint32_t>(command.argv.size());
  request.environment_count = static_cast<uint32_t>(command.environment.size());
  request.strings_size = static_cast<uint32_t>(at - begin);
  request.user_id = kCommandId;
  return request;
}

StartedProgram::Started StartedProgram::Start(const std::vector<int>& fds) {
  CHECK(SendWithFds(socket_.get(), "g", 1, fds).ok());
  Started started;
  absl::StatusOr<ReceivedPacket> packet =
      ReceiveWithFds(socket_.get(), &started.answer, sizeof(started.answer));
  CHECK(packet.ok() && packet->size == sizeof(started.answer))
      << "the spawner has ended";
  if (!packet->fds.empty()) {
    started.pidfd = std::move(packet->fds[0]);
  }
  return started;
}

void StartedProgram::StartWithoutAnswer() {
  CHECK(::shutdown(socket_.get(), SHUT_RD) == 0);
  CHECK(SendWithFds(socket_.get(), "g", 1, {}).ok());
}

std::vector<int> StartedProgram::Fds() const {
  return {input_.get(), output_.get(), output_.get(), tasks_.get()};
}

std::string StartedProgram::Output() const { return Contents(output_); }

std::string StartedProgram::Tasks() const { return Contents(tasks_); }

}  // namespace sandbox
