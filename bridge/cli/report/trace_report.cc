#include "bridge/cli/report/trace_report.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"
#include "google/protobuf/util/time_util.h"

namespace bridge {
namespace {

using corral::v1::ExecutionTrace;
using corral::v1::SandboxTrace;
using google::protobuf::util::TimeUtil;

// A stage and its end, in nanoseconds.
struct Stage {
  const char* name;
  int64_t end_ns;
};

// Returns the stages of the server that have ended, in the order of their ends,
// since the server received the request.
std::vector<Stage> ServerStages(const ExecutionTrace& trace) {
  std::vector<Stage> stages;
  const auto add = [&stages](const char* name, bool reached,
                             const google::protobuf::Duration& end) {
    if (reached) {
      stages.push_back({name, TimeUtil::DurationToNanoseconds(end)});
    }
  };
  add("queue", trace.has_admitted(), trace.admitted());
  add("server", trace.has_sent(), trace.sent());
  add("supervisor", trace.has_accepted(), trace.accepted());
  add("prepare", trace.has_prepared(), trace.prepared());
  add("spawner", trace.has_spawning(), trace.spawning());
  add("child", trace.has_executing(), trace.executing());
  add("exec", trace.has_executed(), trace.executed());
  add("first byte", trace.has_first_byte(), trace.first_byte());
  add("exit", trace.has_exited(), trace.exited());
  add("drain", trace.has_drained(), trace.drained());
  add("record", trace.has_recorded(), trace.recorded());
  add("report", trace.has_reported(), trace.reported());
  add("answer", trace.has_answered(), trace.answered());
  // The first byte may come before or after the exit.
  std::stable_sort(
      stages.begin(), stages.end(),
      [](const Stage& a, const Stage& b) { return a.end_ns < b.end_ns; });
  return stages;
}

// Returns when the server received the request, by the client's clock since its
// begin.
int64_t ReceivedAt(const ExecutionTrace& trace, const ClientTimes& client,
                   int64_t server_ns) {
  const int64_t by_clock =
      TimeUtil::TimestampToNanoseconds(trace.receive_time()) -
      client.begin_unix_ns;
  const int64_t latest = std::max<int64_t>(client.total_ns - server_ns, 0);
  return std::clamp<int64_t>(by_clock, 0, latest);
}

// A step of a creation.
struct Step {
  const char* name;
  bool taken;
  const google::protobuf::Duration& took;
  bool ahead;
};

}  // namespace

std::string StageTable(const ExecutionTrace& trace, const ClientTimes& client) {
  const std::vector<Stage> server = ServerStages(trace);
  if (!trace.has_receive_time() || server.empty()) {
    return "";
  }
  const int64_t server_ns = server.back().end_ns;
  const int64_t received = ReceivedAt(trace, client, server_ns);
  std::vector<Stage> stages = {{"client", received}};
  for (const Stage& stage : server) {
    stages.push_back({stage.name, received + stage.end_ns});
  }
  stages.push_back({"client", std::max(client.total_ns, received + server_ns)});
  std::string table = absl::StrFormat("%-12s%12s%12s\n", "stage", "at", "took");
  int64_t begin_us = 0;
  for (const Stage& stage : stages) {
    // Rounded before they are subtracted, so that the sum is the total.
    const int64_t end_us = stage.end_ns / 1000;
    absl::StrAppendFormat(&table, "%-12s%12d%12d\n", stage.name, begin_us,
                          end_us - begin_us);
    begin_us = end_us;
  }
  absl::StrAppendFormat(&table, "%-12s%12s%12d\n", "total", "", begin_us);
  return table;
}

std::string CreationTable(const corral::v1::Sandbox& sandbox) {
  const SandboxTrace& trace = sandbox.trace();
  const bool ahead =
      trace.has_prepare_time() && trace.prepare_time() < sandbox.create_time();
  // A spawner with another profile is started for the request.
  const bool spawner =
      ahead && sandbox.profile() == corral::v1::Sandbox::DEFAULT;
  const bool complete = trace.completed_ahead();
  const Step steps[] = {
      {"admission", trace.has_admission(), trace.admission(), false},
      {"record", trace.has_record(), trace.record(), false},
      {"supervisor", trace.has_supervisor(), trace.supervisor(), false},
      {"  groups", trace.has_groups(), trace.groups(), ahead},
      {"  namespaces", trace.has_namespaces(), trace.namespaces(), ahead},
      {"  join", trace.has_join(), trace.join(), ahead},
      {"  mounts", trace.has_mounts(), trace.mounts(), ahead},
      {"  init", trace.has_init(), trace.init(), ahead},
      {"  spawner", trace.has_spawner(), trace.spawner(), spawner},
      {"  filter", trace.has_filter(), trace.filter(), spawner},
      {"  ready", trace.has_ready(), trace.ready(), spawner},
      {"  limits", trace.has_limits(), trace.limits(), complete},
      {"  workspaces", trace.has_workspaces(), trace.workspaces(), complete},
      {"  protection", trace.has_protection(), trace.protection(), false},
      {"  way out", trace.has_way_out(), trace.way_out(), false}};
  std::string table;
  for (const Step& step : steps) {
    if (step.taken) {
      absl::StrAppendFormat(&table, "%-12s%12s%12d%s\n", step.name, "",
                            TimeUtil::DurationToMicroseconds(step.took),
                            step.ahead ? "  ahead" : "");
    }
  }
  return table.empty()
             ? ""
             : absl::StrFormat("%-12s%12s%12s\n", "sandbox", "", "took") +
                   table;
}

}  // namespace bridge
