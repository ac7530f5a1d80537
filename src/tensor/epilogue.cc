#include "src/tensor/epilogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/base/strings.h"
#include "src/tensor/operator_names.h"
#include "src/tensor/operator_table.h"
#include "src/tensor/text_scanner.h"

namespace tilewright {
namespace {

constexpr std::size_t kMaxEpilogueText = 4000;
constexpr std::size_t kMaxSteps = 64;
constexpr int kMaxBroadcastRank = 16;

std::string TextOf(double number) { return ShortestDouble(number); }
std::string TextOf(std::int64_t number) { return std::to_string(number); }
std::string TextOf(std::optional<DataType> dtype) { return DataTypeName(dtype.value_or(kFloat32)); }

std::string UnaryArguments(const Operator& op) {
  std::string text;
  for (const OpArgument& argument : RowOf(op.kind).arguments) {
    text += text.empty() ? '(' : ',';
    text += std::visit([&](auto field) { return TextOf(op.attributes.*field); }, argument.field);
  }
  return text.empty() ? text : text + ")";
}

std::string DimensionsText(int kept) {
  std::string text;
  for (int i = 0; i < kMaxBroadcastRank; ++i) {
    if ((kept >> i & 1) != 0) text += (text.empty() ? "" : ",") + std::to_string(i);
  }
  return text;
}

std::string OperandText(const EpilogueStep& step) {
  const std::string_view order = step.operand_first ? ",first" : "";
  // Of a vector or a tensor: a whole number (a zero point) that is subtracted after the cast and
  // before the operator, where that is exact. After the operator, a sum of floats could have lost
  // digits.
  const std::string offset = step.scalar == 0 ? "" : ",less:" + ShortestDouble(step.scalar);
  switch (step.operand) {
    case OperandKind::kNone:
      return {};
    case OperandKind::kScalar:
      return fmt::format("({}{})", ShortestDouble(step.scalar), order);
    case OperandKind::kChannel:
      return fmt::format("(channel:{}{}{})", DataTypeName(step.operand_dtype), offset, order);
    case OperandKind::kBroadcast:
      return fmt::format("(broadcast[{}]:{}{}{})", DimensionsText(step.value),
                         DataTypeName(step.operand_dtype), offset, order);
    case OperandKind::kTensor:
      return fmt::format("(tensor:{}{}{})", DataTypeName(step.operand_dtype), offset, order);
    case OperandKind::kStep:
      return fmt::format("(%{}{})", step.value, order);
  }
  return {};
}

Status ReadNumber(TextScanner& scanner, double& number) {
  TW_ASSIGN_OR_RETURN(auto value, scanner.Number());
  if (std::isnan(value)) return scanner.Error("a number that is not NaN");
  number = value;
  return {};
}

Status ReadArgument(TextScanner& scanner, double& number) { return ReadNumber(scanner, number); }

Status ReadArgument(TextScanner& scanner, std::int64_t& number) {
  TW_ASSIGN_OR_RETURN(number, scanner.Int());
  return {};
}

Status ReadArgument(TextScanner& scanner, std::optional<DataType>& dtype) {
  TW_ASSIGN_OR_RETURN(dtype, scanner.ElementType());
  return {};
}

Status ReadUnaryArguments(TextScanner& scanner, Operator& op) {
  std::string_view before = "(";
  for (const OpArgument& argument : RowOf(op.kind).arguments) {
    TW_RETURN_IF_ERROR(scanner.Expect(std::exchange(before, ",")));
    TW_RETURN_IF_ERROR(std::visit(
        [&](auto field) { return ReadArgument(scanner, op.attributes.*field); }, argument.field));
  }
  return before == "(" ? Status() : scanner.Expect(")");
}

/// Reads the dimensions of a broadcast operand, ascending, up to "]:".
Status ReadKept(TextScanner& scanner, EpilogueStep& step) {
  std::int64_t least = 0;
  while (!scanner.Accept("]")) {
    if (step.value != 0) TW_RETURN_IF_ERROR(scanner.Expect(","));
    const TextScanner before = scanner;
    TW_ASSIGN_OR_RETURN(auto dimension, scanner.Int());
    if (dimension < least || dimension >= kMaxBroadcastRank) {
      return before.Error(fmt::format("a dimension, {} to {}", least, kMaxBroadcastRank - 1));
    }
    step.value |= 1 << static_cast<int>(dimension);
    least = dimension + 1;
  }
  return scanner.Expect(":");
}

/// Reads the name of an operand in memory, if there is one.
Status ReadOperandInMemory(TextScanner& scanner, EpilogueStep& step) {
  if (scanner.Accept("channel:")) {
    step.operand = OperandKind::kChannel;
  } else if (scanner.Accept("tensor:")) {
    step.operand = OperandKind::kTensor;
  } else if (scanner.Accept("broadcast[")) {
    step.operand = OperandKind::kBroadcast;
    return ReadKept(scanner, step);
  }
  return {};
}

/// values: their number so far.
Status ReadOperand(TextScanner& scanner, std::int64_t values, EpilogueStep& step) {
  TW_RETURN_IF_ERROR(scanner.Expect("("));
  TW_RETURN_IF_ERROR(ReadOperandInMemory(scanner, step));
  if (step.has_parameter()) {
    TW_ASSIGN_OR_RETURN(step.operand_dtype, scanner.ElementType());
    const bool moved = scanner.Accept(",less:");
    const TextScanner offset = scanner;
    if (moved) TW_RETURN_IF_ERROR(ReadNumber(scanner, step.scalar));
    if (std::rint(step.scalar) != step.scalar || std::isinf(step.scalar)) {
      return offset.Error("a whole number");
    }
  } else if (scanner.Accept("%")) {
    const TextScanner before = scanner;
    TW_ASSIGN_OR_RETURN(auto value, scanner.Int());
    if (value < 0 || value >= values) {
      return before.Error(fmt::format("the number of a value so far, 0 to {}", values - 1));
    }
    step.operand = OperandKind::kStep;
    step.value = static_cast<int>(value);
  } else {
    step.operand = OperandKind::kScalar;
    TW_RETURN_IF_ERROR(ReadNumber(scanner, step.scalar));
  }
  step.operand_first = scanner.Accept(",first");
  return scanner.Expect(")");
}

Result<EpilogueStep> ReadStep(TextScanner& scanner, std::int64_t values) {
  const TextScanner before = scanner;
  const auto kind = OpKindNamed(scanner.Word());
  if (!kind || !IsElementwise(*kind)) return before.Error("an elementwise operator such as relu");
  EpilogueStep step;
  step.op.kind = *kind;
  if (IsBinary(*kind)) {
    TW_RETURN_IF_ERROR(ReadOperand(scanner, values, step));
    return step;
  }
  TW_RETURN_IF_ERROR(ReadUnaryArguments(scanner, step.op));
  // The type rules validate attribute values; the type is one that the operator accepts.
  const TensorType input{{}, *kind == OpKind::kFixedPointMultiply ? kInt32 : kFloat32};
  if (auto type = InferType(step.op, {&input, 1}); !type.ok()) return type.status();
  return step;
}

}  // namespace

std::string Epilogue::ToString() const {
  std::string text;
  for (const EpilogueStep& step : steps) {
    if (!text.empty()) text.push_back(';');
    text += OpName(step.op.kind);
    text += IsBinary(step.op.kind) ? OperandText(step) : UnaryArguments(step.op);
  }
  return text;
}

Result<Epilogue> Epilogue::Parse(std::string_view text) {
  TextScanner scanner("epilogue", text);
  Epilogue epilogue;
  if (text.empty()) return epilogue;
  if (text.size() > kMaxEpilogueText) return scanner.Error("at most 4000 characters");
  do {
    if (epilogue.steps.size() == kMaxSteps) return scanner.Error("at most 64 steps");
    TW_ASSIGN_OR_RETURN(auto step, ReadStep(scanner, std::ssize(epilogue.steps) + 1));
    epilogue.steps.push_back(std::move(step));
  } while (scanner.Accept(";"));
  if (!scanner.AtEnd()) return scanner.Error("';' or the end");
  if (epilogue.ExpandedSteps() > kMaxExpandedSteps) {
    return scanner.Error(
        fmt::format("at most {} steps, what is used again counted again", kMaxExpandedSteps));
  }
  return epilogue;
}

DataType Epilogue::OutputDtype(DataType dtype) const {
  for (const EpilogueStep& step : steps) {
    const bool casts = step.op.kind == OpKind::kCast || step.op.kind == OpKind::kSaturateCast;
    if (casts && step.op.attributes.dtype) dtype = *step.op.attributes.dtype;
  }
  return dtype;
}

std::int64_t Epilogue::ExpandedSteps() const {
  std::vector<std::int64_t> sizes{0};  // of each value so far
  for (const EpilogueStep& step : steps) {
    const bool again = step.operand == OperandKind::kStep;
    const std::int64_t operand = again ? sizes[static_cast<std::size_t>(step.value)] : 0;
    sizes.push_back(std::min(sizes.back() + operand + 1, kMaxExpandedSteps + 1));
  }
  return sizes.back();
}

Status CheckStepOperand(const EpilogueStep& step, DataType value, DataType current) {
  if (value != current) {
    return InvalidArgument(fmt::format("epilogue: %{} is {}, expected {} like the value before {}",
                                       step.value, DataTypeName(value), DataTypeName(current),
                                       OpName(step.op.kind)));
  }
  const Domain domain = RowOf(step.op.kind).domain;
  const bool divides = domain == Domain::kDivisor || domain == Domain::kShift;
  if (divides && current.is_integer()) {
    return InvalidArgument(fmt::format("epilogue: {} of {} by %{}, expected a float",
                                       OpName(step.op.kind), DataTypeName(current), step.value));
  }
  return {};
}

}  // namespace tilewright
