#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/log.h"
#include "sandbox/storage/record_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using corral::supervisor::v1::ExecutionRecord;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  ExecutionRecord record;
  (void)sandbox::UnsealRecord(bytes, &record);
  if (!record.ParseFromArray(data, static_cast<int>(size))) {
    return 0;
  }
  std::string sealed = sandbox::SealRecord(record);
  ExecutionRecord read;
  CHECK(sandbox::UnsealRecord(sealed, &read).ok());
  CHECK(sandbox::SealRecord(read) == sealed);
  // Each torn or changed record is noticed.
  sealed[size % sealed.size()] ^= 0x10;
  CHECK(!sandbox::UnsealRecord(sealed, &read).ok());
  CHECK(!sandbox::UnsealRecord(
             absl::string_view(sealed).substr(0, sealed.size() - 1), &read)
             .ok());
  return 0;
}
