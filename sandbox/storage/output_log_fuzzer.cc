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
#include "sandbox/storage/output_log.h"

namespace {

void ReadAll(const std::string& path, size_t size) {
  const absl::StatusOr<sandbox::OutputLogReader> log =
      sandbox::OutputLogReader::Open(path);
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A log is opened without following links, so it cannot be a memfd below
  // /proc/self/fd.
  std::string path = "/dev/shm/output_log_XXXXXX";
  const sandbox::UniqueFd file(::mkostemp(path.data(), O_CLOEXEC));
  CHECK(file.valid());
  // The seeds have the fields of a header, and then output.
  constexpr size_t kFields = sizeof(sandbox::OutputLogHeader::Page);
  const size_t fields = std::min(size, kFields);
  CHECK(::pwrite(file.get(), data, fields, 0) == static_cast<ssize_t>(fields));
  if (size > kFields) {
    CHECK(::pwrite(file.get(), data + kFields, size - kFields,
                   sandbox::OutputLogHeader::kSize) ==
          static_cast<ssize_t>(size - kFields));
  }
  ReadAll(path, size);
  if (sandbox::CutOutputLog(path).ok()) {
    ReadAll(path, size);
  }
  CHECK(::unlink(path.c_str()) == 0);
  return 0;
}
