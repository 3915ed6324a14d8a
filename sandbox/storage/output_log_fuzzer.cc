// A log whose header and size a crash of the machine, or a disk, has changed.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/status/statusor.h"
#include "sandbox/base/log.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/execution_layout.h"
#include "sandbox/storage/output_log.h"

namespace {

void ReadAll(const std::string& path, size_t size) {
  const absl::StatusOr<sandbox::OutputLogReader> log =
      sandbox::OutputLogReader::Open(path, sandbox::wire::STDOUT);
  if (!log.ok()) {
    return;
  }
  const absl::StatusOr<sandbox::OutputLogState> state = log->state();
  if (!state.ok()) {
    return;
  }
  char buffer[512];
  uint64_t offset = state->begin;
  for (size_t read = 0; read <= size;) {
    const absl::StatusOr<size_t> got =
        log->Read(offset, buffer, sizeof(buffer));
    if (!got.ok() || *got == 0) {
      return;
    }
    CHECK(*got <= sizeof(buffer));
    offset += *got;
    read += *got;
  }
  LOG(FATAL) << "the log has more bytes than its file";
}

void Write(const sandbox::UniqueFd& file, const void* data, size_t size,
           size_t position) {
  CHECK(::pwrite(file.get(), data, size, static_cast<off_t>(position)) ==
        static_cast<ssize_t>(size));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A log is opened without following links, so it cannot be a memfd below
  // /proc/self/fd.
  std::string path = "/dev/shm/output_log_XXXXXX";
  const sandbox::UniqueFd file(::mkostemp(path.data(), O_CLOEXEC));
  CHECK(file.valid());
  // The seeds have the fields of a header, and then output of the window.
  constexpr size_t kFields = sizeof(sandbox::OutputLogHeader::Fields);
  const size_t fields = std::min(size, kFields);
  Write(file, sandbox::ExecutionHeader::kMagic,
        sizeof(sandbox::ExecutionHeader::kMagic), 0);
  Write(file, data, fields, sandbox::kOutputPlace.header);
  Write(file, data + fields, size - fields, sandbox::kOutputPlace.window);
  ReadAll(path, size);
  if (sandbox::CutOutputLog(path, sandbox::wire::STDOUT).ok()) {
    ReadAll(path, size);
  }
  CHECK(::unlink(path.c_str()) == 0);
  return 0;
}
