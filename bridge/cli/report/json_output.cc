#include "bridge/cli/report/json_output.h"

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bridge/cli/report/escaped_text.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/descriptor_database.h"
#include "google/protobuf/dynamic_message.h"
#include "google/protobuf/util/json_util.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::FieldDescriptor;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorProto;
using google::protobuf::Message;
using google::protobuf::Reflection;

// protobuf's JSON writes fields of type bytes as base64, and strings as text.
// On the wire both types look the same. So ToJson() escapes the bytes to UTF-8,
// parses the message as a type that has strings in place of bytes, and lets
// protobuf write that.

void BytesToStrings(DescriptorProto& type) {
  for (FieldDescriptorProto& field : *type.mutable_field()) {
    if (field.type() == FieldDescriptorProto::TYPE_BYTES) {
      field.set_type(FieldDescriptorProto::TYPE_STRING);
    }
  }
  for (DescriptorProto& nested : *type.mutable_nested_type()) {
    BytesToStrings(nested);
  }
}

// The generated files, with strings in place of bytes.
class TextDatabase : public google::protobuf::DescriptorDatabase {
 public:
  bool FindFileByName(const std::string& name,
                      FileDescriptorProto* output) override {
    return Copy(Generated().FindFileByName(name), output);
  }
  bool FindFileContainingSymbol(const std::string& symbol,
                                FileDescriptorProto* output) override {
    return Copy(Generated().FindFileContainingSymbol(symbol), output);
  }
  bool FindFileContainingExtension(const std::string&, int,
                                   FileDescriptorProto*) override {
    return false;
  }

 private:
  static const google::protobuf::DescriptorPool& Generated() {
    return *google::protobuf::DescriptorPool::generated_pool();
  }

  static bool Copy(const google::protobuf::FileDescriptor* file,
                   FileDescriptorProto* output) {
    if (file == nullptr) {
      return false;
    }
    file->CopyTo(output);
    // The well-known types have JSON forms of their own.
    if (file->package() == "corral.v1") {
      for (DescriptorProto& type : *output->mutable_message_type()) {
        BytesToStrings(type);
      }
    }
    return true;
  }
};

// Lives as long as the process.
struct TextTypes {
  TextDatabase database;
  google::protobuf::DescriptorPool pool{&database};
  google::protobuf::DynamicMessageFactory factory{&pool};
};

TextTypes& Types() {
  static auto* const types = new TextTypes();
  return *types;
}

// Escapes every field of type bytes in a message of corral.v1.
void EscapeFields(Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count =
        field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->type() == FieldDescriptor::TYPE_BYTES &&
          field->file()->package() == "corral.v1") {
        if (field->is_repeated()) {
          reflection.SetRepeatedString(
              &message, field, i,
              EscapeBytes(reflection.GetRepeatedString(message, field, i)));
        } else {
          reflection.SetString(
              &message, field,
              EscapeBytes(reflection.GetString(message, field)));
        }
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        EscapeFields(
            field->is_repeated()
                ? *reflection.MutableRepeatedMessage(&message, field, i)
                : *reflection.MutableMessage(&message, field));
      }
    }
  }
}

}  // namespace

absl::StatusOr<std::string> ToJson(const Message& message) {
  const std::string& type = message.GetDescriptor()->full_name();
  const std::unique_ptr<Message> escaped(message.New());
  escaped->CopyFrom(message);
  EscapeFields(*escaped);
  const std::unique_ptr<Message> text(
      Types()
          .factory.GetPrototype(Types().pool.FindMessageTypeByName(type))
          ->New());
  if (!text->ParseFromString(escaped->SerializeAsString())) {
    return absl::InternalError(absl::StrCat("JSON of ", type));
  }
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status =
      google::protobuf::util::MessageToJsonString(*text, &json, options);
  if (!status.ok()) {
    return absl::InternalError(
        absl::StrCat("JSON of ", type, ": ", status.ToString()));
  }
  return json;
}

absl::StatusOr<std::string> ToJsonArray(const Message& list) {
  const std::unique_ptr<Message> none(list.New());
  ASSIGN_OR_RETURN(const std::string empty, ToJson(*none));
  ASSIGN_OR_RETURN(const std::string whole, ToJson(list));
  // Both texts are the same up to the array and after it.
  const size_t begin = empty.find("[]");
  const size_t rest = empty.size() - begin - 2;
  return whole.substr(begin, whole.size() - begin - rest);
}

}  // namespace bridge
