// Writes the record of a command's end to disk, and retries until the disk
// takes it.
//
// Used on the event loop's thread only. Not movable: a timer refers to it.

#ifndef SANDBOX_SUPERVISOR_END_WRITER_H_
#define SANDBOX_SUPERVISOR_END_WRITER_H_

#include <functional>
#include <string>
#include <utility>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/timers.h"
#include "sandbox/supervisor/execution_files.h"
#include "sandbox/supervisor/record_sync.h"
#include "sandbox/supervisor/storage_status.h"

namespace sandbox {

class EndWriter {
 public:
  // `written` is called once, when a record is on disk. All pointers outlive
  // this.
  EndWriter(Timers* timers, StorageStatus* storage, RecordSync* sync,
            ExecutionFiles* files, std::function<void()> written)
      : timers_(timers),
        storage_(storage),
        sync_(sync),
        files_(files),
        written_(std::move(written)) {}
  ~EndWriter() { storage_->Succeed(this); }
  EndWriter(const EndWriter&) = delete;
  EndWriter& operator=(const EndWriter&) = delete;

  // Writes `end` now, or later if the disk refuses. Until it is written, a
  // later call replaces it.
  void Write(const wire::ExecutionRecord& end);
  // Writes nothing any more: the files are about to be removed.
  void Stop() { retry_.Cancel(); }

 private:
  void Try();

  Timers* const timers_;
  StorageStatus* const storage_;
  RecordSync* const sync_;
  ExecutionFiles* const files_;
  const std::function<void()> written_;
  // The execution's id, for messages.
  std::string id_;
  // The record to write.
  std::string sealed_;
  // Output may come after the end.
  bool output_open_ = false;
  Timer retry_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_END_WRITER_H_
