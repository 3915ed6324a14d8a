#include "tests/integration/silent_network.h"

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/text_file.h"

namespace tests {
namespace {

constexpr char kLink[] = "corral0";
// No interface has this address, so that every packet to it is dropped.
constexpr char kNobody[] = "02:00:00:00:00:99";
constexpr absl::Duration kPollInterval = absl::Milliseconds(5);
// TCP_ESTABLISHED and TCP_SYN_SENT (include/net/tcp_states.h).
constexpr char kEstablished[] = "01";
constexpr char kSynSent[] = "02";

std::vector<std::string> In(const Process& side) {
  return {"nsenter", absl::StrCat("--net=/proc/", side.pid(), "/ns/net"), "--"};
}

}  // namespace

SilentNetwork::SilentNetwork() {
  server_ = MakeNamespace();
  client_ = MakeNamespace();
  if (!failure_.empty()) {
    return;
  }
  Ip(*server_, {"link", "add", kLink, "type", "veth", "peer", "name", kLink,
                "netns", absl::StrCat(client_->pid())});
  Ip(*server_,
     {"address", "add", absl::StrCat(kServerIp, "/24"), "dev", kLink});
  Ip(*client_,
     {"address", "add", absl::StrCat(kClientIp, "/24"), "dev", kLink});
  Ip(*server_, {"link", "set", kLink, "up"});
  Ip(*client_, {"link", "set", kLink, "up"});
}

std::unique_ptr<Process> SilentNetwork::MakeNamespace() {
  // cat ends with its input, which the test holds.
  constexpr const char* kScript =
      "ip link set lo up && ip link add type veth && ip link delete veth0 && "
      "echo ready && exec cat";
  auto side = std::make_unique<Process>(
      std::vector<std::string>{"unshare", "--net", "sh", "-c", kScript});
  if (side->ReadLine() != "ready\n") {
    side->Wait();
    failure_ = absl::StrCat("no network namespaces with veth pairs: ",
                            side->ReadError());
  }
  return side;
}

std::vector<std::string> SilentNetwork::OnServerSide() const {
  return In(*server_);
}

std::vector<std::string> SilentNetwork::OnClientSide() const {
  return In(*client_);
}

void SilentNetwork::Ip(const Process& side,
                       const std::vector<std::string>& arguments) const {
  std::vector<std::string> command = In(side);
  command.emplace_back("ip");
  command.insert(command.end(), arguments.begin(), arguments.end());
  RunProgram(command);
}

void SilentNetwork::Silence() {
  Ip(*server_, {"neighbour", "replace", kClientIp, "lladdr", kNobody, "dev",
                kLink, "nud", "permanent"});
  Ip(*client_, {"neighbour", "replace", kServerIp, "lladdr", kNobody, "dev",
                kLink, "nud", "permanent"});
}

void SilentNetwork::Restore() {
  Ip(*server_, {"neighbour", "delete", kClientIp, "dev", kLink});
  Ip(*client_, {"neighbour", "delete", kServerIp, "dev", kLink});
}

void SilentNetwork::AwaitConnected(int count) const {
  AwaitConnections(kEstablished, count);
}

void SilentNetwork::AwaitConnecting(int count) const {
  AwaitConnections(kSynSent, count);
}

void SilentNetwork::AwaitConnections(const std::string& state,
                                     int count) const {
  while (CountConnections(state) < count) {
    absl::SleepFor(kPollInterval);
  }
}

int SilentNetwork::CountConnections(const std::string& wanted) const {
  int count = 0;
  for (const char* family : {"tcp", "tcp6"}) {
    std::istringstream table(
        ReadFile(absl::StrCat("/proc/", client_->pid(), "/net/", family)));
    for (std::string line; std::getline(table, line);) {
      std::istringstream words(line);
      std::string slot, local, remote, state;
      words >> slot >> local >> remote >> state;
      count += state == wanted ? 1 : 0;
    }
  }
  return count;
}

}  // namespace tests
