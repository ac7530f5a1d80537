// Operands and expected results in the layouts of kernels, created once and cached: per workload in
// its own layouts, and per kernel layout. Weights and biases are packed here as a compiler packs
// them. The fresh check is in memory that candidates do not inherit: a kernel that found its data
// or result could return them without computing anything.

#include "measure/evaluate/operand_cache.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/tensor/layout.h"

namespace tilewright::measure {
namespace {

std::string SourceKey(const KernelSpec& kernel) {
  return kernel.workload.Key() + "\n" + kernel.epilogue.ToString();
}

std::string KernelLayoutsKey(const KernelLayouts& layouts) {
  return layouts.data + "/" + layouts.weight + "/" + layouts.output + "/" +
         (layouts.multiply_dtype ? DataTypeName(*layouts.multiply_dtype) : "") +
         (layouts.shift_data ? "/shifted" : "") +
         (layouts.winograd_tile > 0 ? "/winograd" + std::to_string(layouts.winograd_tile) : "");
}

/// Returns the layout of the result in memory. A workload that passed Parse has one.
std::string ResultLayout(const Workload& workload) {
  auto layout = workload.OutputLayout();
  return layout.ok() ? *layout : std::string();
}

std::int64_t BytesOf(const AnchorInputs& inputs) {
  std::int64_t bytes = inputs.data.bytes() + inputs.weight.bytes();
  for (const Tensor& operand : inputs.operands) bytes += operand.bytes();
  return bytes;
}

/// Weights of the zero-point set are those of the random one.
std::size_t WeightSet(std::size_t set) {
  return set == static_cast<std::size_t>(InputSet::kZeroPoint)
             ? static_cast<std::size_t>(InputSet::kRandom)
             : set;
}

bool IsMadeOfWeight(ParameterRole role) {
  return role == ParameterRole::kWeight || role == ParameterRole::kCompensation;
}

bool IsData(const KernelParameter& parameter) {
  return parameter.role == ParameterRole::kData ||
         (parameter.role == ParameterRole::kInput && parameter.operand == 0);
}

/// Returns true if the fresh check changes this input.
bool IsFresh(const Workload& workload, const KernelParameter& parameter) {
  return parameter.role == ParameterRole::kData ||
         (parameter.role == ParameterRole::kInput &&
          static_cast<std::size_t>(parameter.operand) == FreshInputOf(workload));
}

Result<GuardedMemory> SecretCopy(const Tensor& tensor) {
  TW_ASSIGN_OR_RETURN(auto memory, GuardedMemory::Create(tensor.bytes()));
  if (tensor.bytes() > 0) {
    std::memcpy(memory.data(), tensor.data(), static_cast<std::size_t>(tensor.bytes()));
  }
  memory.SetInherited(false);
  return memory;
}

Result<OperandCache::SecretResult> SecretCopy(const BoundedTensor& bounded) {
  OperandCache::SecretResult secret;
  secret.type = bounded.value.type();
  TW_ASSIGN_OR_RETURN(secret.value, SecretCopy(bounded.value));
  if (!bounded.exact()) {
    TW_ASSIGN_OR_RETURN(secret.error, SecretCopy(bounded.error));
  }
  secret.other_positions = bounded.other_positions;
  return secret;
}

/// Returns the result in another layout. Errors: kInternal for a result with bounds: only
/// expressions have them, and their kernels have one layout.
Result<Tensor> MoveExact(const BoundedTensor& bounded, const std::string& from,
                         const std::string& to) {
  if (!bounded.exact()) return Internal("a result with error bounds in another layout, " + to);
  return TransformLayout(bounded.value, from, to);
}

Tensor CopyOf(const GuardedMemory& memory, const TensorType& type) {
  Tensor tensor(type);
  if (type.bytes() > 0) {
    std::memcpy(tensor.data(), memory.data(), static_cast<std::size_t>(type.bytes()));
  }
  return tensor;
}

/// Returns the workload's own tensor for an input of the kernel.
const Tensor& SourceOf(const AnchorInputs& inputs, const KernelParameter& parameter) {
  if (IsData(parameter)) return inputs.data;
  if (IsMadeOfWeight(parameter.role)) return inputs.weight;
  if (parameter.role == ParameterRole::kInput) {  // of an expression: the first one is the data
    return inputs.operands[static_cast<std::size_t>(parameter.operand) - 1];
  }
  return inputs.operands[static_cast<std::size_t>(parameter.operand)];
}

}  // namespace

void WipeTensor(Tensor& tensor) {
  if (tensor.data() == nullptr) return;
  ::explicit_bzero(tensor.data(), static_cast<std::size_t>(tensor.bytes()));
}

BoundedTensor OperandCache::SecretResult::Copy() const {
  BoundedTensor bounded;
  bounded.value = CopyOf(value, type);
  if (error) bounded.error = CopyOf(*error, TensorType{type.shape, kFloat64});
  bounded.other_positions = other_positions;
  return bounded;
}

Result<OperandCache::KernelOperands> OperandCache::Prepare(const KernelSpec& kernel,
                                                           const std::string& reference_path) {
  ++now_;
  for (auto& [key, piece] : pieces_) piece.memory.SetInherited(false);
  TW_ASSIGN_OR_RETURN(auto source, FindSource(kernel, reference_path));
  if (kernel.signature.parameters.empty()) return InvalidArgument("kernel without parameters");
  const std::size_t inputs = kernel.signature.inputs().size();
  KernelOperands kernel_operands;
  kernel_operands.output = kernel.signature.result().type;
  kernel_operands.tolerance = kernel.tolerance;
  for (std::size_t set = 0; set < kInputSets.size(); ++set) {
    for (std::size_t i = 0; i < inputs; ++i) {
      TW_ASSIGN_OR_RETURN(auto memory, FindInput(kernel, *source, set, i));
      kernel_operands.inputs[set].push_back(memory);
    }
  }
  TW_RETURN_IF_ERROR(FindExpected(kernel, *source, kernel_operands));
  TW_RETURN_IF_ERROR(FindFresh(kernel, *source, kernel_operands));
  Evict();
  return kernel_operands;
}

Result<const OperandCache::Source*> OperandCache::FindSource(const KernelSpec& kernel,
                                                             const std::string& reference_path) {
  const std::string key = SourceKey(kernel);
  auto found = sources_.find(key);
  if (found == sources_.end()) {
    Source source;
    FreshCheck fresh;
    auto expected = ReadExpected(reference_path, kernel.workload, kernel.epilogue, &fresh);
    if (!expected.ok()) return Unavailable(expected.status().message());  // it existed before
    source.expected = *std::move(expected);
    if (fresh.expected.value.data() != nullptr) {
      TW_ASSIGN_OR_RETURN(auto data, SecretCopy(fresh.data));
      TW_ASSIGN_OR_RETURN(auto result, SecretCopy(fresh.expected));
      source.bytes += data.bytes() + result.bytes();
      WipeTensor(fresh.data);
      WipeTensor(fresh.expected.value);
      source.fresh_data = std::move(data);
      source.fresh_expected = std::move(result);
    }
    for (std::size_t set = 0; set < kInputSets.size(); ++set) {
      TW_ASSIGN_OR_RETURN(source.inputs[set],
                          MakeAnchorInputs(kernel.workload, kernel.epilogue, kInputSets[set]));
      source.bytes += BytesOf(source.inputs[set]) + source.expected[set].value.bytes();
    }
    found = sources_.emplace(key, std::move(source)).first;
  }
  found->second.last_used = now_;
  return &found->second;
}

Result<const GuardedMemory*> OperandCache::FindInput(const KernelSpec& kernel, const Source& source,
                                                     std::size_t set, std::size_t input) {
  const KernelParameter& parameter = kernel.signature.parameters[input];
  const bool of_weight = IsMadeOfWeight(parameter.role);
  const std::size_t kept_as = of_weight ? WeightSet(set) : set;
  const std::string key =
      SourceKey(kernel) + "\n" + std::to_string(kept_as) + "/" + std::to_string(input) + "/" +
      (of_weight ? KernelLayoutsKey(kernel.signature.layouts) : parameter.layout) + "/" +
      parameter.type.ToString();
  auto found = pieces_.find(key);
  if (found == pieces_.end()) {
    TW_ASSIGN_OR_RETURN(auto tensor, ParameterTensor(kernel.workload, kernel.signature, input,
                                                     SourceOf(source.inputs[kept_as], parameter)));
    TW_ASSIGN_OR_RETURN(auto memory, GuardedMemory::Create(tensor.bytes()));
    std::memcpy(memory.data(), tensor.data(), static_cast<std::size_t>(tensor.bytes()));
    memory.SetReadOnly(true);
    found = pieces_.emplace(key, Piece{std::move(memory), now_}).first;
  }
  found->second.last_used = now_;
  found->second.memory.SetInherited(true);
  return &found->second.memory;
}

Status OperandCache::FindExpected(const KernelSpec& kernel, const Source& source,
                                  KernelOperands& kernel_operands) {
  kernel_operands.result_layout = ResultLayout(kernel.workload);
  kernel_operands.output_layout = kernel.signature.result().layout;
  const TensorType& result = source.expected[0].value.type();
  kernel_operands.padded = kernel_operands.output.elements() != result.elements();
  if (kernel_operands.output.dtype != result.dtype ||
      kernel_operands.output.elements() < result.elements()) {
    return InvalidArgument("the kernel's result is " + kernel_operands.output.ToString() +
                           ", the workload gives " + result.ToString());
  }
  const bool as_it_is =
      kernel_operands.padded || kernel_operands.output_layout == kernel_operands.result_layout;
  if (kernel_operands.padded) {
    TW_ASSIGN_OR_RETURN(auto layout, Layout::Parse(kernel_operands.result_layout));
    kernel_operands.logical = layout.Unpack(result.shape);
  }
  for (std::size_t set = 0; set < kInputSets.size(); ++set) {
    if (as_it_is) {
      kernel_operands.expected[set] = &source.expected[set];
      continue;
    }
    const std::string key =
        SourceKey(kernel) + "\n" + std::to_string(set) + "/" + kernel_operands.output_layout;
    auto found = expected_.find(key);
    if (found == expected_.end()) {
      TW_ASSIGN_OR_RETURN(auto tensor,
                          MoveExact(source.expected[set], kernel_operands.result_layout,
                                    kernel_operands.output_layout));
      found = expected_.emplace(key, ExpectedPiece{{std::move(tensor), Tensor()}, now_}).first;
    }
    found->second.last_used = now_;
    kernel_operands.expected[set] = &found->second.tensor;
  }
  return {};
}

Result<const GuardedMemory*> OperandCache::FindFreshInput(const KernelSpec& kernel,
                                                          const Source& source, std::size_t input) {
  const KernelParameter& parameter = kernel.signature.parameters[input];
  const std::string key = SourceKey(kernel) + "\nfresh/" + std::to_string(input) + "/" +
                          parameter.layout + "/" + parameter.type.ToString();
  auto found = pieces_.find(key);
  if (found == pieces_.end()) {
    const auto random = static_cast<std::size_t>(InputSet::kRandom);
    Tensor data = CopyOf(*source.fresh_data, SourceOf(source.inputs[random], parameter).type());
    auto tensor = ParameterTensor(kernel.workload, kernel.signature, input, data);
    WipeTensor(data);
    TW_RETURN_IF_ERROR(tensor);
    auto memory = SecretCopy(*tensor);
    WipeTensor(*tensor);
    TW_RETURN_IF_ERROR(memory);
    found = pieces_.emplace(key, Piece{*std::move(memory), now_}).first;
  }
  found->second.last_used = now_;
  return &found->second.memory;
}

Status OperandCache::FindFresh(const KernelSpec& kernel, const Source& source,
                               KernelOperands& kernel_operands) {
  if (!source.fresh_data || !source.fresh_expected) return {};
  const std::vector<KernelParameter> inputs(kernel.signature.inputs().begin(),
                                            kernel.signature.inputs().end());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    kernel_operands.fresh.push_back(nullptr);
    if (!IsFresh(kernel.workload, inputs[i])) continue;
    TW_ASSIGN_OR_RETURN(auto memory, FindFreshInput(kernel, source, i));
    kernel_operands.fresh.back() = memory;
  }
  if (kernel_operands.padded || kernel_operands.output_layout == kernel_operands.result_layout) {
    kernel_operands.fresh_expected = &*source.fresh_expected;
    return {};
  }
  const std::string key = SourceKey(kernel) + "\n" + kernel_operands.output_layout;
  auto found = secret_.find(key);
  if (found == secret_.end()) {
    BoundedTensor given = source.fresh_expected->Copy(), moved;
    auto tensor = MoveExact(given, kernel_operands.result_layout, kernel_operands.output_layout);
    WipeTensor(given.value);
    TW_RETURN_IF_ERROR(tensor);
    moved.value = *std::move(tensor);
    auto secret = SecretCopy(moved);
    WipeTensor(moved.value);
    TW_RETURN_IF_ERROR(secret);
    found = secret_.emplace(key, SecretPiece{*std::move(secret), now_}).first;
  }
  found->second.last_used = now_;
  kernel_operands.fresh_expected = &found->second.result;
  return {};
}

void OperandCache::Evict() {
  const auto total = [&] {
    std::int64_t bytes = 0;
    for (const auto& [key, source] : sources_) bytes += source.bytes;
    for (const auto& [key, piece] : pieces_) bytes += piece.memory.bytes();
    for (const auto& [key, piece] : expected_) bytes += piece.tensor.value.bytes();
    for (const auto& [key, piece] : secret_) bytes += piece.result.bytes();
    return bytes;
  };
  // Returns the least recently used entry of a map.
  const auto oldest = [](auto& map) {
    return std::min_element(map.begin(), map.end(), [](const auto& a, const auto& b) {
      return a.second.last_used < b.second.last_used;
    });
  };
  const auto age = [&](auto& map) {
    const auto found = oldest(map);
    return found == map.end() ? first_needed_ : found->second.last_used;
  };
  while (total() > max_bytes_) {
    const std::int64_t first =
        std::min({age(pieces_), age(expected_), age(secret_), age(sources_)});
    // The current order's operands stay, whatever their size.
    if (first >= first_needed_) return;
    if (age(pieces_) == first) {
      pieces_.erase(oldest(pieces_));
    } else if (age(expected_) == first) {
      expected_.erase(oldest(expected_));
    } else if (age(secret_) == first) {
      secret_.erase(oldest(secret_));
    } else {
      sources_.erase(oldest(sources_));
    }
  }
}

}  // namespace tilewright::measure
