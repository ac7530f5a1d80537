#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/annotation.h"
#include "src/graph/relay/syntax.h"
#include "src/tensor/operator.h"

namespace tilewright::relay {

/// An argument of a call: its type, and its value where it is a literal.
struct Argument {
  TensorType type;
  std::optional<double> scalar;
};

/// What a call becomes: operator `op` applied to the first `operands` arguments. With
/// `reshape_last` the last of them is reshaped to that shape before.
struct Translation {
  Operator op;
  std::size_t operands = 0;
  std::vector<std::int64_t> reshape_last;
  Annotation annotation;  ///< of an identity
};

/// A tensor's type as the text spells it.
Type TypeOf(const TensorType& type);

bool IsKnownOperator(std::string_view name);
/// Name of an operator; empty if Relay text has none.
std::string_view RelayName(OpKind kind);
/// Of an identity with that mark, and of the kind of value that a quantization's mark names.
std::string_view RelayName(AnnotationKind annotation);
std::string_view ValueKindName(ValueKind kind);
/// Errors: kInvalidArgument for a wrong attribute or argument; kUnsupported for an attribute, or a
/// value of one, that has no counterpart.
Result<Translation> Translate(const Expr& call, std::span<const Argument> arguments);

}  // namespace tilewright::relay
