#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "measure/evaluate/inputs.h"
#include "measure/evaluate/kernel_evaluation.h"
#include "measure/sampling.h"

// Protocol between the runner and the process of a candidate, in shared memory. The process sends
// only numbers. The runner treats them as unverified, because code of the candidate may have
// written them. Included by .cc files and headers of measure/worker only.

namespace tilewright::measure {

/// Byte that the runner sends through the pipe to the process.
enum class StepKind : char {
  kRun = 'r',          ///< calls of the kernel
  kSlice = 's',        ///< samples
  kPoison = 'p',       ///< fills the workspace
  kSideEffects = 't',  ///< checks the workspace's red zones and the threads
};
/// The byte that the process sends after loading, and after each step.
inline constexpr char kStepDone = 'k';

/// Step that the process executes, written by the runner.
struct StepRequest {
  InputSet set = InputSet::kRandom;  ///< never kFresh, which the process must not learn of
  std::int64_t calls = 1;            ///< of kRun
  bool rotate_weights =
      false;  ///< each call takes the next weight of ColdWeights, if there are any
  bool ends_with_real_weight = false;  ///< the last call takes the window with the real weight
  SliceLimits slice;                   ///< of kSlice
};

/// Result of loading, or of a step.
enum class StepResult : std::int32_t {
  kNone = -1,               ///< no answer yet
  kOk = 0,                  ///< after loading, numbers[0]: bytes of workspace
  kNoMemory,                ///< out of memory
  kNoThreads,               ///< no thread can be started
  kLoadFailed,              ///< words: of the loader's message
  kSymbolMissing,           ///< the artifact lacks the symbols
  kVersionMismatch,         ///< numbers[0]: version of the interface
  kParameterCountMismatch,  ///< numbers[0]: parameters
  kWorkspace,               ///< numbers: bytes of workspace requested, and per thread
  kOverLimit,               ///< numbers[0]: bytes of result and workspace
  kPrepareFailed,           ///< words: of the preparation's message
  kKernelError,             ///< numbers[0]: return code of the kernel
  kThreadLeaked,            ///< an additional thread is running
  kOutOfBoundsWrite,        ///< numbers[0]: bytes before the start (negative) or past the end of
                            ///< numbers[1]
};

inline constexpr int kMaxSamplesOfSlice = 1024;

/// The shared memory.
struct Exchange {
  StepRequest order;
  // Unverified values from the process:
  std::atomic<StepResult> answer{StepResult::kOk};
  std::array<std::atomic<std::int64_t>, 2> numbers{};
  std::atomic<std::uint64_t> words{0};  ///< see EncodeKnownWords
  std::atomic<double> seconds{0};       ///< of kRun
  std::atomic<int> samples{0};          ///< of kSlice
  std::array<std::atomic<double>, kMaxSamplesOfSlice> sample_seconds{};
};

/// Fixed words that occur in a text, one bit each. No other part of the text leaves the process,
/// because code of the candidate may have written it.
std::uint64_t EncodeKnownWords(std::string_view text);
/// Returns those words, with colons between them; "for no known reason" if there are none.
std::string DecodeKnownWords(std::uint64_t words);

}  // namespace tilewright::measure
