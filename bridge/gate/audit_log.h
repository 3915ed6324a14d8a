#ifndef BRIDGE_GATE_AUDIT_LOG_H_
#define BRIDGE_GATE_AUDIT_LOG_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bridge/jsonrpc/json.h"
#include "corral/v1/execution.pb.h"
#include "sandbox/base/unique_fd.h"

namespace bridge {

// Records what an agent wanted to run and to reach, and what became of it: a
// JSON object for each line of a file. Holds no output and no environment.
// Several processes may write to the same file. Not thread-safe.
//
//   {"time":"2026-01-02T03:04:05.678Z","event":"decision","session":"s",
//    "argv":["make"],"cwd":"/w","decision":"ASK","allowed":true,"by":"user"}
//   {"time":...,"event":"end","session":"s","argv":["make"],"cwd":"/w",
//    "sandbox":"...","execution":"...","exit":{"code":0,"cause":"NORMAL"},
//    "usage":{"wall_seconds":1.5,"user_seconds":1.2,"system_seconds":0.1,
//             "memory_peak_bytes":1048576,"disk_read_bytes":0,
//             "disk_written_bytes":4096}}
//   {"time":...,"event":"host","session":"s","sandbox":"...",
//    "host":"a.example","allowed":true,"by":"user"}
//
// `exit` is null if the end is not known, or the command did not start. A
// string that is not UTF-8 has U+FFFD in place of the wrong bytes.
class AuditLog {
 public:
  // `by` of a question that ended without an answer.
  static constexpr char kNoAnswer[] = "no answer of the user";

  struct Decision {
    std::string session_id;
    std::vector<std::string> argv;
    std::string directory;
    std::string decision;  // of the rules: "ALLOW", "ASK", "DENY"
    bool allowed;
    std::string by;
  };
  struct Command {
    std::string session_id;
    std::vector<std::string> argv;
    std::string directory;
    std::string execution_name;
  };
  // The decision whether a sandbox may reach a host.
  struct Host {
    std::string session_id;
    std::string sandbox_name;
    std::string host;
    bool allowed;
    std::string by;
  };

  // Writes nothing.
  AuditLog() = default;
  // Appends to `path`; makes the file with mode 0600 if there is none.
  static absl::StatusOr<AuditLog> Open(const std::string& path);

  // The name that Open() was given; empty: nothing is written.
  const std::string& path() const { return path_; }

  // Fails with Unavailable if the line was not written.
  absl::Status WriteDecision(const Decision& decision);
  // `ended` is null if the end is not known.
  absl::Status WriteEnd(const Command& command,
                        const corral::v1::Execution* ended);
  absl::Status WriteHost(const Host& host);

 private:
  absl::Status Write(const OrderedJson& line);

  std::string path_;
  sandbox::UniqueFd file_;
};

}  // namespace bridge

#endif  // BRIDGE_GATE_AUDIT_LOG_H_
