// The threads that may block, one pool for each kind of work: no kind waits
// behind another. A kill never queues behind the removal of files, and the
// start of a sandbox never queues behind the reading of records.
//
// Thread-safe.

#ifndef SERVER_CORE_LANES_H_
#define SERVER_CORE_LANES_H_

#include "server/core/disk_reads.h"
#include "server/runtime/worker_pool.h"

namespace server {

struct Lanes {
  // Starts supervisors, and connects to those of an earlier server.
  WorkerPool launches{2};
  // Records that a deletion has begun, which is one small file, and then has
  // the supervisor kill what runs.
  WorkerPool kills{2};
  // Reads the records of executions. Each job holds one record at a time.
  WorkerPool records{4};
  // Removes directories of any size, and drops output that has expired.
  WorkerPool removals{2};
  // Reads what a call asks for, where that may wait for the disk.
  DiskReads reads{16};

  // Returns when everything given to the lanes has run. Later work is dropped.
  void Stop() {
    launches.Stop();
    kills.Stop();
    records.Stop();
    removals.Stop();
    reads.Stop();
  }
};

}  // namespace server

#endif  // SERVER_CORE_LANES_H_
