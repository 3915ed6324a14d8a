// The threads that may block, one pool for each kind of work. No kind waits
// behind another: a kill never queues behind the removal of files, and the
// start of a sandbox never queues behind the reading of records or behind a
// workspace on a disk that hangs. Sandboxes on a disk that hangs delay the work
// of the same kind for others by kPatience.
//
// Thread-safe.

#ifndef SERVER_CORE_LANES_H_
#define SERVER_CORE_LANES_H_

#include <chrono>

#include "server/core/disk_reads.h"
#include "server/runtime/worker_pool.h"

namespace server {

struct Lanes {
  static constexpr std::chrono::milliseconds kPatience{250};
  // Removals of many files take longer, and more of them at a time are not
  // faster.
  static constexpr std::chrono::seconds kRemovalPatience{2};

  // Records sandboxes and starts their supervisors, or connects to those of an
  // earlier server.
  WorkerPool launches{8, kPatience};
  // Syncs records of sandboxes, which is mostly a wait for the disk. Those that
  // wait at a time share it.
  WorkerPool syncs{8, kPatience};
  // Records that a deletion has begun, which is one small file, and then has
  // the supervisor kill what runs.
  WorkerPool kills{2, kPatience};
  // Reads the descriptions of an earlier server's sandboxes, each of which may
  // lie on a disk that hangs.
  WorkerPool descriptions{8, kPatience};
  // Reads the records of executions. Each job holds one record at a time.
  WorkerPool records{4, kPatience};
  // Removes directories of any size, and drops output that has expired.
  WorkerPool removals{2, kRemovalPatience};
  // Reads what a call asks for, where that may wait for the disk.
  DiskReads reads{16};
  // Checks workspaces, one after another for each path: see WorkspaceChecks.
  DiskReads workspaces{8};

  // Returns when all work given to the lanes so far has run. Later work is
  // dropped.
  void Stop();

  // The same, for at most `longest`. Returns false if work still runs then, for
  // instance because a disk does not answer. The process must then exit without
  // destroying what the work uses.
  bool StopWithin(std::chrono::milliseconds longest);
};

}  // namespace server

#endif  // SERVER_CORE_LANES_H_
