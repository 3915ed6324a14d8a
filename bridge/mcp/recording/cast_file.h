// A recording of terminals on disk.

#ifndef BRIDGE_MCP_RECORDING_CAST_FILE_H_
#define BRIDGE_MCP_RECORDING_CAST_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bridge/asciicast/cast_lines.h"
#include "sandbox/base/unique_fd.h"

namespace bridge {

// Makes a directory and those above it. The errors read as Node.js writes them:
// "ENOTDIR: not a directory, mkdir '/x'".
absl::Status MakeDirectories(const std::string& directory);

// Not thread-safe. Written in a temporary directory; Save() moves it.
class CastFile {
 public:
  // Creates the file and writes the header.
  static absl::StatusOr<CastFile> Create(const std::string& path,
                                         uint32_t columns, uint32_t rows,
                                         int64_t unix_seconds);

  // `seconds`: since the start. The first error is returned by Save().
  void AddOutput(double seconds, absl::string_view output);
  void AddResize(double seconds, uint32_t columns, uint32_t rows);

  // The size of the file.
  uint64_t bytes() const { return bytes_; }

  // Moves the file to `path`, also across file systems.
  absl::Status Save(const std::string& path);
  void Discard();

 private:
  CastFile(std::string path, sandbox::UniqueFd file)
      : path_(std::move(path)), file_(std::move(file)) {}

  void Append(const std::string& line);

  std::string path_;
  sandbox::UniqueFd file_;
  uint64_t bytes_ = 0;
  CastLines lines_;
  absl::Status failure_;
};

// Writes a small file; replaces what is there. A reader sees all of it or
// nothing.
absl::Status WriteWhole(const std::string& path, const std::string& content);

}  // namespace bridge

#endif  // BRIDGE_MCP_RECORDING_CAST_FILE_H_
