#include "sandbox/egress/name_table.h"

#include <arpa/inet.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "sandbox/egress/host_name.h"

namespace egress {
namespace {

constexpr uint32_t kFirstAddress = 198U << 24 | 18U << 16;
// The first and the last address of the network stay unused.
constexpr uint32_t kLastNumber = (1U << 17) - 2;
// The first 12 bytes of kInnerNetworkV6.
constexpr uint8_t kPrefix[12] = {0xfd, 0xc0, 0x11, 0xa1};

NameTable::Addresses AddressesOf(uint32_t number) {
  const in_addr v4 = {htonl(kFirstAddress + number)};
  in6_addr v6 = {};
  std::memcpy(v6.s6_addr, kPrefix, sizeof(kPrefix));
  const uint32_t suffix = htonl(number);
  std::memcpy(v6.s6_addr + sizeof(kPrefix), &suffix, sizeof(suffix));
  return {IpAddress(v4), IpAddress(v6)};
}

// Returns 0 if the address is none of the table.
uint32_t NumberOf(const IpAddress& address) {
  const auto& bytes = address.bytes();
  uint32_t value;
  if (address.family() == AF_INET) {
    std::memcpy(&value, bytes.data(), sizeof(value));
    return ntohl(value) - kFirstAddress;
  }
  std::memcpy(&value, bytes.data() + sizeof(kPrefix), sizeof(value));
  return std::equal(std::begin(kPrefix), std::end(kPrefix), bytes.begin())
             ? ntohl(value)
             : 0;
}

}  // namespace

absl::StatusOr<sandbox::UniqueFd> NameTable::MakeFile() {
  sandbox::UniqueFd file(::memfd_create("corral-names", MFD_CLOEXEC));
  if (!file.valid() || ::ftruncate(file.get(), sizeof(Table)) != 0) {
    return absl::ErrnoToStatus(errno, "memfd for names");
  }
  return file;
}

absl::StatusOr<NameTable> NameTable::Open(const sandbox::UniqueFd& file) {
  void* const table = ::mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE,
                             MAP_SHARED, file.get(), 0);
  if (table == MAP_FAILED) {
    return absl::ErrnoToStatus(errno, "map the names");
  }
  return NameTable(static_cast<Table*>(table));
}

NameTable::NameTable(Table* table) : table_(table) {
  for (size_t i = 0; i < kSlots; ++i) {
    Slot& slot = table->slots[i];
    const bool used = slot.number != 0 && slot.number <= kLastNumber;
    if (used && slot.number % kSlots == i &&
        NormalizeHostName(NameOf(slot)) == NameOf(slot)) {
      numbers_[std::string(NameOf(slot))] = slot.number;
    } else {
      slot = {};
    }
  }
}

void NameTable::Unmap::operator()(Table* table) const {
  ::munmap(table, sizeof(Table));
}

NameTable::Addresses NameTable::Add(absl::string_view name) {
  const auto found = numbers_.find(name);
  if (found != numbers_.end()) {
    return AddressesOf(found->second);
  }
  if (table_->next == 0 || table_->next > kLastNumber) {
    table_->next = 1;
  }
  const uint32_t number = table_->next++;
  Slot& slot = table_->slots[number % kSlots];
  if (slot.number != 0) {
    numbers_.erase(numbers_.find(NameOf(slot)));
  }
  slot.number = number;
  slot.length = static_cast<uint8_t>(name.size());
  std::memcpy(slot.name, name.data(), name.size());
  numbers_.emplace(std::string(name), number);
  return AddressesOf(number);
}

std::optional<std::string> NameTable::Find(const IpAddress& address) const {
  const uint32_t number = NumberOf(address);
  const Slot& slot = table_->slots[number % kSlots];
  if (number == 0 || slot.number != number) {
    return std::nullopt;
  }
  return std::string(NameOf(slot));
}

}  // namespace egress
