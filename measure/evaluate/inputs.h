#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "src/base/memory.h"
#include "src/tensor/epilogue.h"
#include "src/tensor/reference/error_bound.h"
#include "src/tensor/tensor.h"
#include "src/tensor/workload.h"

namespace tilewright::measure {

/// Input set that a candidate is verified with.
enum class InputSet : std::uint8_t {
  kRandom = 0,     ///< uniform over the type's useful range; also used for timing
  kExtreme = 1,    ///< smallest, largest and special values: saturation, carries, signs
  kZeroPoint = 2,  ///< data at the zero point, other tensors as in kRandom
  kFresh = 3,      ///< kRandom with some unpredictable data (FreshCheck)
};
/// Sets that depend on the workload alone.
inline constexpr std::array kInputSets = {InputSet::kRandom, InputSet::kExtreme,
                                          InputSet::kZeroPoint};
std::string_view InputSetName(InputSet set);

/// Inputs of a workload with its epilogue, in the workload's layouts.
struct AnchorInputs {
  Tensor data, weight;  ///< weight: empty if the operator has none
  /// Tensor operands of the epilogue's steps, in order; of an expression, the inputs after the
  /// first one.
  std::vector<Tensor> operands;
};

/// Generates the inputs of one set: a function of the arguments alone, the same in every process.
/// Errors: kInvalidArgument if the workload is invalid; those of CheckInputMemory.
Result<AnchorInputs> MakeAnchorInputs(const Workload& workload, const Epilogue& epilogue,
                                      InputSet set);

/// Checks the memory demand of a workload of any size before anything is allocated. Counts the
/// minimum that a runner holds: the three input sets in the workload's layouts and in the kernel's
/// (two sets share their weights there), the expected results, and the kernel's own tensors.
/// Errors: kUnsupported with the number of bytes if it exceeds `available`.
Status CheckInputMemory(const Workload& workload, const Epilogue& epilogue,
                        std::int64_t available = MachineMemoryBytes());

/// Returns the type of the result after the epilogue.
Result<TensorType> ResultType(const Workload& workload, const Epilogue& epilogue);

/// Reference results of the three sets. Results of expressions include error bounds.
using ExpectedResults = std::array<BoundedTensor, kInputSets.size()>;
Result<ExpectedResults> EvaluateExpected(const Workload& workload, const Epilogue& epilogue,
                                         int threads);

/// Returns the number of the input that a fresh check changes: 0, the data; of an expression the
/// first input that is not a constant, because timed calls read constants in other places
/// (ColdWeights).
std::size_t FreshInputOf(const Workload& workload);

/// Check of a kernel's last timed run. The system's random generator replaces some elements of one
/// input of the random set (FreshInputOf). A kernel that returns a cached result computes a wrong
/// one.
struct FreshCheck {
  Tensor data;             ///< the changed input, in the workload's layout
  BoundedTensor expected;  ///< the result with this input and the other tensors of the random set
};
/// Draws a new check with each call. Errors: those of MakeAnchorInputs; kUnavailable if the
/// system's random generator fails.
Result<FreshCheck> MakeFreshCheck(const Workload& workload, const Epilogue& epilogue, int threads);

/// Stores the results and, if it is not null, the fresh check. The write is atomic for readers.
Status WriteExpected(const std::string& path, const Workload& workload, const Epilogue& epilogue,
                     const ExpectedResults& expected, const FreshCheck* fresh = nullptr);
/// fresh: set if it is not null and the file contains a check, else unchanged. Errors: kCorrupt
/// unless WriteExpected wrote the file for this workload and epilogue.
Result<ExpectedResults> ReadExpected(const std::string& path, const Workload& workload,
                                     const Epilogue& epilogue, FreshCheck* fresh = nullptr);
/// Returns the file name (no folder) for a workload with an epilogue.
std::string ExpectedFileName(const std::string& workload_key, const std::string& epilogue);

}  // namespace tilewright::measure
