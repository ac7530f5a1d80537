// Functions and modules of Relay text. Indentation separates the lines of a body; the first line of
// the first body sets its width.

#include <fmt/format.h>

#include <algorithm>

#include "src/graph/relay/parser.h"

namespace tilewright::relay {

/// Sets the width of one indent to that of the first line inside the first body.
void Parser::MeasureIndent() {
  if (indent_known_) return;
  indent_known_ = true;
  std::size_t position = last_end_;
  if (position >= text_.size() || text_[position] != '\n') return;
  const std::size_t first = text_.find_first_not_of(' ', ++position);
  if (first == std::string_view::npos) return;
  constexpr std::size_t kMaxIndent = 16;
  module_.indent = static_cast<int>(std::min(first - position, kMaxIndent));
}

bool Parser::ParseParameter(int function) {
  Expr parameter;
  parameter.kind = ExprKind::kParameter;
  parameter.offset = token_.offset;
  parameter.text = std::string(token_.text.substr(1));
  if (!Advance()) return false;
  if (Is("{")) {
    std::string key;
    if (!Advance() || !ExpectKind(TokenKind::kName, "virtual_device", &key) || !Expect("=") ||
        !ParseRaw(&parameter.device) || !Expect("}")) {
      return false;
    }
  }
  if (Is(":")) {
    if (!Advance() || !ParseType(&parameter.type.emplace())) return false;
  }
  std::optional<Type> checked;
  const std::size_t comment_offset = token_.offset;
  if (!ParseComments(&parameter.comments, &checked)) return false;
  if (checked && parameter.type && *checked != *parameter.type) {
    return Fail(comment_offset,
                fmt::format("parameter %{} of type {} has the comment ty={}", parameter.text,
                            ToString(*parameter.type), ToString(*checked)));
  }
  if (!parameter.type) parameter.type = std::move(checked);
  const auto name = parameter.text;
  const std::size_t offset = parameter.offset;
  int id = -1;
  if (!Add(std::move(parameter), &id)) return false;
  if (!scopes_.back().emplace(name, id).second) {
    return Fail(offset, fmt::format("second parameter %{}", name));
  }
  module_.functions[static_cast<std::size_t>(function)].parameters.push_back(id);
  return true;
}

bool Parser::ParseParameters(int function) {
  auto& attributes = module_.functions[static_cast<std::size_t>(function)].attributes;
  bool first_attribute = true;
  while (!Is(")")) {
    if (token_.kind == TokenKind::kValue && first_attribute) {
      if (!ParseParameter(function)) return false;
    } else {
      first_attribute = false;
      Attribute attribute;
      if (!ExpectKind(TokenKind::kName, "a parameter, an attribute or ')'", &attribute.name) ||
          !Expect("=") || !ParseRaw(&attribute.value)) {
        return false;
      }
      attributes.push_back(std::move(attribute));
    }
    if (Is(")")) break;
    if (!Is(",")) return Expected("',' or ')'");
    if (!Advance()) return false;
  }
  return Advance();
}

/// Parses the comments after "}"; their type must match the signature.
bool Parser::ParseFunctionComments(std::size_t offset, int id) {
  Function& function = module_.functions[static_cast<std::size_t>(id)];
  std::optional<Type> checked;
  if (!ParseComments(&function.comments, &checked)) return false;
  if (!checked || !function.result) return true;
  Type declared{TypeKind::kFunction, {}, {}, {}};
  for (int parameter : function.parameters) {
    if (!module_.expr(parameter).type) return true;
    declared.parts.push_back(*module_.expr(parameter).type);
  }
  declared.parts.push_back(*function.result);
  if (*checked == declared) return true;
  return Fail(offset, fmt::format("the function has type {}, but its comment declares {}",
                                  ToString(declared), ToString(*checked)));
}

/// Parses a function after "fn" or the global's name.
bool Parser::ParseFunction(std::size_t offset, int* id) {
  if (!Enter(offset)) return false;
  *id = static_cast<int>(module_.functions.size());
  module_.functions.emplace_back();
  scopes_.emplace_back();
  owners_.push_back(*id);
  if (!Expect("(") || !ParseParameters(*id)) return false;
  if (Is("->")) {
    Type result;
    if (!Advance() || !ParseType(&result)) return false;
    module_.functions[static_cast<std::size_t>(*id)].result = std::move(result);
  }
  if (!ParseBody(*id)) return false;
  scopes_.pop_back();
  owners_.pop_back();
  Leave();
  return module_.fragment || ParseFunctionComments(offset, *id);
}

bool Parser::BindStatement(const std::string& name, std::size_t offset, int function) {
  if (!Expect("=")) return false;
  int value = -1;
  if (!ParseExpr(&value)) return false;
  if (!Is(";")) return Expected("';'");
  if (!scopes_.back().emplace(name, value).second) {
    return Fail(offset, fmt::format("%{} is bound twice", name));
  }
  Expr& bound = module_.exprs[static_cast<std::size_t>(value)];
  const bool in_place = bound.kind == ExprKind::kLiteral || bound.kind == ExprKind::kConstant ||
                        bound.kind == ExprKind::kParameter;
  if (bound.bound_name.empty() && !in_place) {
    bound.bound_name = name;
    module_.functions[static_cast<std::size_t>(function)].statements.push_back(value);
  }
  return Advance();
}

/// Parses a line of a body or its last expression.
bool Parser::ParseStatement(int function, bool* is_result) {
  *is_result = false;
  const Token first = token_;
  if (first.kind == TokenKind::kValue) {
    const Lexer before = lexer_;
    if (!Advance()) return false;
    if (Is("=")) {
      return BindStatement(std::string(first.text.substr(1)), first.offset, function);
    }
    lexer_ = before;
    token_ = first;
  }
  *is_result = true;
  int body = -1;
  if (!ParseExpr(&body)) return false;
  module_.functions[static_cast<std::size_t>(function)].body = body;
  return true;
}

bool Parser::ParseBody(int function) {
  if (!Is("{")) return Expected("'{'");
  if (!Advance()) return false;
  MeasureIndent();
  bool is_result = false;
  while (!is_result) {
    const bool outermost = owners_.size() == 1;
    if (token_.kind == TokenKind::kEnd && outermost &&
        !module_.functions[static_cast<std::size_t>(function)].statements.empty()) {
      module_.fragment = true;
      return true;
    }
    if (Is("}")) return Expected("the result of the body");
    if (!ParseStatement(function, &is_result)) return false;
  }
  return Expect("}");
}

bool Parser::ParseDefinition() {
  Definition definition;
  const std::size_t offset = token_.offset;
  if (IsName("def")) {
    if (!Advance()) return false;
    if (!ExpectKind(TokenKind::kGlobal, "a global name such as @main", &definition.name)) {
      return false;
    }
    definition.name.erase(0, 1);
    if (std::ranges::count(module_.definitions, definition.name, &Definition::name) != 0) {
      return Fail(offset, fmt::format("@{} is defined twice", definition.name));
    }
    if (!ParseComments(&definition.comments, nullptr)) return false;
  } else if (!Advance()) {
    return false;
  }
  if (!ParseFunction(offset, &definition.function)) return false;
  module_.definitions.push_back(std::move(definition));
  return true;
}

/// Parses "#[version = …]" at the start, or "#[metadata]", after which the text is kept without
/// changes.
bool Parser::ParseHash(bool* at_end) {
  const std::size_t before = last_end_;
  if (!Advance() || !Expect("[")) return false;
  if (IsName("metadata")) {
    module_.metadata = std::string(text_.substr(before));
    *at_end = true;
    return true;
  }
  if (!IsName("version")) return Expected("version or metadata");
  std::string version;
  if (!Advance() || !Expect("=") || !ExpectKind(TokenKind::kString, "a version", &version) ||
      !Expect("]")) {
    return false;
  }
  module_.version = version.substr(1, version.size() - 2);
  return true;
}

bool Parser::ParseModule() {
  if (!Advance()) return false;
  bool at_end = false;
  while (!at_end && token_.kind != TokenKind::kEnd) {
    if (Is("#")) {
      if (!ParseHash(&at_end)) return false;
    } else if (IsName("type")) {
      if (!ParseTypeDefinition()) return false;
    } else if (IsName("def") || IsName("fn")) {
      if (!ParseDefinition()) return false;
    } else {
      return Expected("'def', 'fn', 'type' or '#['");
    }
  }
  if (module_.definitions.empty()) return Fail(text_.size(), "no function, expected a def or fn");
  module_.ends_in_newline = text_.ends_with('\n');
  return true;
}

Result<Module> Parse(std::string_view text) {
  const std::size_t metadata = std::min(text.find("\n#[metadata]"), text.size());
  if (metadata > kMaxTextBytes || text.size() - metadata > kMaxMetadataBytes) {
    return InvalidArgument(
        fmt::format("text of {} bytes and metadata of {}, expected at most {} and {}", metadata,
                    text.size() - metadata, kMaxTextBytes, kMaxMetadataBytes));
  }
  Parser parser(text);
  if (!parser.ParseModule()) return parser.status();
  return parser.TakeModule();
}

}  // namespace tilewright::relay
