// Vector forms of vectorized loops: consecutive elements by vloadN and vstoreN, and arithmetic that
// is the same for vectors and scalars. Loops without such a form stay loops.

#include <algorithm>
#include <utility>

#include "src/codegen/opencl/kernel_writer.h"
#include "src/ir/visit.h"

namespace tilewright::opencl {

bool KernelWriter::DependsOnLane(const Expr& expr) const { return Contains(expr, lane_); }

std::optional<KernelWriter::LaneAccess> KernelWriter::AccessOf(const BufferNode& buffer,
                                                               const std::vector<Expr>& indices) {
  const LinearForm form = LinearForm::Of(FlatIndex(buffer, indices), ranges_);
  LaneAccess access;
  LinearForm rest;
  rest.constant = form.constant;
  for (const LinearForm::Term& term : form.terms) {
    if (term.atom.Same(lane_)) {
      access.step = term.coefficient;
    } else if (DependsOnLane(term.atom)) {
      return std::nullopt;
    } else {
      rest.AddTerm(term.atom, term.coefficient);
    }
  }
  if (access.step != 0 && access.step != 1) return std::nullopt;
  access.index = Index(rest.ToExpr(), kSum);
  return access;
}

std::optional<std::string> KernelWriter::VectorLoad(const ExprNode& load, bool bits) {
  const BufferNode& buffer = *load.buffer;
  if (const WorkspaceImage* image = ImageOf(buffer)) {
    if (bits || lanes_ != kTexelElements || !IsWholeTexel(load.args, lane_)) return std::nullopt;
    return Texel(*image, load.args);
  }
  const auto access = AccessOf(buffer, load.args);
  if (!access || access->step != 1 || buffer.dtype.is_bool()) return std::nullopt;
  const char* function = buffer.dtype == kFloat16 && !bits ? "vload_half" : "vload";
  return function + std::to_string(lanes_) + "(0, " + (bits ? NameOf(buffer) : Pointer(buffer)) +
         " + " + access->index + ")";
}

std::optional<std::string> KernelWriter::VectorCast(const Expr& expr) {
  const DataType from = expr->args[0]->dtype, to = expr->dtype;
  auto vector = Vector(expr->args[0]);
  if (from == kFloat16 && to == kFloat32) return vector;
  const bool plain = !from.is_bool() && !to.is_bool() && !from.is_half() && !to.is_half() &&
                     !(from.is_float() && to.is_integer());
  if (!vector || !plain) return std::nullopt;
  return "convert_" + TypeName(to) + std::to_string(lanes_) + "(" + *vector + ")";
}

std::optional<std::string> KernelWriter::VectorOperands(const Expr& expr, const char* symbol) {
  const auto a = Vector(expr->args[0]), b = Vector(expr->args[1]);
  if (!a || !b || expr->dtype == kFloat16) return std::nullopt;
  return "(" + *a + symbol + *b + ")";
}

std::string KernelWriter::VectorOfElements(const Expr& expr) {
  const Expr lane = std::exchange(lane_, Expr());
  std::string elements;
  for (std::int64_t i = 0; i < lanes_; ++i) {
    const Substitution only = {{lane.get(), Expr(i)}};
    elements += (i == 0 ? "" : ", ") + Value(Simplify(Substitute(expr, only), ranges_));
  }
  lane_ = lane;
  return "(" + TypeName(expr->dtype) + std::to_string(lanes_) + ")(" + elements + ")";
}

std::optional<std::string> KernelWriter::Vector(const Expr& expr) {
  if (expr->dtype.is_bool()) return std::nullopt;
  if (!DependsOnLane(expr)) {
    return "(" + TypeName(expr->dtype) + std::to_string(lanes_) + ")(" + Value(expr) + ")";
  }
  switch (expr->kind) {
    case ExprKind::kLoad:
      return VectorLoad(*expr);
    case ExprKind::kCast:
      return VectorCast(expr);
    case ExprKind::kAdd:
      return VectorOperands(expr, " + ");
    case ExprKind::kSub:
      return VectorOperands(expr, " - ");
    case ExprKind::kMul:
      return VectorOperands(expr, " * ");
    case ExprKind::kDiv:
      return expr->dtype.is_float() ? VectorOperands(expr, " / ") : std::nullopt;
    case ExprKind::kSelect: {
      if (DependsOnLane(expr->args[0])) return std::nullopt;
      const auto a = Vector(expr->args[1]), b = Vector(expr->args[2]);
      if (!a || !b) return std::nullopt;
      return "(" + Value(expr->args[0], 2) + " ? " + *a + " : " + *b + ")";
    }
    default:
      return std::nullopt;
  }
}

}  // namespace tilewright::opencl
