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

/// Type in the text.
struct Type {
  TypeKind kind = TypeKind::kTensor;
  std::string name;
  std::vector<std::int64_t> dims;  ///< -1 for "?"
  std::vector<Type> parts;
  friend bool operator==(const Type&, const Type&) = default;
};
/// Returns for example "Tensor[(1, 64), int8]", "int16", "(int8, int8)", "fn (int8) -> int8",
/// "List[A]".
std::string ToString(const Type& type);

enum class ExprKind : std::uint8_t {
  kCall,        ///< call of operator `text`, or (callee >= 0) of a function
  kLiteral,     ///< `text` is its spelling
  kConstant,    ///< meta[text][index]
  kParameter,   ///< parameter of a function; `text` is its name without "%"
  kProjection,  ///< field `index` of args[0]
  kTuple,
  kFunction,  ///< Module::functions[function]
  kGlobal,    ///< definition named `text`; only used as a callee
};

/// Attribute with its value as text, not interpreted.
struct Attribute {
  std::string name, value;
  friend bool operator==(const Attribute&, const Attribute&) = default;
};

/// Node of the dataflow graph that a text defines. Node identity follows the text: a value that is
/// used twice is one node; two equal lines are two nodes.
struct Expr {
  ExprKind kind = ExprKind::kCall;
  std::size_t offset = 0;  ///< position of its first character in the text
  std::string text;
  int callee = -1;
  std::vector<int> args;              ///< ids of expressions
  std::vector<Attribute> attributes;  ///< kCall, in the order read
  std::vector<std::string> comments;  ///< texts between "/*" and "*/", in the order read
  std::optional<Type> type;           ///< type in its `ty=` comment; kParameter: the declared type
  std::int64_t index = 0;
  int function = -1;
  int owner = -1;          ///< function whose body contains it; -1: none
  int depth = 0;           ///< nesting depth of the functions it contains
  std::string bound_name;  ///< "26" for "%26 = …"; empty if it has no line of its own
  std::string device;      ///< kParameter: value of {virtual_device=…}, or empty
};

struct Function {
  std::vector<int> parameters;  ///< expressions of kind kParameter
  std::vector<Attribute> attributes;
  std::optional<Type> result;
  std::vector<int> statements;        ///< bound expressions, in the order of the lines
  int body = -1;                      ///< the result; -1 if the text ends early
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

/// Global function or, with an empty name, the expression that forms the whole text.
struct Definition {
  std::string name;
  std::vector<std::string> comments;  ///< between the name and "("
  int function = -1;
};

/// Complete contents of a text, including the details that Print needs to reproduce the same bytes.
struct Module {
  std::string version;  ///< version in the #[version = …] line; empty if absent
  std::vector<TypeDefinition> types;
  std::vector<Definition> definitions;
  std::vector<Expr> exprs;
  std::vector<Function> functions;
  std::string metadata;  ///< text from "#[metadata]" on, with the blanks before it
  int indent = 2;        ///< blanks per level
  bool ends_in_newline = true;
  bool fragment = false;  ///< the text ends inside the last definition, after a statement

  const Expr& expr(int id) const { return exprs[static_cast<std::size_t>(id)]; }
  const Function& function(int id) const { return functions[static_cast<std::size_t>(id)]; }
};

/// Limits of the input; larger texts are rejected.
inline constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxMetadataBytes = std::size_t{1984} << 20;  // with the contents
inline constexpr int kMaxNesting = 64;  // brackets, functions, types
inline constexpr std::size_t kMaxRank = 8;
inline constexpr std::int64_t kMaxDim = (std::int64_t{1} << 31) - 1;
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 36;  // of one tensor

/// Returns "line 3, column 7" for a position in a text, both counted from 1.
std::string PlaceOf(std::string_view text, std::size_t offset);

/// Parses a text.
/// Returns kInvalidArgument with line, column, the text found and the expected one.
Result<Module> Parse(std::string_view text);

/// Treatment of value numbers, generated names and indices of constants.
enum class Numbering : std::uint8_t {
  kAutomatic,  ///< kKeep for a fragment, else kRecompute
  kKeep,       ///< as in the text
  kRecompute,  ///< by the rules of the printer of April 2021 and later
};
/// Writes a module. For a complete text of that printer, Print reproduces the input of Parse byte
/// for byte.
std::string Print(const Module& module, Numbering numbering = Numbering::kAutomatic);

}  // namespace tilewright::relay
