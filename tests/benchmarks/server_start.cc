#include <signal.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpcpp/grpcpp.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/ended_executions.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/samples.h"
#include "tests/integration/corrald.h"
#include "tests/process.h"

namespace tests {
namespace {

constexpr int kRuns = 5;
constexpr int kPage = 1000;
constexpr absl::Duration kPatience = absl::Minutes(5);

constexpr char kConfiguration[] =
    "drain_seconds: 0 max_sandboxes: 2000 max_executions_per_sandbox: 2000 "
    "max_ended_executions: 200000 default_max_ended_executions: 2000";

double Since(absl::Time begin) {
  return absl::ToDoubleMilliseconds(absl::Now() - begin);
}

// Returns how many executions there are, as far as the server knows them, and
// adds the time of each page. -1: it still reads records.
absl::StatusOr<int> ListAll(Corral& corral, Samples& pages) {
  corral::v1::ListExecutionsRequest request;
  request.set_parent(absl::StrCat(Corral::kTenant, "/sandboxes/-"));
  request.set_page_size(kPage);
  int count = 0;
  bool complete = true;
  do {
    grpc::ClientContext context;
    corral::v1::ListExecutionsResponse page;
    const absl::Time begin = absl::Now();
    RETURN_IF_ERROR(
        FromGrpc(corral.executions().ListExecutions(&context, request, &page)));
    pages.Add(Since(begin));
    count += page.executions_size();
    complete = complete && page.unreachable().empty();
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return complete ? count : -1;
}

absl::Status AwaitAll(Corral& corral, int executions) {
  const absl::Time deadline = absl::Now() + kPatience;
  while (absl::Now() < deadline) {
    Samples ignored;
    ASSIGN_OR_RETURN(const int count, ListAll(corral, ignored));
    if (count == executions) {
      return absl::OkStatus();
    }
    absl::SleepFor(absl::Milliseconds(20));
  }
  return absl::DeadlineExceededError(
      absl::StrCat("the server does not list ", executions, " executions"));
}

// `corral ps`, as a person sees it.
absl::StatusOr<double> TimePs(const Corrald& server) {
  const absl::Time begin = absl::Now();
  Process corral({"./corral", "--server", server.address(), "ps"});
  corral.CloseInput();
  corral.ReadOutput();
  if (corral.Wait() != 0) {
    return absl::InternalError(
        absl::StrCat("corral ps failed: ", corral.ReadError()));
  }
  return Since(begin);
}

absl::Status Measure(const Setting& setting, Corrald& server, int executions) {
  const std::string with = absl::StrCat(", ", executions, " ended");
  const auto add = [&](const std::string& figure, const Samples& samples,
                       Goal goal) {
    setting.report.Add({figure, "ms", samples, "", {}, goal, ""});
  };
  const absl::Time begin = absl::Now();
  server.Start();
  Corral corral(server.Connect());
  grpc::ClientContext context;
  corral::v1::ListSandboxesRequest request;
  request.set_parent(Corral::kTenant);
  corral::v1::ListSandboxesResponse response;
  RETURN_IF_ERROR(
      FromGrpc(corral.sandboxes().ListSandboxes(&context, request, &response)));
  add("corrald's start to first answer" + with, Samples(Since(begin)),
      Goal::AtMost(1000));
  RETURN_IF_ERROR(AwaitAll(corral, executions));
  add("... and until all of them are known", Samples(Since(begin)),
      Goal::None());
  Samples pages;
  Samples ps;
  for (int i = 0; i < kRuns; ++i) {
    RETURN_IF_ERROR(ListAll(corral, pages).status());
    ASSIGN_OR_RETURN(const double time, TimePs(server));
    ps.Add(time);
  }
  add("a page of 1,000 of them", pages, Goal::None());
  add("corral ps, all of them", ps, Goal::None());
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureServerStart(const Setting& setting) {
  const int each = setting.large ? 1000 : 100;
  Corrald server(kConfiguration);
  RETURN_IF_ERROR(WriteEndedExecutions(server.state_directory(), each));
  const absl::Status measured =
      Measure(setting, server, kRecordedSandboxes * each);
  if (server.IsRunning()) {
    server.Signal(SIGTERM);
    server.Wait();
  }
  RETURN_IF_ERROR(measured);
  if (!setting.large) {
    setting.report.NotMeasured("corrald's start with 100,000 ended executions",
                               "needs --long");
  }
  return absl::OkStatus();
}

}  // namespace tests
