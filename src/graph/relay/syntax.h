#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace tilewright::relay {

enum class TypeKind : std::uint8_t {
  kTensor,    ///< name = element type, dims; no dims = a scalar
  kTuple,     ///< parts
  kFunction,  ///< parts: parameters, then the result
  kNamed,     ///< a defined type or a type variable; parts: its arguments
};

/// A type as written.
struct Type {
  TypeKind kind = TypeKind::kTensor;
  std::string name;
  std::vector<std::int64_t> dims;  ///< -1 for "?"
  std::vector<Type> parts;
  friend bool operator==(const Type&, const Type&) = default;
};
/// "Tensor[(1, 64), int8]", "int16", "(int8, int8)", "fn (int8) -> int8", "List[A]".
std::string ToString(const Type& type);

enum class ExprKind : std::uint8_t {
  kCall,        ///< of operator `text`, or (callee >= 0) of a function
  kLiteral,     ///< `text` is its spelling
  kConstant,    ///< meta[text][index]
  kParameter,   ///< of a function; `text` is its name without "%"
  kProjection,  ///< field `index` of args[0]
  kTuple,
  kFunction,  ///< Module::functions[function]
  kGlobal,    ///< the definition named `text`; only ever called
};

/// An attribute and its value as spelled, without interpretation.
struct Attribute {
  std::string name, value;
  friend bool operator==(const Attribute&, const Attribute&) = default;
};

/// One node of the graph that a text writes down. Identity matters: a value used twice is one node,
/// two equal lines are two.
struct Expr {
  ExprKind kind = ExprKind::kCall;
  std::size_t offset = 0;  ///< of its first character in the text
  std::string text;
  int callee = -1;
  std::vector<int> args;              ///< ids of expressions
  std::vector<Attribute> attributes;  ///< kCall, in the order read
  std::vector<std::string> comments;  ///< what stands between "/*" and "*/", in the order read
  std::optional<Type> type;           ///< of its `ty=` comment; kParameter: the declared type
  std::int64_t index = 0;
  int function = -1;
  int owner = -1;          ///< function in whose body it is written; -1: none
  int depth = 0;           ///< functions it reaches that stand inside one another
  std::string bound_name;  ///< "26" after "%26 = …"; empty if it has no line of its own
  std::string device;      ///< kParameter: value of {virtual_device=…}, or empty
};

struct Function {
  std::vector<int> parameters;  ///< expressions of kind kParameter
  std::vector<Attribute> attributes;
  std::optional<Type> result;
  std::vector<int> statements;        ///< bound expressions, in the order of the lines
  int body = -1;                      ///< the result; -1 where the text stopped early
  std::vector<std::string> comments;  ///< after the closing brace
};

struct TypeDefinition {
  std::string name;
  std::vector<std::string> variables;
  struct Constructor {
    std::string name;
    std::vector<Type> fields;
  };
  std::vector<Constructor> constructors;
};

/// A global function, or (empty name) the expression that the whole text is.
struct Definition {
  std::string name;
  std::vector<std::string> comments;  ///< between the name and "("
  int function = -1;
};

/// Everything a text says, and what is needed to write the same bytes again.
struct Module {
  std::string version;  ///< of the #[version = …] line; empty if there is none
  std::vector<TypeDefinition> types;
  std::vector<Definition> definitions;
  std::vector<Expr> exprs;
  std::vector<Function> functions;
  std::string metadata;  ///< from "#[metadata]" on, with the blanks before it
  int indent = 2;        ///< blanks per level
  bool ends_in_newline = true;
  bool fragment = false;  ///< the text stops inside the last definition, after a statement

  const Expr& expr(int id) const { return exprs[static_cast<std::size_t>(id)]; }
  const Function& function(int id) const { return functions[static_cast<std::size_t>(id)]; }
};

/// Limits of what is read; a text beyond them is refused.
inline constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxMetadataBytes = std::size_t{1984} << 20;  // with the contents
inline constexpr int kMaxNesting = 64;  // brackets, functions, types
inline constexpr std::size_t kMaxRank = 8;
inline constexpr std::int64_t kMaxDim = (std::int64_t{1} << 31) - 1;
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 36;  // of one tensor

/// "line 3, column 7" of a position in a text, both from 1.
std::string PlaceOf(std::string_view text, std::size_t offset);

/// Errors: kInvalidArgument with line, column, what stands there and what was expected.
Result<Module> Parse(std::string_view text);

/// What becomes of value numbers, generated names and indices of constants.
enum class Numbering : std::uint8_t {
  kAutomatic,  ///< kKeep for a fragment, else kRecompute
  kKeep,       ///< as they were read
  kRecompute,  ///< by the rules of the printer of April 2021 and later
};
/// Writes a module. What Parse read from a complete text of that printer comes out byte for byte.
std::string Print(const Module& module, Numbering numbering = Numbering::kAutomatic);

}  // namespace tilewright::relay
