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

/// Role of a kernel's parameter in its workload.
enum class ParameterRole : std::uint8_t {
  kData,          ///< the first operand
  kWeight,        ///< the second one, packed: see PackWeight
  kCompensation,  ///< of shifted data: see MakeCompensation
  kChannel,       ///< operand of an epilogue step: one element per output channel
  kBroadcast,     ///< operand of an epilogue step: a tensor that broadcasts to the result
  kTensor,        ///< operand of an epilogue step: a tensor of the result's shape
  kResult,
  kInput,  ///< of an expression: input `operand`
};

struct KernelParameter {
  ParameterRole role = ParameterRole::kData;
  TensorType type;     ///< as the kernel indexes it; the bytes in memory are those of `layout`
  std::string layout;  ///< in memory; empty: row-major, or one element per channel
  /// kChannel, kBroadcast, kTensor: number among the operands of the epilogue's steps. kInput:
  /// number of the input.
  int operand = -1;
  /// Value of channels that pad a block: harmless in the kernel's arithmetic.
  double padding_value = 0;
  friend bool operator==(const KernelParameter&, const KernelParameter&) = default;
};

/// Parameters of a kernel of a workload with its epilogue. Code that builds, runs, checks or calls
/// kernels uses this signature.
struct KernelSignature {
  KernelLayouts layouts;
  std::vector<KernelParameter> parameters;  ///< the inputs in order, then the result
  std::span<const KernelParameter> inputs() const {
    return std::span(parameters).first(parameters.size() - 1);
  }
  const KernelParameter& result() const { return parameters.back(); }
  std::int64_t bytes() const;  ///< of all parameters
  friend bool operator==(const KernelSignature&, const KernelSignature&) = default;
};

/// types: of the kernel's parameters, as DefineAnchor orders them.
/// Errors: kInvalidArgument if their number differs from the workload's; those of the workload's
/// layouts.
Result<KernelSignature> SignatureOf(const Workload& workload, const Epilogue& epilogue,
                                    const KernelLayouts& layouts,
                                    std::span<const TensorType> types);
Result<KernelSignature> SignatureOf(const Workload& workload, const Epilogue& epilogue,
                                    const KernelLayouts& layouts,
                                    std::span<const Buffer> parameters);

/// Returns the shape of a packed input of an expression with neighboring dimensions joined as its
/// layout has them: the blocked dimension has all elements that the others do not. type: of the
/// expression's input.
Result<std::vector<std::int64_t>> JoinedShape(const KernelParameter& parameter,
                                              const TensorType& type);

/// Returns the tensor that the kernel takes as an input. source: the workload's own tensor for it
/// (the weight for a compensation), in the workload's layout.
/// Errors: kInvalidArgument if `source` does not give a tensor of the parameter's size and type.
Result<Tensor> ParameterTensor(const Workload& workload, const KernelSignature& signature,
                               std::size_t input, const Tensor& source);

/// Returns the weight of a kernel, packed from the workload's layout; and its compensation input,
/// one element per channel.
Result<Tensor> PackWeight(const Workload& workload, const KernelLayouts& layouts,
                          const Tensor& weight);
Result<Tensor> MakeCompensation(const Workload& workload, const KernelLayouts& layouts,
                                const Tensor& weight);

}  // namespace tilewright
