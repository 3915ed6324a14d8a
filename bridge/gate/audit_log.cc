#include "bridge/gate/audit_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "google/protobuf/util/time_util.h"

namespace bridge {
namespace {

using corral::v1::Execution;
using corral::v1::ExitStatus;

OrderedJson NewLine(const char* event, const std::string& session_id) {
  return {{"time", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(),
                                    absl::UTCTimeZone())},
          {"event", event},
          {"session", session_id}};
}

OrderedJson LineOfCommand(const char* event, const std::string& session_id,
                          const std::vector<std::string>& argv,
                          const std::string& directory) {
  OrderedJson line = NewLine(event, session_id);
  line["argv"] = argv;
  line["cwd"] = directory;
  return line;
}

double Seconds(const google::protobuf::Duration& duration) {
  return absl::ToDoubleSeconds(absl::Microseconds(
      google::protobuf::util::TimeUtil::DurationToMicroseconds(duration)));
}

OrderedJson ToJson(const ExitStatus& exit) {
  OrderedJson json;
  if (exit.has_code()) {
    json["code"] = exit.code();
  } else {
    json["signal"] = exit.signal();
  }
  json["cause"] = ExitStatus::Cause_Name(exit.cause());
  return json;
}

}  // namespace

absl::StatusOr<AuditLog> AuditLog::Open(const std::string& path) {
  AuditLog log;
  log.path_ = path;
  log.file_ = sandbox::UniqueFd(
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  if (!log.file_.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("--audit ", path));
  }
  return log;
}

absl::Status AuditLog::WriteDecision(const Decision& decision) {
  OrderedJson line = LineOfCommand("decision", decision.session_id,
                                   decision.argv, decision.directory);
  line["decision"] = decision.decision;
  line["allowed"] = decision.allowed;
  line["by"] = decision.by;
  return Write(line);
}

absl::Status AuditLog::WriteEnd(const Command& command,
                                const Execution* ended) {
  OrderedJson line =
      LineOfCommand("end", command.session_id, command.argv, command.directory);
  const std::string& name = command.execution_name;
  line["sandbox"] = name.substr(0, name.find("/executions/"));
  line["execution"] = name;
  line["exit"] = nullptr;
  if (ended != nullptr && ended->has_exit()) {
    line["exit"] = ToJson(ended->exit());
  }
  if (ended != nullptr && ended->has_usage()) {
    const corral::v1::ResourceUsage& usage = ended->usage();
    line["usage"] = {{"wall_seconds", Seconds(usage.wall_time())},
                     {"user_seconds", Seconds(usage.user_time())},
                     {"system_seconds", Seconds(usage.system_time())},
                     {"memory_peak_bytes", usage.memory_peak_bytes()},
                     {"disk_read_bytes", usage.disk_read_bytes()},
                     {"disk_written_bytes", usage.disk_written_bytes()}};
  }
  return Write(line);
}

absl::Status AuditLog::WriteHost(const Host& host) {
  OrderedJson line = NewLine("host", host.session_id);
  line["sandbox"] = host.sandbox_name;
  line["host"] = host.host;
  line["allowed"] = host.allowed;
  line["by"] = host.by;
  return Write(line);
}

absl::Status AuditLog::Write(const OrderedJson& line) {
  if (!file_.valid()) {
    return absl::OkStatus();
  }
  const std::string text = absl::StrCat(SerializeOrdered(line), "\n");
  // One call: the kernel appends it as a whole.
  if (::write(file_.get(), text.data(), text.size()) !=
      static_cast<ssize_t>(text.size())) {
    return absl::UnavailableError(
        absl::StrCat("the audit log ", path_, " cannot be written"));
  }
  return absl::OkStatus();
}

}  // namespace bridge
