#include "src/graph/onnx/printable_names.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "src/base/printable.h"

namespace tilewright {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// Calls `visit` with each string of the message and its submessages that is a name, and replaces
/// the name by the result.
void VisitNames(Message& message, const std::function<std::string(const std::string&)>& visit) {
  // Keys and values: metadata and locations of external data.
  if (message.GetDescriptor()->name() == "StringStringEntryProto") return;
  const google::protobuf::Reflection& access = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  access.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool list = field->is_repeated();
    const int count = list ? access.FieldSize(message, field) : 1;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      for (int i = 0; i < count; ++i) {
        VisitNames(list ? *access.MutableRepeatedMessage(&message, field, i)
                        : *access.MutableMessage(&message, field),
                   visit);
      }
    }
    // Contents are bytes; documentation is never shown.
    if (field->type() != FieldDescriptor::TYPE_STRING || field->name() == "doc_string") continue;
    for (int i = 0; i < count; ++i) {
      std::string scratch;
      const std::string& name = list
                                    ? access.GetRepeatedStringReference(message, field, i, &scratch)
                                    : access.GetStringReference(message, field, &scratch);
      std::string shown = visit(name);
      if (shown == name) continue;
      list ? access.SetRepeatedString(&message, field, i, std::move(shown))
           : access.SetString(&message, field, std::move(shown));
    }
  }
}

bool StaysAsItIs(const std::string& name) {
  return name.find('\0') != std::string::npos || IsPrintable(name);
}

}  // namespace

Status MakeNamesPrintable(onnx::ModelProto& model) {
  std::map<std::string, std::string> originals;  // printable name -> original name
  std::string doubled;
  VisitNames(model, [&](const std::string& name) {
    if (StaysAsItIs(name)) return name;
    const auto [known, added] = originals.emplace(Printable(name), name);
    if (!added && known->second != name) doubled = known->first;
    return name;
  });
  if (originals.empty()) return {};
  VisitNames(model, [&](const std::string& name) {
    if (!StaysAsItIs(name)) return Printable(name);
    if (originals.contains(name)) doubled = name;
    return name;
  });
  if (doubled.empty()) return {};
  return InvalidArgument("two names are shown as '" + doubled.substr(0, 80) +
                         "', with characters escaped that cannot be shown; expected names that "
                         "differ, rename one of them");
}

}  // namespace tilewright
