// Records what all terminals show, one recording at a time.

#ifndef BRIDGE_MCP_RECORDING_RECORDER_H_
#define BRIDGE_MCP_RECORDING_RECORDER_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bridge/mcp/recording/cast_file.h"
#include "bridge/mcp/terminal/output_observer.h"

namespace bridge {

// The screen with which a recording begins.
struct FirstScreen {
  // The name of the execution whose terminal it is.
  std::string terminal;
  uint32_t columns = 0;
  uint32_t rows = 0;
  // Output that draws the screen as it was at `offset` of the output.
  std::string redraw;
  uint64_t offset = 0;
  // Returns the output from `offset` on that has arrived by now, all that was
  // given to OnOutput() included. Called once, with a lock held.
  std::function<std::string(uint64_t offset)> since;
};

struct RecordingOptions {
  // True: the recording is saved only if the shell ends with another exit
  // status than 0.
  bool only_failures = false;
  // Empty: the default directory. A relative path begins in the directory in
  // which corral-mcp was started.
  std::string directory;
  // The next three are in seconds; 0 or less: no limit. A longer pause is
  // recorded as one of idle_time_limit.
  double idle_time_limit = 2;
  double max_duration = 3600;
  double inactivity_timeout = 600;
  // Absent: the recording begins with an empty screen.
  std::optional<FirstScreen> first = std::nullopt;
};

struct Recording {
  std::string id;
  // The file that the recording becomes when it has ended.
  std::string path;
  RecordingOptions options;
};

enum class StopReason {
  kExplicit,
  kSessionExit,
  kMaxDuration,
  kInactivity,
  kServerShutdown,
};

struct RecordingResult {
  Recording recording;
  int64_t duration_ms = 0;
  uint64_t bytes = 0;
  bool saved = false;
  StopReason reason = StopReason::kExplicit;
};

// "explicit", "session_exit", ...
const char* StopReasonName(StopReason reason);

// Thread-safe. Calls write small files, and so wait for the disk.
class Recorder : public OutputObserver {
 public:
  // The size of the terminal in the header of a recording.
  Recorder(uint32_t columns, uint32_t rows);
  // Calls Finalize().
  ~Recorder() override;

  // Fails with AlreadyExists if a recording runs; see active(). With other
  // errors, the directory cannot be made; the message reads as Node.js writes
  // it.
  absl::StatusOr<Recording> Start(const RecordingOptions& options);
  // Fails with NotFound if there is no such recording, and with
  // FailedPrecondition if it has ended by itself.
  absl::StatusOr<RecordingResult> Stop(const std::string& id);
  std::optional<Recording> active();
  // Saves the recording that runs, because corral-mcp ends.
  void Finalize();

  void OnOutput(const std::string& terminal, uint64_t offset,
                absl::string_view bytes) override;
  void OnResize(uint32_t columns, uint32_t rows) override;
  void OnEnd(int exit_code) override;

 private:
  struct Active {
    Recording recording;
    CastFile file;
    int64_t begin_ms;       // wall clock
    int64_t last_event_ms;  // of the wall clock
    int64_t last_output_ms;
    double seconds = 0;  // as recorded, with idle times shortened
    bool has_events = false;
    // The output of options.first's terminal is recorded from here on.
    uint64_t first_offset = 0;
  };

  // All of these are called with the mutex held.
  void AddFirstScreen();
  // Advances the time of the recording that runs to now, for an event.
  void GoOn();
  RecordingResult Finish(StopReason reason, std::optional<int> exit_code);
  // Returns the time at which the recording ends by itself, or no value if it
  // does not.
  std::optional<int64_t> Deadline(StopReason* reason) const;

  void WatchTime();

  const uint32_t columns_;
  const uint32_t rows_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Active> active_;
  // The recordings that ended by themselves, for the error of Stop().
  std::set<std::string> finished_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_RECORDING_RECORDER_H_
