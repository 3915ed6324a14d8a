// One read of an output log: first without waiting, and then, if the disk is
// needed, on a thread that may wait for it.
//
// Not thread-safe: it belongs to the thread that calls Try() or Run().

#ifndef SERVER_RPC_LOG_READ_H_
#define SERVER_RPC_LOG_READ_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "corral/v1/execution.pb.h"
#include "server/core/execution.h"

namespace server {

class LogRead {
 public:
  // A read of up to `size` bytes at `offset`. With size 0 it only opens the
  // log. `log` may be null if the caller has not opened it. The memory of
  // `buffer` is used again.
  LogRead(std::shared_ptr<Execution> execution, corral::v1::Stream stream,
          Execution::LogReader log, uint64_t offset, size_t size,
          std::string buffer);

  // Reads if no disk is needed for that. Returns true if there is a result.
  // Never waits.
  bool Try();
  // Opens the log, unless somebody has it open, and reads. Blocks on the disk.
  void Run();

  const std::shared_ptr<Execution>& execution() const { return execution_; }
  corral::v1::Stream stream() const { return stream_; }
  uint64_t offset() const { return offset_; }

  // The result: NotFound if there is no log, OutOfRange if the byte at the
  // offset is not kept (the execution's state of the stream is up to date
  // then), DataLoss if a byte that should exist is missing. Other errors are
  // those of open(2) and read(2).
  const absl::Status& status() const { return status_; }
  // Returns at least one byte if the status is OK and the size was not 0. Call
  // it once.
  std::string TakeData() { return std::move(data_); }
  // Null if the log could not be opened.
  const Execution::LogReader& log() const { return log_; }

 private:
  absl::Status Read();

  std::shared_ptr<Execution> execution_;
  corral::v1::Stream stream_;
  Execution::LogReader log_;
  uint64_t offset_;
  std::string data_;
  absl::Status status_;
};

// Returns the error for a log that cannot be read: SANDBOX_NOT_READY
// (UNAVAILABLE) after a shortage of descriptors or memory, which does not last,
// otherwise SERVER_FAULT.
absl::Status ToReadError(const Execution& execution, const absl::Status& cause);

}  // namespace server

#endif  // SERVER_RPC_LOG_READ_H_
