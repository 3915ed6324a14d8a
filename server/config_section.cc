#include "server/config_section.h"

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "sandbox/base/status_macros.h"
#include "server/api/ranges.h"

namespace server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr char kPathRule[] = "an absolute path";

}  // namespace

std::string Position(absl::string_view file, int line, int column) {
  return absl::StrCat(file, ":", line + 1, ":", column + 1, ": ");
}

const FieldDescriptor* ConfigSection::Field(const std::string& name) const {
  return message_.GetDescriptor()->FindFieldByName(name);
}

bool ConfigSection::Has(const std::string& name) const {
  return message_.GetReflection()->HasField(message_, Field(name));
}

uint64_t ConfigSection::Number(const std::string& name) const {
  const FieldDescriptor* field = Field(name);
  const auto* reflection = message_.GetReflection();
  return field->cpp_type() == FieldDescriptor::CPPTYPE_UINT32
             ? reflection->GetUInt32(message_, field)
             : reflection->GetUInt64(message_, field);
}

ConfigSection ConfigSection::Nested(const std::string& name, int index) const {
  const auto* reflection = message_.GetReflection();
  const Message& nested =
      index < 0 ? reflection->GetMessage(message_, Field(name))
                : reflection->GetRepeatedMessage(message_, Field(name), index);
  return ConfigSection(file_, nested,
                       locations_->GetTreeForNested(Field(name), index));
}

int ConfigSection::Size(const std::string& name) const {
  return message_.GetReflection()->FieldSize(message_, Field(name));
}

absl::Status ConfigSection::CheckRange(const std::string& name,
                                       const Range& range) const {
  if (!Has(name) || range.Contains(Number(name))) {
    return absl::OkStatus();
  }
  return Refuse(name, absl::StrCat(Number(name)),
                absl::StrCat("[", range.least, ", ", range.most, "]"));
}

absl::Status ConfigSection::CheckPath(const std::string& name) const {
  const std::string path =
      message_.GetReflection()->GetString(message_, Field(name));
  return path.empty() || absl::StartsWith(path, "/")
             ? absl::OkStatus()
             : Refuse(name, path, kPathRule);
}

absl::Status ConfigSection::CheckPaths(const std::string& name) const {
  const auto* reflection = message_.GetReflection();
  const int size = reflection->FieldSize(message_, Field(name));
  for (int i = 0; i < size; ++i) {
    const std::string path =
        reflection->GetRepeatedString(message_, Field(name), i);
    if (!absl::StartsWith(path, "/")) {
      return Refuse(name, path, kPathRule, i);
    }
  }
  return absl::OkStatus();
}

absl::Status ConfigSection::CheckPresent(const std::string& name,
                                         absl::string_view allowed) const {
  return Has(name)
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat(
                   file_, ": field ", name, " is missing; allowed: ", allowed));
}

absl::Status ConfigSection::Refuse(const std::string& name,
                                   absl::string_view value,
                                   absl::string_view allowed, int index) const {
  const auto location = locations_->GetLocation(Field(name), index);
  return absl::InvalidArgumentError(
      absl::StrCat(Position(file_, location.line, location.column), "field ",
                   name, ": value \"", value, "\"; allowed: ", allowed));
}

}  // namespace server
