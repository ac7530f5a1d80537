#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "measure/evaluate/inputs.h"
#include "measure/evaluate/kernel_evaluation.h"
#include "measure/sampling.h"

// What the runner and the process of a candidate tell each other, in memory that they share. The
// process says it in numbers only, and the runner believes none of them without need: code of the
// candidate may have written them. Included by .cc files and headers of measure/worker only.

namespace tilewright::measure {

/// One byte of the pipe to the process.
enum class StepKind : char {
  kRun = 'r',          ///< calls of the kernel
  kSlice = 's',        ///< samples
  kPoison = 'p',       ///< fills the workspace
  kSideEffects = 't',  ///< looks at the workspace's surroundings and at threads
};
/// The byte that the process sends after loading, and after each step.
inline constexpr char kStepDone = 'k';

/// What the process is to do, written by the runner.
struct StepRequest {
  InputSet set = InputSet::kRandom;  ///< never kFresh, which it is not told of
  std::int64_t calls = 1;            ///< of kRun
  bool rotate_weights =
      false;  ///< each call takes the next weight of ColdWeights, if there are any
  bool ends_with_real_weight = false;  ///< the last call takes the window with the real weight
  SliceLimits slice;                   ///< of kSlice
};

/// What came of loading, or of a step.
enum class StepResult : std::int32_t {
  kNone = -1,               ///< it has not answered
  kOk = 0,                  ///< after loading, numbers[0]: bytes of workspace
  kNoMemory,                ///< none is left
  kNoThreads,               ///< none can be started
  kLoadFailed,              ///< words: of the loader
  kSymbolMissing,           ///< the artifact lacks the symbols
  kVersionMismatch,         ///< numbers[0]: version of the interface
  kParameterCountMismatch,  ///< numbers[0]: parameters
  kWorkspace,               ///< numbers: bytes of workspace asked for, and per thread
  kOverLimit,               ///< numbers[0]: bytes of result and workspace
  kPrepareFailed,           ///< words: of the preparation
  kKernelError,             ///< numbers[0]: return code of the kernel
  kThreadLeaked,            ///< a thread runs that did not before
  kOutOfBoundsWrite,        ///< numbers[0]: bytes before the start (negative) or past the end of
                            ///< numbers[1]
};

inline constexpr int kMaxSamplesOfSlice = 1024;

/// The shared memory.
struct Exchange {
  StepRequest order;
  // Claims of the process:
  std::atomic<StepResult> answer{StepResult::kOk};
  std::array<std::atomic<std::int64_t>, 2> numbers{};
  std::atomic<std::uint64_t> words{0};  ///< see EncodeKnownWords
  std::atomic<double> seconds{0};       ///< of kRun
  std::atomic<int> samples{0};          ///< of kSlice
  std::array<std::atomic<double>, kMaxSamplesOfSlice> sample_seconds{};
};

/// The fixed words that occur in a text, one bit each: all that leaves the process of a text that
/// code of the candidate may have written.
std::uint64_t EncodeKnownWords(std::string_view text);
/// Those words, with colons between them; "for no known reason" if there are none.
std::string DecodeKnownWords(std::uint64_t words);

}  // namespace tilewright::measure
