#include "server/screen/emulator/emulation.h"

#include <unistd.h>

#include <cstdint>
#include <string>

#include "corral/v1/screen.pb.h"
#include "server/screen/emulator/frames.h"
#include "server/screen/emulator/screen_message.h"
#include "server/screen/emulator/terminal.h"

namespace screen {
namespace {

bool ReadAll(int socket, void* buffer, size_t size) {
  char* at = static_cast<char*>(buffer);
  while (size > 0) {
    const ssize_t got = ::read(socket, at, size);
    if (got <= 0) {
      return false;
    }
    at += got;
    size -= got;
  }
  return true;
}

bool WriteAll(int socket, const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t put = ::write(socket, bytes.data() + at, bytes.size() - at);
    if (put <= 0) {
      return false;
    }
    at += put;
  }
  return true;
}

bool SendScreen(int socket, const Terminal& terminal, const Request& request) {
  const std::string answers = terminal.answers().From(request.offset);
  const std::string message =
      Describe(terminal, request.scrollback_lines, request.styles != 0)
          .SerializeAsString();
  const Reply reply = {static_cast<uint32_t>(answers.size()),
                       static_cast<uint32_t>(message.size())};
  std::string bytes(reinterpret_cast<const char*>(&reply), sizeof(reply));
  bytes += answers;
  bytes += message;
  return WriteAll(socket, bytes);
}

bool IsValidSize(const Request& request) {
  return request.rows > 0 && request.columns > 0 && request.rows <= kMaxRows &&
         request.columns <= kMaxColumns &&
         request.rows * request.columns <= kMaxScreenCells;
}

bool Write(int socket, Terminal& terminal, const Request& request) {
  if (request.size > kMaxWrite) {
    return false;
  }
  std::string output(request.size, '\0');
  if (!ReadAll(socket, output.data(), output.size())) {
    return false;
  }
  terminal.Write(output);
  return true;
}

// Returns false if the request is not valid, or its sender is gone.
bool Serve(int socket, Terminal& terminal, const Request& request) {
  switch (request.action) {
    case Action::kWrite:
      return Write(socket, terminal, request);
    case Action::kClear:
      terminal.Clear();
      return true;
    case Action::kGet:
      return SendScreen(socket, terminal, request);
    case Action::kSkip:
      terminal.Skip(request.offset);
      return true;
    default:
      return false;
  }
}

}  // namespace

void Emulate(int socket) {
  Request request;
  if (!ReadAll(socket, &request, sizeof(request)) ||
      request.action != Action::kBegin || !IsValidSize(request)) {
    return;
  }
  Terminal terminal(static_cast<int>(request.rows),
                    static_cast<int>(request.columns), request.offset);
  while (ReadAll(socket, &request, sizeof(request)) &&
         Serve(socket, terminal, request)) {
  }
}

}  // namespace screen
