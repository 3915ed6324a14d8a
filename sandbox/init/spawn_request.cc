#include "sandbox/init/spawn_request.h"

#include <linux/errno.h>

namespace sandbox::init {
namespace {

// Takes NUL-terminated strings one after the other.
class StringReader {
 public:
  StringReader(char* begin, char* end) : next_(begin), end_(end) {}

  // Returns null if no terminated string is left.
  char* Take() {
    char* const string = next_;
    while (next_ < end_) {
      if (*next_++ == '\0') {
        return string;
      }
    }
    return nullptr;
  }
  bool at_end() const { return next_ == end_; }

 private:
  char* next_;
  char* const end_;
};

// Ends `table` with a null pointer and returns the place behind it, or null if
// a string is missing.
char** FillTable(StringReader& strings, uint32_t count, char** table) {
  for (uint32_t i = 0; i < count; ++i) {
    *table = strings.Take();
    if (*table++ == nullptr) {
      return nullptr;
    }
  }
  *table++ = nullptr;
  return table;
}

// The offset is that of a terminated string behind the request's header.
bool IsString(const char* exchange, uint32_t offset) {
  if (offset < kExchangeStrings) {
    return false;
  }
  for (size_t at = offset; at < kExchangeSize; ++at) {
    if (exchange[at] == '\0') {
      return true;
    }
  }
  return false;
}

}  // namespace

long LayOut(char* exchange, const SpawnRequest& request,
            CommandStrings* strings) {
  const uint64_t strings_end =
      uint64_t{kExchangeStrings} + request.strings_size;
  const uint64_t tables = (strings_end + 7) & ~uint64_t{7};
  const uint64_t pointers =
      uint64_t{request.argument_count} + request.environment_count + 2;
  if (request.argument_count == 0 ||
      tables + pointers * sizeof(char*) > kExchangeSize) {
    return -EINVAL;
  }
  StringReader reader(exchange + kExchangeStrings, exchange + strings_end);
  strings->working_directory = reader.Take();
  strings->arguments = reinterpret_cast<char**>(exchange + tables);
  strings->environment =
      FillTable(reader, request.argument_count, strings->arguments);
  if (strings->working_directory == nullptr ||
      strings->environment == nullptr ||
      FillTable(reader, request.environment_count, strings->environment) ==
          nullptr ||
      !reader.at_end()) {
    return -EINVAL;
  }
  strings->search_path = nullptr;
  if (request.path_offset != 0) {
    if (!IsString(exchange, request.path_offset)) {
      return -EINVAL;
    }
    strings->search_path = exchange + request.path_offset;
  }
  return 0;
}

long CheckUser(const SpawnRequest& request) {
  return request.user_id == 0 || request.user_id == ~uint32_t{0} ? -EINVAL : 0;
}

long CheckDescriptors(const SpawnRequest& request, int count, bool truncated) {
  if (truncated) {
    return -EMFILE;
  }
  bool complete = false;
  switch (request.group) {
    case SpawnGroup::kTasks:
      complete = count > kStreamFds && count <= kMaxSpawnFds;
      break;
    case SpawnGroup::kDirectory:
      complete = count == kStreamFds + 1;
      break;
    case SpawnGroup::kNone:
      complete = count == kStreamFds;
      break;
  }
  return complete ? 0 : -EINVAL;
}

}  // namespace sandbox::init
