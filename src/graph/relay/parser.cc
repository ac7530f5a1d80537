// Parses Relay text into a graph of expressions.
//
// A text consists of type definitions and functions. The body of a function is a sequence of lines
// that bind a value to a name ("%26 = nn.conv2d(%22, %23, …) /* ty=… */;") and a last expression
// without a name. A use of a name becomes an edge to the node bound to it; all uses of a constant
// index are one node for the whole text. The parser keeps the spelling of parts that the project
// does not interpret (attribute values, comments). A dot in a value name is a projection unless the
// whole name is bound: "%1.0" is field 0 of %1.

#include "src/graph/relay/parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/strings.h"

namespace tilewright::relay {

bool Parser::Fail(std::size_t offset, std::string message) {
  if (status_.ok()) status_ = InvalidArgument(PlaceOf(text_, offset) + ": " + std::move(message));
  return false;
}

bool Parser::Expected(std::string_view what) {
  const std::string_view seen = token_.text.substr(0, 40);
  return Fail(token_.offset, token_.kind == TokenKind::kEnd
                                 ? fmt::format("the text ends, expected {}", what)
                                 : fmt::format("'{}', expected {}", seen, what));
}

bool Parser::Advance() {
  last_end_ = token_.end();
  auto next = lexer_.Next();
  if (!next.ok()) {
    if (status_.ok()) status_ = next.status();
    return false;
  }
  token_ = *next;
  return true;
}

bool Parser::Is(std::string_view punctuation) const {
  return token_.kind == TokenKind::kPunctuation && token_.text == punctuation;
}

bool Parser::IsName(std::string_view name) const {
  return token_.kind == TokenKind::kName && token_.text == name;
}

bool Parser::Expect(std::string_view punctuation) {
  if (!Is(punctuation)) return Expected(fmt::format("'{}'", punctuation));
  return Advance();
}

bool Parser::ExpectKind(TokenKind kind, std::string_view what, std::string* text) {
  if (token_.kind != kind) return Expected(what);
  *text = std::string(token_.text);
  return Advance();
}

bool Parser::Enter(std::size_t offset) {
  if (++nesting_ <= kMaxNesting) return true;
  return Fail(offset, fmt::format("nested deeper than {} levels", kMaxNesting));
}

bool Parser::ParseInteger(std::int64_t* value) {
  if (token_.kind != TokenKind::kNumber) return Expected("an integer");
  auto parsed = ParseInt64(token_.text);
  if (!parsed.ok()) return Expected("an integer");
  *value = *parsed;
  return Advance();
}

/// Parses any tokens up to a "," or a closing bracket at depth 0.
bool Parser::ParseRaw(std::string* value) {
  const std::size_t begin = token_.offset;
  std::string open;  // expected closing brackets, innermost last
  while (true) {
    if (token_.kind == TokenKind::kEnd) return Expected("a value");
    if (token_.kind == TokenKind::kPunctuation) {
      const char c = token_.text[0];
      if (open.empty() && (c == ',' || c == ')' || c == ']' || c == '}')) break;
      if (c == '(' || c == '[' || c == '{') open += c == '(' ? ')' : c == '[' ? ']' : '}';
      if (c == ')' || c == ']' || c == '}') {
        if (open.back() != c) return Expected(fmt::format("'{}'", open.back()));
        open.pop_back();
      }
    }
    if (!Advance()) return false;
  }
  if (token_.offset == begin) return Expected("a value");
  *value = std::string(text_.substr(begin, last_end_ - begin));
  return true;
}

bool Parser::ParseComments(std::vector<std::string>* comments, std::optional<Type>* type) {
  while (token_.kind == TokenKind::kComment) {
    const std::string_view inner = token_.text.substr(2, token_.text.size() - 4);
    comments->emplace_back(inner);
    const std::size_t blanks = inner.find_first_not_of(' ');
    if (blanks != std::string_view::npos && inner.substr(blanks).starts_with("ty=") && type) {
      const Lexer outer = lexer_;
      const Token comment = token_;
      const std::size_t begin = comment.offset + 2 + blanks + 3;  // after "ty="
      const std::size_t span = inner.find(" span=", blanks);      // in texts of 2022 and later
      lexer_ = Lexer(text_, begin, comment.offset + 2 + std::min(span, inner.size()));
      type->emplace();
      if (!Advance() || !ParseType(&**type)) return false;
      lexer_ = outer;
      token_ = comment;
    }
    if (!Advance()) return false;
  }
  return true;
}

int Parser::Lookup(std::string_view name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (auto found = scope->find(name); found != scope->end()) return found->second;
  }
  return -1;
}

bool Parser::Add(Expr expr, int* id) {
  expr.owner = owners_.empty() ? -1 : owners_.back();
  for (int arg : expr.args) expr.depth = std::max(expr.depth, module_.expr(arg).depth);
  if (expr.callee >= 0) expr.depth = std::max(expr.depth, module_.expr(expr.callee).depth);
  if (expr.function >= 0) {
    const Function& function = module_.function(expr.function);
    int inner = function.body < 0 ? 0 : module_.expr(function.body).depth;
    for (int s : function.statements) inner = std::max(inner, module_.expr(s).depth);
    expr.depth = inner + 1;
  }
  if (expr.depth > kMaxNesting) {
    return Fail(expr.offset,
                fmt::format("functions are nested deeper than {} levels", kMaxNesting));
  }
  *id = static_cast<int>(module_.exprs.size());
  module_.exprs.push_back(std::move(expr));
  return true;
}

bool Parser::ParseLiteral(int* id) {
  Expr literal;
  literal.kind = ExprKind::kLiteral;
  literal.offset = token_.offset;
  literal.text = std::string(token_.text);
  return Advance() && ParseComments(&literal.comments, &literal.type) &&
         Add(std::move(literal), id);
}

/// Parses a constant after the name "meta".
bool Parser::ParseConstant(std::size_t offset, int* id) {
  Expr constant;
  constant.kind = ExprKind::kConstant;
  constant.offset = offset;
  if (!Expect("[") || !ExpectKind(TokenKind::kName, "a type key", &constant.text) || !Expect("]") ||
      !Expect("[") || !ParseInteger(&constant.index) || !Expect("]")) {
    return false;
  }
  if (!ParseComments(&constant.comments, &constant.type)) return false;
  const auto key = std::pair(constant.text, constant.index);
  if (auto known = constants_.find(key); known != constants_.end()) {
    const Expr& first = module_.expr(known->second);
    if (first.type != constant.type) {
      return Fail(offset, fmt::format("meta[{}][{}] has another type than at {}", key.first,
                                      key.second, PlaceOf(text_, first.offset)));
    }
    *id = known->second;
    return true;
  }
  if (!Add(std::move(constant), id)) return false;
  constants_[key] = *id;
  return true;
}

bool Parser::ParseTuple(int* id) {
  Expr tuple;
  tuple.kind = ExprKind::kTuple;
  tuple.offset = token_.offset;
  if (!Advance()) return false;
  while (!Is(")")) {
    int field = -1;
    if (!ParseExpr(&field)) return false;
    tuple.args.push_back(field);
    if (Is(")")) break;
    if (!Is(",")) return Expected("',' or ')'");
    if (!Advance()) return false;
  }
  return Advance() && ParseComments(&tuple.comments, &tuple.type) && Add(std::move(tuple), id);
}

bool Parser::ParseArgument(Expr* call) {
  if (token_.kind == TokenKind::kName && token_.text != "fn" && token_.text != "meta") {
    const Token name = token_;
    const Lexer before = lexer_;
    if (!Advance()) return false;
    if (Is("=")) {
      Attribute attribute{std::string(name.text), {}};
      if (!Advance() || !ParseRaw(&attribute.value)) return false;
      call->attributes.push_back(std::move(attribute));
      return true;
    }
    lexer_ = before;
    token_ = name;
  }
  if (!call->attributes.empty()) return Expected("an attribute (name=value) after an attribute");
  int arg = -1;
  if (!ParseExpr(&arg)) return false;
  call->args.push_back(arg);
  return true;
}

/// Parses a call from the "(" on.
bool Parser::ParseCall(int callee, std::string name, std::size_t offset, int* id) {
  Expr call;
  call.kind = ExprKind::kCall;
  call.offset = offset;
  call.callee = callee;
  call.text = std::move(name);
  if (!Expect("(")) return false;
  while (!Is(")")) {
    if (!ParseArgument(&call)) return false;
    if (Is(")")) break;
    if (!Is(",")) return Expected("',' or ')'");
    if (!Advance()) return false;
  }
  return Advance() && ParseComments(&call.comments, &call.type) && Add(std::move(call), id);
}

bool Parser::ParseNameOrCall(int* id) {
  const Token name = token_;
  if (name.text == "True" || name.text == "False") return ParseLiteral(id);
  if (!Advance()) return false;
  if (name.text == "meta") return ParseConstant(name.offset, id);
  if (name.text == "fn") {
    Expr function;
    function.kind = ExprKind::kFunction;
    function.offset = name.offset;
    return ParseFunction(name.offset, &function.function) && Add(std::move(function), id);
  }
  if (!Is("(")) return Expected(fmt::format("'(' after the operator {}", name.text));
  return ParseCall(-1, std::string(name.text), name.offset, id);
}

bool Parser::ParseValue(int* id) {
  const Token first = token_;
  const std::string_view name = first.text.substr(1);
  if (const int value = Lookup(name); value >= 0) {
    if (!Advance()) return false;
    if (Is("(")) return ParseCall(value, {}, first.offset, id);
    *id = value;
    return true;
  }
  const std::size_t dot = name.rfind('.');
  const int value = dot == std::string_view::npos ? -1 : Lookup(name.substr(0, dot));
  auto field = ParseInt64(dot == std::string_view::npos ? "" : name.substr(dot + 1));
  if (value < 0 || !field.ok()) {
    return Fail(first.offset, fmt::format("{} is not bound here", first.text.substr(0, 40)));
  }
  Expr projection;
  projection.kind = ExprKind::kProjection;
  projection.offset = first.offset;
  projection.args = {value};
  projection.index = *field;
  return Advance() && ParseComments(&projection.comments, &projection.type) &&
         Add(std::move(projection), id);
}

bool Parser::ParseGlobalCall(int* id) {
  Expr global;
  global.kind = ExprKind::kGlobal;
  global.offset = token_.offset;
  global.text = std::string(token_.text.substr(1));
  if (!Advance()) return false;
  if (!Is("(")) return Expected(fmt::format("'(' after @{}", global.text));
  const std::size_t offset = global.offset;
  int callee = -1;
  return Add(std::move(global), &callee) && ParseCall(callee, {}, offset, id);
}

bool Parser::ParseExpr(int* id) {
  if (!Enter(token_.offset)) return false;
  bool ok = false;
  if (token_.kind == TokenKind::kValue) {
    ok = ParseValue(id);
  } else if (token_.kind == TokenKind::kNumber) {
    ok = ParseLiteral(id);
  } else if (token_.kind == TokenKind::kName) {
    ok = ParseNameOrCall(id);
  } else if (token_.kind == TokenKind::kGlobal) {
    ok = ParseGlobalCall(id);
  } else if (Is("(")) {
    ok = ParseTuple(id);
  } else {
    ok = Expected("an expression");
  }
  Leave();
  return ok;
}

}  // namespace tilewright::relay
