#include "src/tensor/compute/kernel_signature.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/strings.h"
#include "src/tensor/compute/winograd.h"
#include "src/tensor/layout.h"

namespace tilewright {
namespace {

/// Returns the tensor with its elements converted (and saturated) to another type.
Tensor Converted(const Tensor& source, DataType dtype) {
  Tensor result(TensorType{source.shape(), dtype});
  for (std::int64_t i = 0; i < source.elements(); ++i) result.Set(i, source.At(i));
  return result;
}

/// Errors: kInvalidArgument naming the first weight outside of the reduced range.
Status CheckReducedRange(const Tensor& weight) {
  const auto values = weight.As<std::int8_t>();
  const auto wide = std::ranges::find_if(values, [](int value) {
    return value < -kReducedRangeMagnitude || value > kReducedRangeMagnitude;
  });
  if (wide == values.end()) return {};
  return InvalidArgument(fmt::format("weight {} is {}, the workload says within {}",
                                     wide - values.begin(), *wide, kReducedRangeMagnitude));
}

/// Returns one value per channel, extended to the channels of the kernel's blocks.
Result<Tensor> ContinuedTo(const TensorType& wanted, const Tensor& values, double padding_value) {
  Tensor continued(TensorType{{wanted.elements()}, values.dtype()});
  if (continued.elements() < values.elements()) {
    return InvalidArgument(
        fmt::format("{} has more elements than {}", values.type().ToString(), wanted.ToString()));
  }
  std::copy_n(values.data(), values.bytes(), continued.data());
  for (std::int64_t i = values.elements(); padding_value != 0 && i < continued.elements(); ++i) {
    continued.Set(i, padding_value);
  }
  return continued;
}

Result<Tensor> InLayout(const Tensor& tensor, const std::string& from, const std::string& to) {
  if (to == from) return tensor.Clone();
  return TransformLayout(tensor, from, to);
}

/// Returns the inputs of an expression; one may be packed: see KernelLayouts::weight.
Result<std::vector<KernelParameter>> ParametersOfExpression(const Workload& workload,
                                                            const KernelLayouts& layouts) {
  std::vector<KernelParameter> parameters;
  const std::size_t colon = layouts.weight.find(':');
  const auto packed = ParseInt64(std::string_view(layouts.weight).substr(0, colon));
  const auto count = static_cast<int>(workload.expression.inputs.size());
  if (!layouts.weight.empty() &&
      (!packed.ok() || colon == std::string::npos || *packed < 0 || *packed >= count)) {
    return InvalidArgument("form: '" + layouts.weight +
                           "' is not a packed input of the expression");
  }
  for (int i = 0; i < count; ++i) {
    const TensorType& type = workload.expression.inputs[static_cast<std::size_t>(i)].type;
    const bool is_packed = !layouts.weight.empty() && *packed == i;
    parameters.push_back(
        {.role = ParameterRole::kInput,
         .type = {},
         .layout = is_packed ? layouts.weight.substr(colon + 1) : PlainLayout(type.shape.size()),
         .operand = i});
  }
  const std::size_t rank = workload.expression.result().shape.size();
  parameters.push_back({.role = ParameterRole::kResult, .type = {}, .layout = PlainLayout(rank)});
  return parameters;
}

/// Returns the parameters without their types.
Result<std::vector<KernelParameter>> ParametersOf(const Workload& workload,
                                                  const Epilogue& epilogue,
                                                  const KernelLayouts& layouts) {
  if (workload.op == OpKind::kExpression) {
    if (!epilogue.steps.empty()) return InvalidArgument("an expression has no epilogue");
    return ParametersOfExpression(workload, layouts);
  }
  TW_ASSIGN_OR_RETURN(auto own, workload.OutputLayout());
  const auto layout = [](const std::string& wanted, const std::string& otherwise) {
    return wanted.empty() ? otherwise : wanted;
  };
  const std::string output = layout(layouts.output, own);
  std::vector<KernelParameter> parameters;
  const auto add = [&](ParameterRole role, std::string in_memory) -> KernelParameter& {
    parameters.push_back({.role = role, .type = {}, .layout = std::move(in_memory)});
    return parameters.back();
  };
  add(ParameterRole::kData, layout(layouts.data, workload.data_layout));
  if (workload.has_weight()) {
    add(ParameterRole::kWeight, layout(layouts.weight, workload.kernel_layout));
  }
  if (layouts.shift_data) add(ParameterRole::kCompensation, "");
  int operand = 0;
  for (const EpilogueStep& step : epilogue.steps) {
    if (!step.has_parameter()) continue;
    const ParameterRole role = step.operand == OperandKind::kChannel  ? ParameterRole::kChannel
                               : step.operand == OperandKind::kTensor ? ParameterRole::kTensor
                                                                      : ParameterRole::kBroadcast;
    KernelParameter& added = add(role, role == ParameterRole::kTensor ? output : std::string());
    added.operand = operand++;
    if (step.op.kind == OpKind::kDiv) added.padding_value = 1;
  }
  add(ParameterRole::kResult, output);
  return parameters;
}

/// Returns an input of an expression in the kernel's layout.
Result<Tensor> PackedInput(const KernelParameter& parameter, const Tensor& source) {
  if (parameter.layout == PlainLayout(source.shape().size())) return source.Clone();
  TW_ASSIGN_OR_RETURN(auto joined, JoinedShape(parameter, source.type()));
  Tensor reshaped = source.Clone();
  const std::string plain = PlainLayout(joined.size());
  reshaped.Reshape(std::move(joined));
  return TransformLayout(reshaped, plain, parameter.layout);
}

Result<Tensor> MakeParameter(const Workload& workload, const KernelSignature& signature,
                             const KernelParameter& parameter, const Tensor& source) {
  switch (parameter.role) {
    case ParameterRole::kData:
      return InLayout(source, workload.data_layout, parameter.layout);
    case ParameterRole::kWeight:
      return PackWeight(workload, signature.layouts, source);
    case ParameterRole::kCompensation: {
      TW_ASSIGN_OR_RETURN(auto sums, MakeCompensation(workload, signature.layouts, source));
      return ContinuedTo(parameter.type, sums, parameter.padding_value);
    }
    case ParameterRole::kChannel:
      return ContinuedTo(parameter.type, source, parameter.padding_value);
    case ParameterRole::kBroadcast:
      if (source.type() != parameter.type) {
        return InvalidArgument("epilogue: an operand is " + source.type().ToString() +
                               ", the kernel reads " + parameter.type.ToString());
      }
      return source.Clone();
    case ParameterRole::kTensor: {
      TW_ASSIGN_OR_RETURN(auto own, workload.OutputLayout());
      return InLayout(source, own, parameter.layout);
    }
    case ParameterRole::kInput:
      return PackedInput(parameter, source);
    case ParameterRole::kResult:
      break;
  }
  return Internal("the result of a kernel is not an input");
}

}  // namespace

std::int64_t KernelSignature::bytes() const {
  std::int64_t sum = 0;
  for (const KernelParameter& parameter : parameters) sum += parameter.type.bytes();
  return sum;
}

Result<KernelSignature> SignatureOf(const Workload& workload, const Epilogue& epilogue,
                                    const KernelLayouts& layouts,
                                    std::span<const TensorType> types) {
  TW_ASSIGN_OR_RETURN(auto parameters, ParametersOf(workload, epilogue, layouts));
  if (parameters.size() != types.size()) {
    return InvalidArgument(
        fmt::format("kernel has {} parameters, expected {}", types.size(), parameters.size()));
  }
  KernelSignature signature{layouts, std::move(parameters)};
  for (std::size_t i = 0; i < types.size(); ++i) signature.parameters[i].type = types[i];
  return signature;
}

Result<KernelSignature> SignatureOf(const Workload& workload, const Epilogue& epilogue,
                                    const KernelLayouts& layouts,
                                    std::span<const Buffer> parameters) {
  std::vector<TensorType> types;
  for (const Buffer& buffer : parameters) types.push_back({buffer->shape, buffer->dtype});
  return SignatureOf(workload, epilogue, layouts, types);
}

Result<std::vector<std::int64_t>> JoinedShape(const KernelParameter& parameter,
                                              const TensorType& type) {
  TW_ASSIGN_OR_RETURN(auto layout, Layout::Parse(parameter.layout));
  const std::vector<Layout::Part>& parts = layout.parts();
  if (parts.size() != parameter.type.shape.size()) {
    return InvalidArgument(fmt::format("parameter is {}, expected layout {}",
                                       parameter.type.ToString(), parameter.layout));
  }
  const std::size_t rank = layout.primal().size();
  std::vector<std::int64_t> joined(rank, 0);
  std::int64_t others = 1;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto dimension = static_cast<std::size_t>(parts[i].dimension - 'A');
    if (dimension >= rank) return InvalidArgument("layout " + parameter.layout + " skips a letter");
    if (parts[i].block != 0 || layout.BlockOf(parts[i].dimension) != 1) continue;
    joined[dimension] = parameter.type.shape[i];
    others *= parameter.type.shape[i];
  }
  for (std::int64_t& extent : joined) {
    if (extent == 0) extent = type.elements() / std::max<std::int64_t>(others, 1);
  }
  if (Product(joined) != type.elements()) {
    return InvalidArgument(
        fmt::format("input {} does not fill layout {}", type.ToString(), parameter.layout));
  }
  return joined;
}

Result<Tensor> ParameterTensor(const Workload& workload, const KernelSignature& signature,
                               std::size_t input, const Tensor& source) {
  const KernelParameter& parameter = signature.parameters[input];
  TW_ASSIGN_OR_RETURN(auto tensor, MakeParameter(workload, signature, parameter, source));
  if (tensor.bytes() != parameter.type.bytes() || tensor.dtype() != parameter.type.dtype) {
    return InvalidArgument(fmt::format("parameter {} is {}, the workload gives {}", input,
                                       parameter.type.ToString(), tensor.type().ToString()));
  }
  return tensor;
}

Result<Tensor> PackWeight(const Workload& workload, const KernelLayouts& layouts,
                          const Tensor& weight) {
  if (weight.type() != workload.weight) {
    return InvalidArgument("weight is " + weight.type().ToString() + ", expected " +
                           workload.weight.ToString());
  }
  if (workload.reduced_range_weights) TW_RETURN_IF_ERROR(CheckReducedRange(weight));
  TW_RETURN_IF_ERROR(CheckWinograd(workload, layouts));
  if (layouts.winograd_tile > 0) {
    return WinogradWeight(weight, WinogradKindOf(workload, layouts));
  }
  const std::string& layout = layouts.weight.empty() ? workload.kernel_layout : layouts.weight;
  TW_ASSIGN_OR_RETURN(auto packed, TransformLayout(weight, workload.kernel_layout, layout));
  if (layouts.multiply_dtype && *layouts.multiply_dtype != weight.dtype()) {
    return Converted(packed, *layouts.multiply_dtype);
  }
  return packed;
}

Result<Tensor> MakeCompensation(const Workload& workload, const KernelLayouts& layouts,
                                const Tensor& weight) {
  if (!layouts.shift_data) return InvalidArgument("compensation: the form does not shift the data");
  // With output channels outermost, each channel's weights are consecutive.
  TW_RETURN_IF_ERROR(Layout::Parse(workload.kernel_layout));
  const bool dense = workload.op == OpKind::kDense;
  TW_ASSIGN_OR_RETURN(auto plain,
                      TransformLayout(weight, workload.kernel_layout, dense ? "NK" : "OIHW"));
  const std::int64_t channels = plain.shape()[0];
  const std::int64_t each = plain.elements() / channels;
  constexpr std::int64_t kShift = 128;  // addend of the "pad" stage
  Tensor result(TensorType{{channels}, kInt32});
  auto sums = result.As<std::int32_t>();
  for (std::int64_t k = 0; k < channels; ++k) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < each; ++i) {
      sum += static_cast<std::int64_t>(plain.At(k * each + i));
    }
    sums[static_cast<std::size_t>(k)] = static_cast<std::int32_t>(-kShift * sum);
  }
  return result;
}

}  // namespace tilewright
