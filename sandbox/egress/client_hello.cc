#include "sandbox/egress/client_hello.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace egress {
namespace {

constexpr uint8_t kHandshakeRecord = 22;
constexpr uint8_t kClientHelloMessage = 1;
constexpr size_t kRecordHeader = 5;
constexpr size_t kMessageHeader = 4;
constexpr size_t kMaxRecord = 1 << 14;
constexpr uint16_t kServerNameExtension = 0;
constexpr uint16_t kEncryptedExtension = 0xfe0d;
constexpr uint8_t kHostName = 0;

// Takes values from the front of a message. Once it has too few bytes, every
// value is empty and ok() is false.
class Reader {
 public:
  explicit Reader(absl::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  bool empty() const { return rest_.empty(); }

  absl::string_view Bytes(size_t size) {
    if (size > rest_.size()) {
      ok_ = false;
      rest_ = "";
      return "";
    }
    const absl::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  // A number of `size` bytes.
  uint32_t Number(size_t size) {
    uint32_t value = 0;
    for (const char c : Bytes(size)) {
      value = value << 8 | static_cast<uint8_t>(c);
    }
    return value;
  }
  // Bytes after their length, which takes `size` bytes.
  absl::string_view Vector(size_t size) { return Bytes(Number(size)); }

 private:
  absl::string_view rest_;
  bool ok_ = true;
};

// Returns false if the extension is malformed or has not exactly one host name.
bool ReadServerName(absl::string_view extension, ClientHello* hello) {
  Reader reader(extension);
  Reader list(reader.Vector(2));
  const uint32_t type = list.Number(1);
  hello->server_name = std::string(list.Vector(2));
  return reader.ok() && reader.empty() && list.ok() && list.empty() &&
         type == kHostName && !hello->server_name.empty();
}

bool ReadExtensions(absl::string_view bytes, ClientHello* hello) {
  Reader extensions(bytes);
  while (extensions.ok() && !extensions.empty()) {
    const uint32_t type = extensions.Number(2);
    const absl::string_view content = extensions.Vector(2);
    if (type == kServerNameExtension) {
      // A second one could contradict the first one.
      if (!hello->server_name.empty() || !ReadServerName(content, hello)) {
        return false;
      }
    }
    hello->encrypted = hello->encrypted || type == kEncryptedExtension;
  }
  return extensions.ok();
}

bool ReadMessage(absl::string_view message, ClientHello* hello) {
  Reader reader(message);
  reader.Bytes(2 + 32);  // version and random
  reader.Vector(1);      // session
  reader.Vector(2);      // ciphers
  reader.Vector(1);      // compression
  if (!reader.ok()) {
    return false;
  }
  if (reader.empty()) {
    return true;  // a client from before extensions
  }
  const absl::string_view extensions = reader.Vector(2);
  return reader.ok() && reader.empty() && ReadExtensions(extensions, hello);
}

// Returns true if `messages` begins with a whole handshake message.
bool HasMessage(const std::string& messages) {
  if (messages.size() < kMessageHeader) {
    return false;
  }
  Reader header(messages);
  header.Number(1);
  return messages.size() - kMessageHeader >= header.Number(3);
}

// Appends the content of the whole records in `bytes`. Returns false if these
// are no handshake records.
bool JoinRecords(absl::string_view bytes, std::string* messages) {
  while (!bytes.empty()) {
    if (static_cast<uint8_t>(bytes[0]) != kHandshakeRecord ||
        (bytes.size() > 1 && bytes[1] != 3)) {
      return false;
    }
    if (bytes.size() < kRecordHeader) {
      return true;
    }
    const size_t size = static_cast<size_t>(
        static_cast<uint8_t>(bytes[3]) << 8 | static_cast<uint8_t>(bytes[4]));
    if (size == 0 || size > kMaxRecord) {
      return false;
    }
    if (bytes.size() - kRecordHeader < size) {
      return true;  // its end may hold something else
    }
    absl::StrAppend(messages, bytes.substr(kRecordHeader, size));
    bytes.remove_prefix(kRecordHeader + size);
    if (HasMessage(*messages)) {
      return true;  // the records after it are not part of it
    }
  }
  return true;
}

}  // namespace

ClientHello ParseClientHello(absl::string_view bytes) {
  ClientHello hello;
  std::string messages;
  if (!JoinRecords(bytes, &messages)) {
    return hello;
  }
  Reader reader(messages);
  const uint32_t type = reader.Number(1);
  const size_t size = reader.Number(3);
  if ((!messages.empty() && type != 0 && type != kClientHelloMessage) ||
      size > kMaxClientHello) {
    return hello;
  }
  const absl::string_view message = reader.Bytes(size);
  if (!reader.ok()) {
    hello.state = bytes.size() <= kMaxClientHello
                      ? ClientHello::State::kIncomplete
                      : ClientHello::State::kMalformed;
    return hello;
  }
  if (type == kClientHelloMessage && reader.empty() &&
      ReadMessage(message, &hello)) {
    hello.state = ClientHello::State::kComplete;
  }
  return hello;
}

}  // namespace egress
