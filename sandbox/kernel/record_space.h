// Where the records of commands find room when a command has filled the disk of
// its workspace.

#ifndef SANDBOX_KERNEL_RECORD_SPACE_H_
#define SANDBOX_KERNEL_RECORD_SPACE_H_

#include <string>

namespace sandbox {

enum class RecordSpace {
  // No workspace is on the file system of the records.
  kOwnFileSystem,
  // The file system keeps blocks for root, which this process is, but no
  // inodes.
  kReservedBlocks,
  // A workspace may be there, and whoever fills it leaves no room.
  kShared,
};

// `directory` is the server's state directory, which need not exist yet; no
// workspace can be it or below it.
RecordSpace FindRecordSpace(const std::string& directory);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_RECORD_SPACE_H_
