// A reader of one execution's output that compares every byte, and resumes the
// stream at its offset when the server goes away.

#ifndef TESTS_CHAOS_READER_H_
#define TESTS_CHAOS_READER_H_

#include <cstdint>
#include <map>
#include <string>

#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "tests/chaos/calls.h"
#include "tests/chaos/tally.h"
#include "tests/chaos/workload.h"

namespace tests {

// Not thread-safe.
class Reader {
 public:
  // Reads both streams of `execution` from the given offsets on; an offset that
  // is not given is 0.
  Reader(Calls& calls, Tally& tally, const Workload& workload,
         std::string execution,
         std::map<corral::v1::Stream, uint64_t> cursors = {});

  // Acknowledges what it has read; for BLOCK.
  void Acknowledge() { acknowledges_ = true; }

  // Reads until the end, or until `bytes` were read. Returns false if it
  // failed; the tally has the reason.
  bool Read(uint64_t bytes = UINT64_MAX);

  // Has a name when the end has come.
  const corral::v1::Execution& ended() const { return ended_; }

 private:
  // One call of StreamOutput.
  grpc::Status Stream();
  void Accept(const corral::v1::OutputEvent& event);
  void AcceptChunk(const corral::v1::Chunk& chunk);
  void AcceptGap(const corral::v1::Gap& gap);
  void AcceptEnd(const corral::v1::Execution& ended);
  bool MayHaveGap(const corral::v1::Gap& gap) const;
  void MaybeAcknowledge();
  bool done() const { return failed_ || !ended_.name().empty() || left_ == 0; }
  void Fail(const std::string& what);
  void ReportSilence();

  Calls& calls_;
  Tally& tally_;
  const Workload& workload_;
  const std::string execution_;
  std::map<corral::v1::Stream, uint64_t> cursors_;
  bool acknowledges_ = false;
  uint64_t unacknowledged_ = 0;
  uint64_t left_ = 0;
  bool failed_ = false;
  corral::v1::Execution ended_;
};

// Compares the end and counts the starts.
void CheckEnd(const corral::v1::Execution& execution, const Workload& workload,
              Tally& tally);

// The number of lines in the ledger.
int CountStarts(const Workload& workload);

}  // namespace tests

#endif  // TESTS_CHAOS_READER_H_
