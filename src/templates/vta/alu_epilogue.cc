// Translation of an epilogue to the operations of a VTA's ALU.

#include "src/templates/vta/alu_epilogue.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace tilewright {
namespace {

using vta::AluOp;
using Operand = vta::EpilogueStep::Operand;

// The hardware decodes five bits of a shift amount, of which the highest is a sign.
constexpr double kMaxShift = 15;

/// Translator of an epilogue, step by step.
class Translator {
 public:
  Translator(const vta::Design& design, bool gemm_adds) : design_(design), gemm_adds_(gemm_adds) {}

  Status Add(const EpilogueStep& step) {
    if (narrow_ && step.op.kind != OpKind::kCast) {
      return Unsupported("the ALU calculates in int32, expected cast(int32) first");
    }
    if (step.operand == OperandKind::kStep) {
      return Unsupported("the accumulator keeps no earlier value");
    }
    if (step.operand_first && step.op.kind != OpKind::kAdd && step.op.kind != OpKind::kMul) {
      return Unsupported("the accumulator is the first operand of every ALU operation");
    }
    switch (step.op.kind) {
      case OpKind::kAdd:
        return AddBinary(AluOp::kAdd, step);
      case OpKind::kMul:
        if (!IsExtended(design_)) return Unsupported(design_.target() + " does not multiply");
        return AddBinary(AluOp::kMul, step);
      case OpKind::kMax:
        return AddBinary(AluOp::kMax, step);
      case OpKind::kMin:
        return AddBinary(AluOp::kMin, step);
      case OpKind::kShiftRight:
        if (step.operand != OperandKind::kScalar || !(step.scalar >= 0) ||
            !(step.scalar <= kMaxShift)) {
          return Unsupported(fmt::format("expected a constant from 0 to {}", kMaxShift));
        }
        return AddImmediate(AluOp::kShr, step.scalar);
      case OpKind::kRelu:
        return AddImmediate(AluOp::kMax, 0);
      case OpKind::kClip:
        return Clip(step.op.attributes.a_min, step.op.attributes.a_max);
      case OpKind::kSaturateCast:
        if (step.op.attributes.dtype != kInt8) return Unsupported("expected int8");
        TW_RETURN_IF_ERROR(Clip(-128, 127));
        narrow_ = true;
        return {};
      case OpKind::kCast:
        return Cast(step.op.attributes.dtype);
      default:
        return Unsupported("the ALU has no such operation");
    }
  }

  Result<VtaEpilogue> Finish() && {
    if (!narrow_) {
      return Unsupported(
          "a VTA stores int8: expected an epilogue that ends in cast(int8), such as "
          "\"shift_right(8);clip(-127,127);cast(int8)\"");
    }
    return std::move(result_);
  }

 private:
  Status AddImmediate(AluOp op, double value) {
    using Limits = std::numeric_limits<std::int16_t>;
    if (!(value >= Limits::min()) || !(value <= Limits::max()) || value != std::round(value)) {
      return Unsupported(fmt::format("constant {}, expected a whole number of 16 bits", value));
    }
    result_.steps.push_back({op, Operand::kImmediate, static_cast<std::int16_t>(value)});
    range_is_int8_ = false;
    return {};
  }

  Status AddBinary(AluOp op, const EpilogueStep& step) {
    if (step.operand == OperandKind::kScalar) {
      const bool whole = step.scalar == std::round(step.scalar) && std::abs(step.scalar) < 1 << 30;
      if (op == AluOp::kAdd && whole && follows_bias()) {
        result_.operand_addends.back() = static_cast<std::int32_t>(step.scalar);
        return {};
      }
      return AddImmediate(op, step.scalar);
    }
    if (step.operand == OperandKind::kBroadcast) {
      return Unsupported("a broadcast operand, expected a constant or one element per channel");
    }
    if (step.scalar != 0) {
      return Unsupported("a number taken off an operand, expected the operand as it is");
    }
    Operand operand = Operand::kTensor;
    if (step.operand == OperandKind::kChannel) {
      operand = Operand::kPerChannel;
    } else if (step.operand_dtype == kInt8) {
      operand = Operand::kTensorInt8;
      if (!IsExtended(design_) && !(gemm_adds_ && op == AluOp::kAdd)) {
        return Unsupported(design_.target() + " does not load int8 data into the accumulator");
      }
    }
    if (operand != Operand::kTensorInt8 && step.operand_dtype != kInt32) {
      return Unsupported("operand of type " + DataTypeName(step.operand_dtype) +
                         ", expected int32");
    }
    result_.steps.push_back({op, operand, 0});
    result_.operand_addends.push_back(0);
    range_is_int8_ = false;
    return {};
  }

  bool follows_bias() const {
    return !result_.steps.empty() && result_.steps.back().op == AluOp::kAdd &&
           result_.steps.back().operand == Operand::kPerChannel &&
           result_.operand_addends.back() == 0;
  }

  Status Clip(double low, double high) {
    TW_RETURN_IF_ERROR(AddImmediate(AluOp::kMin, high));
    TW_RETURN_IF_ERROR(AddImmediate(AluOp::kMax, low));
    range_is_int8_ = low >= -128 && high <= 127;
    return {};
  }

  /// Adds a cast. The result is narrowed when it is stored; an earlier cast is allowed only where
  /// it changes nothing.
  Status Cast(std::optional<DataType> dtype) {
    if (dtype == kInt8) {
      narrow_ = true;
    } else if (dtype == kInt32) {
      if (narrow_ && !range_is_int8_) {
        return Unsupported("a cast to int8 that is not the last step, expected a clip before it");
      }
      narrow_ = false;
    } else {
      return Unsupported("expected int8 or int32");
    }
    return {};
  }

  const vta::Design& design_;
  const bool gemm_adds_;
  VtaEpilogue result_;
  bool narrow_ = false;         // the value is int8 now
  bool range_is_int8_ = false;  // the last operation was a clip to the range of int8
};

}  // namespace

Result<VtaEpilogue> VtaEpilogueOf(const vta::Design& design, const Epilogue& epilogue,
                                  bool gemm_adds) {
  Translator translator(design, gemm_adds);
  for (const EpilogueStep& step : epilogue.steps) {
    if (Status status = translator.Add(step); !status.ok()) {
      return status.WithContext("epilogue step " + Epilogue{{step}}.ToString());
    }
  }
  return std::move(translator).Finish();
}

bool IsExtended(const vta::Design& design) {
  return design.target() == "sim" || design.target() == "intelfocl";
}

}  // namespace tilewright
