#include <fmt/format.h>

#include "src/graph/relay/parser.h"
#include "src/ir/dtype.h"

namespace tilewright::relay {
namespace {

std::string Join(const std::vector<Type>& types, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + ToString(types[i]);
  return text;
}

}  // namespace

std::string ToString(const Type& type) {
  switch (type.kind) {
    case TypeKind::kTensor: {
      if (type.dims.empty()) return type.name;
      std::string dims;
      for (std::int64_t d : type.dims) {
        dims += (dims.empty() ? "" : ", ") + (d < 0 ? std::string("?") : std::to_string(d));
      }
      return "Tensor[(" + dims + "), " + type.name + "]";
    }
    case TypeKind::kTuple:
      return "(" + Join(type.parts, type.parts.size()) + (type.parts.size() == 1 ? ",)" : ")");
    case TypeKind::kFunction:
      return "fn (" + Join(type.parts, type.parts.size() - 1) + ") -> " +
             ToString(type.parts.back());
    case TypeKind::kNamed:
      return type.parts.empty() ? type.name
                                : type.name + "[" + Join(type.parts, type.parts.size()) + "]";
  }
  return {};
}

bool Parser::ParseTypeList(std::string_view close, std::vector<Type>* types) {
  while (!Is(close)) {
    Type type;
    if (!ParseType(&type)) return false;
    types->push_back(std::move(type));
    if (Is(close)) break;
    if (!Is(",")) return Expected(fmt::format("',' or '{}'", close));
    if (!Advance()) return false;
  }
  return Advance();
}

bool Parser::ParseDims(std::vector<std::int64_t>* dims) {
  if (!Expect("(")) return false;
  std::int64_t elements = 1;
  while (!Is(")")) {
    const std::size_t offset = token_.offset;
    std::int64_t dim = -1;
    if (Is("?")) {
      if (!Advance()) return false;
    } else {
      if (!ParseInteger(&dim)) return false;
      if (dim < 0 || dim > kMaxDim) {
        return Fail(offset, fmt::format("dimension {}, expected 0 to {}", dim, kMaxDim));
      }
      if (dim > 0 && elements > kMaxElements / dim) {
        return Fail(offset, fmt::format("tensor of more than {} elements", kMaxElements));
      }
      if (dim > 0) elements *= dim;
    }
    dims->push_back(dim);
    if (dims->size() > kMaxRank) {
      return Fail(offset, fmt::format("more than {} dimensions", kMaxRank));
    }
    if (Is(")")) break;
    if (!Expect(",")) return false;
  }
  return Advance();
}

bool Parser::ParseTensorType(Type* type) {
  if (!Expect("[") || !ParseDims(&type->dims) || !Expect(",")) return false;
  const std::size_t offset = token_.offset;
  if (!ExpectKind(TokenKind::kName, "an element type", &type->name)) return false;
  if (auto dtype = ParseDataType(type->name); !dtype.ok()) {
    return Fail(offset, fmt::format("'{}', expected an element type such as float32", type->name));
  }
  return Expect("]");
}

bool Parser::ParseType(Type* type) {
  const std::size_t offset = token_.offset;
  if (!Enter(offset)) return false;
  if (Is("(")) {
    type->kind = TypeKind::kTuple;
    if (!Advance() || !ParseTypeList(")", &type->parts)) return false;
    Leave();
    return true;
  }
  std::string name;
  if (!ExpectKind(TokenKind::kName, "a type", &name)) return false;
  if (name == "Tensor") {
    if (!ParseTensorType(type)) return false;
  } else if (name == "fn") {
    type->kind = TypeKind::kFunction;
    Type result;
    if (!Expect("(") || !ParseTypeList(")", &type->parts) || !Expect("->")) return false;
    if (!ParseType(&result)) return false;
    type->parts.push_back(std::move(result));
  } else {
    type->name = std::move(name);
    if (!ParseDataType(type->name).ok()) type->kind = TypeKind::kNamed;
    if (type->kind == TypeKind::kNamed && Is("[")) {
      if (!Advance() || !ParseTypeList("]", &type->parts)) return false;
    }
  }
  Leave();
  return true;
}

bool Parser::ParseConstructor(TypeDefinition* definition) {
  TypeDefinition::Constructor constructor;
  if (!ExpectKind(TokenKind::kName, "a constructor or '}'", &constructor.name)) return false;
  if (Is("(")) {
    if (!Advance() || !ParseTypeList(")", &constructor.fields)) return false;
  }
  definition->constructors.push_back(std::move(constructor));
  if (Is("}")) return true;
  return Expect(",");
}

bool Parser::ParseTypeDefinition() {
  TypeDefinition definition;
  if (!Advance() || !ExpectKind(TokenKind::kName, "the type's name", &definition.name))
    return false;
  if (Is("[")) {
    if (!Advance()) return false;
    while (!Is("]")) {
      std::string variable;
      if (!ExpectKind(TokenKind::kName, "a type variable", &variable)) return false;
      definition.variables.push_back(std::move(variable));
      if (Is("]")) break;
      if (!Expect(",")) return false;
    }
    if (!Advance()) return false;
  }
  if (!Expect("{")) return false;
  while (!Is("}")) {
    if (!ParseConstructor(&definition)) return false;
  }
  module_.types.push_back(std::move(definition));
  return Advance();
}

}  // namespace tilewright::relay
