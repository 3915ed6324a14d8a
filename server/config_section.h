// One message of a parsed configuration file, with the positions of its fields.

#ifndef SERVER_CONFIG_SECTION_H_
#define SERVER_CONFIG_SECTION_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "server/api/ranges.h"

namespace server {

// Checks single fields. Every error is InvalidArgument: "FILE:LINE:COLUMN:
// field NAME: value "V"; allowed: RULE". `name` must be a field of the message.
class ConfigSection {
 public:
  // All must outlive this object.
  ConfigSection(const std::string& file,
                const google::protobuf::Message& message,
                const google::protobuf::TextFormat::ParseInfoTree* locations)
      : file_(file), message_(message), locations_(locations) {}

  // Returns true if the file gives the field, but false for 0 and "" in a field
  // that is not marked optional.
  bool Has(const std::string& name) const;

  // The value of an unsigned field, which may be absent.
  uint64_t Number(const std::string& name) const;

  // The message in the field `name`; an empty one if it is absent. `index`
  // counts the elements of a repeated field; -1 for other fields.
  ConfigSection Nested(const std::string& name, int index = -1) const;

  // The number of elements of a repeated field.
  int Size(const std::string& name) const;

  // Check the field. Both return OK if it is absent.
  absl::Status CheckRange(const std::string& name, const Range& range) const;
  absl::Status CheckPath(const std::string& name) const;
  // The same for each element of a repeated field.
  absl::Status CheckPaths(const std::string& name) const;

  // Fails if the field is absent.
  absl::Status CheckPresent(const std::string& name,
                            absl::string_view allowed) const;

  // Returns the error for a value that is not allowed. `index` counts the
  // elements of a repeated field; -1 for other fields.
  absl::Status Refuse(const std::string& name, absl::string_view value,
                      absl::string_view allowed, int index = -1) const;

 private:
  const google::protobuf::FieldDescriptor* Field(const std::string& name) const;

  const std::string& file_;
  const google::protobuf::Message& message_;
  const google::protobuf::TextFormat::ParseInfoTree* const locations_;
};

// Returns "FILE:LINE:COLUMN: ". Line and column count from 0 in the arguments,
// from 1 in the text.
std::string Position(absl::string_view file, int line, int column);

}  // namespace server

#endif  // SERVER_CONFIG_SECTION_H_
