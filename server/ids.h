// Ids that the server makes up: the last part of a name, and a sandbox's range
// of the kernel's ids.

#ifndef SERVER_IDS_H_
#define SERVER_IDS_H_

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>

namespace server {

// Ten characters of a-z and 2-7, a letter first: 50 bits of the kernel's
// randomness.
std::string MakeId();

// The ranges of 65536 user and group ids, one for each sandbox, so that no two
// sandboxes share a kernel uid.
//
// Not thread-safe.
class SubordinateIds {
 public:
  static constexpr int kRanges = 4096;
  static constexpr uint32_t kRangeSize = 65536;
  static constexpr uint32_t kFirst = 0x70000000;

  // The first id of a free range; of those the one that was used least
  // recently, at best.
  std::optional<uint32_t> Take();

  // Takes a certain range. False: it is taken, or is none.
  bool Claim(uint32_t first_id);

  void Release(uint32_t first_id);

 private:
  std::bitset<kRanges> taken_;
  int next_ = 0;
};

}  // namespace server

#endif  // SERVER_IDS_H_
