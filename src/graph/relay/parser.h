#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/graph/relay/lexer.h"
#include "src/graph/relay/syntax.h"

namespace tilewright::relay {

/// Recursive-descent parser of one text; used by Parse. Methods return false after the first error,
/// which is in status(). Recursion depth is limited by kMaxNesting.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), lexer_(text, 0, text.size()) {}
  bool ParseModule();
  const Status& status() const { return status_; }
  Module TakeModule() { return std::move(module_); }

 private:
  // Tokens.
  bool Advance();
  bool Is(std::string_view punctuation) const;
  bool IsName(std::string_view name) const;
  bool Expect(std::string_view punctuation);
  bool ExpectKind(TokenKind kind, std::string_view what, std::string* text);
  bool Expected(std::string_view what);
  bool Fail(std::size_t offset, std::string message);
  bool Enter(std::size_t offset);
  void Leave() { --nesting_; }
  bool ParseRaw(std::string* value);
  bool ParseInteger(std::int64_t* value);

  // Types (parser_types.cc).
  bool ParseType(Type* type);
  bool ParseTensorType(Type* type);
  bool ParseTypeList(std::string_view close, std::vector<Type>* types);
  bool ParseDims(std::vector<std::int64_t>* dims);
  bool ParseTypeDefinition();
  bool ParseConstructor(TypeDefinition* definition);

  // Definitions.
  bool ParseHash(bool* at_end);
  bool ParseDefinition();
  bool ParseFunction(std::size_t offset, int* function);
  bool ParseParameters(int function);
  bool ParseParameter(int function);
  bool ParseBody(int function);
  bool ParseStatement(int function, bool* is_result);
  bool BindStatement(const std::string& name, std::size_t offset, int function);
  bool ParseFunctionComments(std::size_t offset, int function);
  void MeasureIndent();

  // Expressions.
  bool ParseExpr(int* id);
  bool ParseValue(int* id);
  bool ParseNameOrCall(int* id);
  bool ParseGlobalCall(int* id);
  bool ParseCall(int callee, std::string name, std::size_t offset, int* id);
  bool ParseArgument(Expr* call);
  bool ParseConstant(std::size_t offset, int* id);
  bool ParseLiteral(int* id);
  bool ParseTuple(int* id);
  bool ParseComments(std::vector<std::string>* comments, std::optional<Type>* type);
  bool Add(Expr expr, int* id);
  int Lookup(std::string_view name) const;

  std::string_view text_;
  Lexer lexer_;
  Token token_;
  std::size_t last_end_ = 0;  // end of the token before token_
  Status status_;
  Module module_;
  int nesting_ = 0;
  bool indent_known_ = false;
  std::vector<std::map<std::string, int, std::less<>>> scopes_;
  std::vector<int> owners_;                                        // functions under construction
  std::map<std::pair<std::string, std::int64_t>, int> constants_;  // one node per meta index
};

}  // namespace tilewright::relay
