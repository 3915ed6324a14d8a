#include "bridge/cli/report/json_output.h"

#include <string>

#include "bridge/cli/report/escaped_text.h"
#include "bridge/jsonrpc/json.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/message.h"
#include "google/protobuf/timestamp.pb.h"
#include "google/protobuf/util/time_util.h"

namespace bridge {
namespace {

using google::protobuf::Duration;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::Timestamp;
using google::protobuf::util::TimeUtil;

OrderedJson ToValue(const Message& message);

// protobuf's own JSON writes bytes as base64, and takes a second for the
// executions of a busy server.
class FieldReader {
 public:
  FieldReader(const Message& message, const FieldDescriptor* field)
      : message_(message),
        reflection_(*message.GetReflection()),
        field_(field) {}

  OrderedJson Read() const {
    if (!field_->is_repeated()) {
      return ReadValue(-1);
    }
    OrderedJson array = OrderedJson::array();
    for (int i = 0; i < reflection_.FieldSize(message_, field_); ++i) {
      array.push_back(ReadValue(i));
    }
    return array;
  }

 private:
  template <typename Type>
  using Getter = Type (Reflection::*)(const Message&,
                                      const FieldDescriptor*) const;
  template <typename Type>
  using ElementGetter = Type (Reflection::*)(const Message&,
                                             const FieldDescriptor*, int) const;

  // `index` is that of an element, or -1 if the field is not repeated.
  template <typename Type>
  Type Get(Getter<Type> field, ElementGetter<Type> element, int index) const {
    return index < 0 ? (reflection_.*field)(message_, field_)
                     : (reflection_.*element)(message_, field_, index);
  }

  OrderedJson ReadValue(int index) const {
    switch (field_->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return Get(&Reflection::GetInt32, &Reflection::GetRepeatedInt32, index);
      case FieldDescriptor::CPPTYPE_UINT32:
        return Get(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32,
                   index);
      // Text, because many programs read a JSON number as a double.
      case FieldDescriptor::CPPTYPE_INT64:
        return std::to_string(
            Get(&Reflection::GetInt64, &Reflection::GetRepeatedInt64, index));
      case FieldDescriptor::CPPTYPE_UINT64:
        return std::to_string(
            Get(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64, index));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return Get(&Reflection::GetDouble, &Reflection::GetRepeatedDouble,
                   index);
      case FieldDescriptor::CPPTYPE_FLOAT:
        return Get(&Reflection::GetFloat, &Reflection::GetRepeatedFloat, index);
      case FieldDescriptor::CPPTYPE_BOOL:
        return Get(&Reflection::GetBool, &Reflection::GetRepeatedBool, index);
      case FieldDescriptor::CPPTYPE_ENUM:
        return ReadEnum(index);
      case FieldDescriptor::CPPTYPE_STRING:
        return ReadText(index);
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return ToValue(index < 0 ? reflection_.GetMessage(message_, field_)
                                 : reflection_.GetRepeatedMessage(
                                       message_, field_, index));
    }
    return nullptr;
  }

  OrderedJson ReadText(int index) const {
    std::string text =
        Get(&Reflection::GetString, &Reflection::GetRepeatedString, index);
    return field_->type() == FieldDescriptor::TYPE_BYTES ? EscapeBytes(text)
                                                         : text;
  }

  // The name; the number of a value that a newer server has added.
  OrderedJson ReadEnum(int index) const {
    const int number = Get(&Reflection::GetEnumValue,
                           &Reflection::GetRepeatedEnumValue, index);
    const auto* const value = field_->enum_type()->FindValueByNumber(number);
    return value == nullptr ? OrderedJson(number) : OrderedJson(value->name());
  }

  const Message& message_;
  const Reflection& reflection_;
  const FieldDescriptor* const field_;
};

OrderedJson ToValue(const Message& message) {
  if (message.GetDescriptor() == Timestamp::descriptor()) {
    return TimeUtil::ToString(static_cast<const Timestamp&>(message));
  }
  if (message.GetDescriptor() == Duration::descriptor()) {
    return TimeUtil::ToString(static_cast<const Duration&>(message));
  }
  OrderedJson object = OrderedJson::object();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* const field = message.GetDescriptor()->field(i);
    if (!field->has_presence() ||
        message.GetReflection()->HasField(message, field)) {
      object[field->name()] = FieldReader(message, field).Read();
    }
  }
  return object;
}

}  // namespace

std::string ToJson(const Message& message) {
  return SerializeOrdered(ToValue(message));
}

std::string ToJsonArray(const Message& message, const std::string& field) {
  return SerializeOrdered(
      FieldReader(message, message.GetDescriptor()->FindFieldByName(field))
          .Read());
}

}  // namespace bridge
