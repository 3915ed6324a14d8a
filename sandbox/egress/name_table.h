// The names that were looked up, and the address that stands for each of them
// inside the sandbox.
//
// Lives in a memfd that the supervisor keeps, so that a restarted proxy knows
// the addresses that programs remember. Nobody else reads it.
//
// The size is fixed. A name keeps its address until kSlots other names were
// added. The address then means nothing until all other addresses have been
// given out. So a program could reach another host by an old address only if it
// kept the address while it looked up 131,070 other names.
//
// Not thread-safe.

#ifndef SANDBOX_EGRESS_NAME_TABLE_H_
#define SANDBOX_EGRESS_NAME_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/ip_address.h"

namespace egress {

// 198.18.0.0/15 is for tests of networks (RFC 2544) and never routed.
inline constexpr char kInnerNetwork[] = "198.18.0.0/15";
// A unique local prefix; RFC 4193.
inline constexpr char kInnerNetworkV6[] = "fdc0:11a1::/96";

class NameTable {
 public:
  // Makes a memfd for a table without names.
  static absl::StatusOr<sandbox::UniqueFd> MakeFile();
  // Continues the table in `file`, without its damaged entries.
  static absl::StatusOr<NameTable> Open(const sandbox::UniqueFd& file);

  NameTable(NameTable&& other) noexcept = default;

  // The addresses of a name, which is normalized. Adds it if it is not there.
  struct Addresses {
    IpAddress v4;
    IpAddress v6;
  };
  Addresses Add(absl::string_view name);

  // The name that an address stands for.
  std::optional<std::string> Find(const IpAddress& address) const;

  static constexpr size_t kSlots = 4096;

 private:
  struct Slot {
    // From 1 on, as in the addresses; 0 if the slot is free.
    uint32_t number;
    uint8_t length;
    char name[255];
  };
  // The content of the file.
  struct Table {
    // The number of the next new name.
    uint32_t next;
    // A name with number n is in slot n % kSlots.
    Slot slots[kSlots];
  };
  struct Unmap {
    void operator()(Table* table) const;
  };

  explicit NameTable(Table* table);
  static absl::string_view NameOf(const Slot& slot) {
    return {slot.name, slot.length};
  }

  std::unique_ptr<Table, Unmap> table_;
  std::map<std::string, uint32_t, std::less<>> numbers_;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_NAME_TABLE_H_
