#include "tests/chaos/churn.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/chaos/process_list.h"
#include "tests/text_file.h"

namespace tests {
namespace {

using ::corral::v1::Command;
using ::corral::v1::Sandbox;

constexpr char kTenant[] = "tenants/default";
// Longer than any answer takes that does not wait for a command.
constexpr absl::Duration kPatience = absl::Seconds(30);

// How a command is used.
enum class Use { kAwaited, kLeftRunning, kWatched };

struct CommandCase {
  const char* script;
  Use use;
};

constexpr CommandCase kCommands[] = {
    {"true", Use::kAwaited},
    {"echo out; echo err >&2; exit 3", Use::kAwaited},
    {"head -c 100000 /dev/zero; kill -9 $$", Use::kAwaited},
    // Descendants that nobody awaits.
    {"setsid sleep 1000 & exec 1>&- 2>&-", Use::kAwaited},
    {"mkfifo $HOME/f; sleep 1000 & cat $HOME/f", Use::kLeftRunning},
    {"echo shown; exec sleep 1000", Use::kWatched},
};

void SetDeadline(grpc::ClientContext* context) {
  context->set_wait_for_ready(true);
  context->set_deadline(absl::ToChronoTime(absl::Now() + kPatience));
}

// True for the process with which LeakSanitizer looks at a supervisor that
// ends: that one would wait for it for ever.
bool TracesItsParent(const ProcessEntry& process) {
  return absl::StrContains(
      ReadFile(absl::StrCat("/proc/", process.parent, "/status")),
      absl::StrCat("TracerPid:\t", process.pid, "\n"));
}

// By a descriptor, so that a process that has just got the number is spared.
void KillIf(pid_t pid, const std::string& name) {
  const sandbox::UniqueFd pidfd(
      static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const std::optional<ProcessEntry> process = FindProcess(pid);
  if (pidfd.valid() && process.has_value() && process->name == name &&
      !TracesItsParent(*process)) {
    ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
  }
}

}  // namespace

Churn::Churn(Corrald* server, uint64_t seed)
    : server_(server),
      calls_(server->Connect()),
      screens_(corral::v1::ScreenService::NewStub(server->Connect())),
      random_(seed) {}

uint64_t Churn::NextSeed() {
  const sandbox::MutexLock lock(&mutex_);
  return random_();
}

void Churn::Run(const Round& round) {
  ASSERT_LE(round.sandboxes, kMostSandboxes);
  std::atomic<int> left = round.sandboxes;
  std::atomic<int> working = kAtOnce;
  std::vector<std::thread> threads;
  for (int i = 0; i < kAtOnce; ++i) {
    threads.emplace_back([&] {
      while (left-- > 0) {
        RunSandbox(round, NextSeed());
      }
      --working;
    });
  }
  std::mt19937_64 random(NextSeed());
  std::vector<Victim> victims;
  while (working > 0) {
    absl::SleepFor(absl::Milliseconds(20 + random() % 100));
    if (victims.empty()) {
      victims = round.victims;
      std::shuffle(victims.begin(), victims.end(), random);
    }
    if (!victims.empty()) {
      Kill(victims.back());
      victims.pop_back();
    }
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

void Churn::RunSandbox(const Round& round, uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::optional<std::string> sandbox = Create(random);
  if (!sandbox.has_value()) {
    return;
  }
  for (int i = 0; i < round.commands; ++i) {
    RunCommand(*sandbox, round.screens, random);
  }
  Delete(*sandbox);
}

std::optional<std::string> Churn::Create(std::mt19937_64& random) {
  constexpr Sandbox::Profile kProfiles[] = {Sandbox::DEFAULT, Sandbox::STRICT,
                                            Sandbox::DEBUG};
  corral::v1::CreateSandboxRequest request;
  request.set_parent(kTenant);
  request.set_request_id(absl::StrCat("churn-", random()));
  Sandbox& wanted = *request.mutable_sandbox();
  wanted.set_profile(kProfiles[random() % std::size(kProfiles)]);
  wanted.mutable_workspace()->set_path(server_->workspace());
  if (random() % 2 == 0) {
    wanted.mutable_workspace()->add_read_only_paths("ci/tasks");
  }
  if (random() % 2 == 0) {
    wanted.set_network(Sandbox::ALLOW_LIST);
  }
  Sandbox made;
  const grpc::Status status =
      calls_.Call(&Calls::SandboxStub::CreateSandbox, request, &made);
  if (!status.ok()) {
    ++refused_;
    std::cerr << "no sandbox: " << ToString(status) << std::endl;
    return std::nullopt;
  }
  ++sandboxes_;
  return made.name();
}

void Churn::RunCommand(const std::string& sandbox, bool screens,
                       std::mt19937_64& random) {
  const CommandCase& wanted = kCommands[random() % std::size(kCommands)];
  corral::v1::StartExecutionRequest request;
  request.set_parent(sandbox);
  Command& command = *request.mutable_command();
  for (const char* word : {"/bin/sh", "-c", wanted.script}) {
    command.add_argv(word);
  }
  if (wanted.use == Use::kWatched) {
    command.mutable_terminal();
  }
  grpc::ClientContext context;
  SetDeadline(&context);
  corral::v1::Execution execution;
  // It is refused if something of the sandbox was killed.
  if (!calls_.executions().StartExecution(&context, request, &execution).ok()) {
    ++refused_;
    return;
  }
  ++executions_;
  if (wanted.use == Use::kWatched && screens) {
    ShowScreen(execution.name());
  } else if (wanted.use == Use::kAwaited) {
    corral::v1::WaitExecutionRequest wait;
    wait.set_name(execution.name());
    grpc::ClientContext waiting;
    SetDeadline(&waiting);
    (void)calls_.executions().WaitExecution(&waiting, wait, &execution);
  }
}

void Churn::ShowScreen(const std::string& execution) {
  corral::v1::GetScreenRequest request;
  request.set_name(execution);
  grpc::ClientContext context;
  SetDeadline(&context);
  corral::v1::GetScreenResponse response;
  (void)screens_->GetScreen(&context, request, &response);
}

void Churn::Delete(const std::string& sandbox) {
  corral::v1::DeleteSandboxRequest request;
  request.set_name(sandbox);
  google::protobuf::Empty response;
  const grpc::Status status =
      calls_.Call(&Calls::SandboxStub::DeleteSandbox, request, &response);
  EXPECT_TRUE(status.ok() || status.error_code() == grpc::StatusCode::NOT_FOUND)
      << ToString(status);
}

void Churn::Kill(Victim victim) {
  ++kills_;
  switch (victim) {
    case Victim::kSupervisor: {
      const std::vector<pid_t> supervisors = server_->Supervisors();
      if (!supervisors.empty()) {
        KillIf(supervisors[NextSeed() % supervisors.size()], "corral-supervis");
      }
      return;
    }
    case Victim::kInit:
      return KillInside("corral-init");
    case Victim::kSpawner:
      return KillInside("corral-spawner");
    case Victim::kServer:
      ++server_kills_;
      server_->Kill();
      server_->Start();
      return;
  }
}

void Churn::KillInside(const std::string& name) {
  const std::vector<pid_t> supervisors = server_->Supervisors();
  std::vector<pid_t> found;
  for (const ProcessEntry& process : ListProcesses()) {
    if (process.name == name &&
        std::count(supervisors.begin(), supervisors.end(), process.parent) >
            0) {
      found.push_back(process.pid);
    }
  }
  if (!found.empty()) {
    KillIf(found[NextSeed() % found.size()], name);
  }
}

std::string Churn::Summary() const {
  return absl::StrCat(sandboxes(), " sandboxes, ", executions(),
                      " executions, ", kills_, " kills, ", server_kills_,
                      " of them of corrald, ", refused_.load(), " refused");
}

}  // namespace tests
