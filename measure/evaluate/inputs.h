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

/// The kinds of input a candidate is verified with.
enum class InputSet : std::uint8_t {
  kRandom = 0,     ///< uniform over the type's useful range; also what it is timed with
  kExtreme = 1,    ///< smallest, largest and special values: saturation, carries, signs
  kZeroPoint = 2,  ///< data at the zero point, other tensors as in kRandom
  kFresh = 3,      ///< kRandom with some data that nobody can know before (FreshCheck)
};
/// Those that follow from the workload alone.
inline constexpr std::array kInputSets = {InputSet::kRandom, InputSet::kExtreme,
                                          InputSet::kZeroPoint};
std::string_view InputSetName(InputSet set);

/// What a workload with its epilogue reads, in its own layouts.
struct AnchorInputs {
  Tensor data, weight;  ///< weight: empty if the operator has none
  /// Of the epilogue's steps that have a tensor, in order; of an expression, the inputs after the
  /// first.
  std::vector<Tensor> operands;
};

/// Inputs of one set: a function of the arguments alone, the same in every process.
/// Errors: kInvalidArgument if the workload is none; those of CheckInputMemory.
Result<AnchorInputs> MakeAnchorInputs(const Workload& workload, const Epilogue& epilogue,
                                      InputSet set);

/// For a workload of any size, before anything is allocated. Counted is what a runner holds at
/// least: the three sets of inputs in the workload's layouts and in the kernel's (weights of two
/// sets are the same there), the expected results, and the kernel's own. Errors: kUnsupported with
/// the bytes needed if they are more than `available`.
Status CheckInputMemory(const Workload& workload, const Epilogue& epilogue,
                        std::int64_t available = MachineMemoryBytes());

/// Type of the result, epilogue applied.
Result<TensorType> ResultType(const Workload& workload, const Epilogue& epilogue);

/// Reference results of the three sets. Those of expressions have bounds.
using ExpectedResults = std::array<BoundedTensor, kInputSets.size()>;
Result<ExpectedResults> EvaluateExpected(const Workload& workload, const Epilogue& epilogue,
                                         int threads);

/// Check of the last timed run of a kernel. Some elements of the random set's data are replaced by
/// values of the system's random generator. A kernel that keeps an earlier result gives a wrong
/// one.
struct FreshCheck {
  Tensor data;             ///< in the workload's layout
  BoundedTensor expected;  ///< the result with this data and the other tensors of the random set
};
/// Draws another one with each call. Errors: those of MakeAnchorInputs; kUnavailable if the system
/// gives no random numbers.
Result<FreshCheck> MakeFreshCheck(const Workload& workload, const Epilogue& epilogue, int threads);

/// Stores the results and, if it is not null, the fresh check. Readers see all of it or nothing.
Status WriteExpected(const std::string& path, const Workload& workload, const Epilogue& epilogue,
                     const ExpectedResults& expected, const FreshCheck* fresh = nullptr);
/// fresh: set if it is not null and the file has one, else left alone.
/// Errors: kCorrupt unless the file is one of WriteExpected for this workload and epilogue.
Result<ExpectedResults> ReadExpected(const std::string& path, const Workload& workload,
                                     const Epilogue& epilogue, FreshCheck* fresh = nullptr);
/// File name (no folder) for a workload with an epilogue.
std::string ExpectedFileName(const std::string& workload_key, const std::string& epilogue);

}  // namespace tilewright::measure
