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

/// Argument of a call: its type, and its value if it is a literal.
struct Argument {
  TensorType type;
  std::optional<double> scalar;
};

/// Translation of a call: operator `op` applied to the first `operands` arguments. With
/// `reshape_last` the last of them is first reshaped to that shape.
struct Translation {
  Operator op;
  std::size_t operands = 0;
  std::vector<std::int64_t> reshape_last;
  Annotation annotation;  ///< annotation of an identity
};

/// Converts a tensor's type to the representation of the text.
Type TypeOf(const TensorType& type);

bool IsKnownOperator(std::string_view name);
/// Returns the name of an operator; empty if Relay text has none.
std::string_view RelayName(OpKind kind);
/// Returns the name of an identity with that annotation, or the name of the value kind of a
/// simulated-quantize annotation.
std::string_view RelayName(AnnotationKind annotation);
std::string_view ValueKindName(ValueKind kind);
/// Translates a call to an operator.
/// Returns kInvalidArgument for an invalid attribute or argument; kUnsupported for an attribute or
/// value without a counterpart.
Result<Translation> Translate(const Expr& call, std::span<const Argument> arguments);

}  // namespace tilewright::relay
