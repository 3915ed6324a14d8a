// The way out of a sandbox by name: programs inside reach a server outside.

#include <sys/types.h>

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/network_figures.h"
#include "tests/benchmarks/processes.h"
#include "tests/benchmarks/samples.h"
#include "tests/integration/corrald.h"
#include "tests/network/name_server.h"
#include "tests/process.h"

namespace tests {
namespace {

constexpr char kHost[] = "bench.example";
constexpr char kCrowd[] = "1000";
constexpr char kSlowPeers[] = "100";
constexpr double kGigabyte = 1000;  // MB
// A tenth of a 64 KiB buffer for each slow peer, in kB.
constexpr double kGrowth = 640;
// The time until all buffers on the way are full.
constexpr absl::Duration kRest = absl::Seconds(1);

class WayOut {
 public:
  explicit WayOut(const Setting& setting)
      : setting_(setting),
        client_(absl::StrCat(setting.workspace, "/network_client")),
        server_(absl::StrCat(setting.workspace, "/network_server")),
        upstream_({server_, "serve", "0"}) {
    names_.Set(kHost, {"127.0.0.1"});
  }
  ~WayOut() {
    if (corrald_ != nullptr && corrald_->IsRunning()) {
      corrald_->Signal(SIGTERM);
      corrald_->Wait();
    }
  }
  WayOut(const WayOut&) = delete;
  WayOut& operator=(const WayOut&) = delete;

  absl::Status Start() {
    ASSIGN_OR_RETURN(upstream_port_, ReadPort(upstream_));
    proxy_ = std::make_unique<Process>(
        std::vector<std::string>{server_, "proxy", upstream_port_});
    ASSIGN_OR_RETURN(proxy_port_, ReadPort(*proxy_));
    corrald_ = std::make_unique<Corrald>(
        absl::StrCat("drain_seconds: 0 egress { private_networks: '127.0.0.1' "
                     "name_servers: '",
                     names_.address(), "' }"));
    corrald_->Start();
    Process create({"./corral", "--server", corrald_->address(), "create",
                    "--workspace", setting_.workspace, "--allow-host",
                    absl::StrCat(kHost, ":", upstream_port_, "/tcp")});
    create.CloseInput();
    sandbox_ = std::string(absl::StripSuffix(create.ReadOutput(), "\n"));
    return create.Wait() == 0 ? absl::OkStatus()
                              : absl::InternalError(create.ReadError());
  }

  absl::Status MeasureDownload() const {
    Samples direct;
    Samples proxy;
    Samples way_out;
    for (int round = 0; round < kNetworkRounds; ++round) {
      RETURN_IF_ERROR(AddNumbers(
          Outside(upstream_port_, "download", kDownloadMebibytes), direct));
      RETURN_IF_ERROR(AddNumbers(
          Outside(proxy_port_, "download", kDownloadMebibytes), proxy));
      RETURN_IF_ERROR(
          AddNumbers(Inside("download", kDownloadMebibytes), way_out));
    }
    const std::string figure = "a download of 512 MiB by the way out";
    setting_.report.Add({figure, "MB/s", way_out, "a plain proxy", proxy,
                         Goal::RatioAtLeast(0.5), ""});
    setting_.report.Add({figure + ", no proxy beside", "MB/s", way_out,
                         "a direct connection", direct, Goal::None(), ""});
    if (proxy.Median() < kGigabyte) {
      setting_.report.NotMeasured("1 GB/s by the way out",
                                  "a plain proxy is slower on this machine");
    } else {
      setting_.report.Add({"1 GB/s by the way out",
                           "MB/s",
                           way_out,
                           "",
                           {},
                           Goal::AtLeast(kGigabyte),
                           ""});
    }
    return absl::OkStatus();
  }

  absl::Status MeasureCrowd() const {
    Samples proxy;
    Samples way_out;
    for (int round = 0; round < kNetworkRounds; ++round) {
      std::vector<std::string> outside = Outside(proxy_port_, "crowd", kCrowd);
      outside.emplace_back("e");
      RETURN_IF_ERROR(AddNumbers(outside, proxy));
      std::vector<std::string> inside = Inside("crowd", kCrowd);
      inside.emplace_back("e");
      RETURN_IF_ERROR(AddNumbers(inside, way_out));
    }
    setting_.report.Add({"1,000 connections at once, a byte and its echo", "ms",
                         way_out, "a plain proxy", proxy, Goal::RatioAtMost(2),
                         "each end keeps all of them open"});
    return absl::OkStatus();
  }

  absl::Status MeasureSlowPeers() const {
    Samples idle;
    Samples slow;
    for (int round = 0; round < kNetworkRounds; ++round) {
      RETURN_IF_ERROR(AddMemory("e", idle));
      RETURN_IF_ERROR(AddMemory("d", slow));
    }
    setting_.report.Add({"PSS of corral-egress, 100 peers that do not read",
                         "kB", slow, "100 idle connections", idle,
                         Goal::AddsAtMost(kGrowth), ""});
    return absl::OkStatus();
  }

 private:
  std::vector<std::string> Outside(const std::string& port, const char* role,
                                   const char* number) const {
    return {client_, role, "127.0.0.1", port, number};
  }
  std::vector<std::string> Inside(const char* role, const char* number) const {
    return {"./corral", "--server",     corrald_->address(),
            "exec",     "-i",           sandbox_,
            "--",       client_,        role,
            kHost,      upstream_port_, number};
  }

  // Makes connections of this kind, and adds the memory of the way out.
  absl::Status AddMemory(const char* kind, Samples& samples) const {
    std::vector<std::string> words = Inside("crowd", kSlowPeers);
    words.emplace_back(kind);
    Process crowd(words);
    RETURN_IF_ERROR(ReadNumber(crowd).status());
    absl::SleepFor(kRest);
    double sum = 0;
    for (const pid_t pid : ReadTree(corrald_->pid())) {
      if (ReadName(pid) == "corral-egress") {
        ASSIGN_OR_RETURN(const double kilobytes, ReadPssKilobytes(pid));
        sum += kilobytes;
      }
    }
    samples.Add(sum);
    crowd.CloseInput();
    crowd.Wait();
    return absl::OkStatus();
  }

  const Setting& setting_;
  const std::string client_;
  const std::string server_;
  NameServer names_;
  Process upstream_;
  std::string upstream_port_;
  std::unique_ptr<Process> proxy_;
  std::string proxy_port_;
  std::unique_ptr<Corrald> corrald_;
  std::string sandbox_;
};

}  // namespace

absl::Status MeasureWayOut(const Setting& setting) {
  WayOut way_out(setting);
  RETURN_IF_ERROR(way_out.Start());
  RETURN_IF_ERROR(way_out.MeasureDownload());
  RETURN_IF_ERROR(way_out.MeasureCrowd());
  return way_out.MeasureSlowPeers();
}

}  // namespace tests
