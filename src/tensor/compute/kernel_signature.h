#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/tensor/compute/compute.h"
#include "src/tensor/epilogue.h"
#include "src/tensor/tensor.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// What a parameter of a kernel is to its workload.
enum class ParameterRole : std::uint8_t {
  kData,          ///< the first operand
  kWeight,        ///< the second one, packed: see PackWeight
  kCompensation,  ///< of shifted data: see MakeCompensation
  kChannel,       ///< operand of an epilogue step: one element per output channel
  kTensor,        ///< operand of an epilogue step: a tensor of the result's shape
  kResult,
  kInput,  ///< of an expression: input `operand`
};

struct KernelParameter {
  ParameterRole role = ParameterRole::kData;
  TensorType type;     ///< as the kernel indexes it; its bytes are those of `layout`
  std::string layout;  ///< in memory; empty: one element per channel
  /// kChannel, kTensor: number among the operands of the epilogue's steps; kInput: of the input.
  int operand = -1;
  /// What the channels that only round up a block hold: no harm to what is computed with it.
  double padding_value = 0;
  friend bool operator==(const KernelParameter&, const KernelParameter&) = default;
};

/// What a kernel of a workload with its epilogue takes: everybody who makes, runs, checks or calls
/// one goes by it.
struct KernelSignature {
  KernelLayouts layouts;
  std::vector<KernelParameter> parameters;  ///< the inputs in their order, then the result
  std::span<const KernelParameter> inputs() const {
    return std::span(parameters).first(parameters.size() - 1);
  }
  const KernelParameter& result() const { return parameters.back(); }
  std::int64_t bytes() const;  ///< of all parameters
  friend bool operator==(const KernelSignature&, const KernelSignature&) = default;
};

/// types: of the kernel's parameters, as DefineAnchor orders them.
/// Errors: kInvalidArgument if there are fewer or more than the workload has; those of the
/// workload's layouts.
Result<KernelSignature> SignatureOf(const Workload& workload, const Epilogue& epilogue,
                                    const KernelLayouts& layouts,
                                    std::span<const TensorType> types);
Result<KernelSignature> SignatureOf(const Workload& workload, const Epilogue& epilogue,
                                    const KernelLayouts& layouts,
                                    std::span<const Buffer> parameters);

/// The tensor that the kernel takes as an input. source: the workload's own tensor for it (the
/// weight for a compensation), in the workload's layout.
/// Errors: kInvalidArgument if that does not make a tensor of the parameter's size and type.
Result<Tensor> ParameterTensor(const Workload& workload, const KernelSignature& signature,
                               std::size_t input, const Tensor& source);

/// The tensor a kernel takes as weight, from the workload's own layout; and its compensation input,
/// one element per channel.
Result<Tensor> PackWeight(const Workload& workload, const KernelLayouts& layouts,
                          const Tensor& weight);
Result<Tensor> MakeCompensation(const Workload& workload, const KernelLayouts& layouts,
                                const Tensor& weight);

}  // namespace tilewright
