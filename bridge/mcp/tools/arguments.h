// The arguments of a tool call.

#ifndef BRIDGE_MCP_TOOLS_ARGUMENTS_H_
#define BRIDGE_MCP_TOOLS_ARGUMENTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bridge/jsonrpc/json.h"

namespace bridge {

// Reads members by name; unknown ones are ignored. The errors (InvalidArgument)
// name the argument, what is expected and what was received.
class Arguments {
 public:
  // `values` must outlive this object; a value that is no object has no
  // members.
  explicit Arguments(const OrderedJson& values) : values_(values) {}

  absl::StatusOr<std::string> RequiredString(const char* name) const;
  absl::StatusOr<std::string> String(const char* name,
                                     const std::string& otherwise) const;
  absl::StatusOr<bool> Bool(const char* name, bool otherwise) const;
  absl::StatusOr<double> Number(const char* name, double otherwise) const;
  // A whole number in [min, max].
  absl::StatusOr<int64_t> Integer(const char* name, int64_t otherwise,
                                  int64_t min, int64_t max) const;
  // One of `allowed`; absent: the first.
  absl::StatusOr<std::string> Choice(
      const char* name, const std::vector<std::string>& allowed) const;

  // An array of some of `allowed`; absent: nothing.
  absl::StatusOr<std::optional<std::vector<std::string>>> Choices(
      const char* name, const std::vector<std::string>& allowed) const;

 private:
  // Returns null if it is not there.
  const OrderedJson* Find(const char* name) const;

  const OrderedJson& values_;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_TOOLS_ARGUMENTS_H_
