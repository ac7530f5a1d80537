#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "records/package/catalog.h"
#include "src/graph/open/positions.h"
#include "src/graph/open/sequence.h"
#include "src/graph/open/size_range.h"
#include "src/target/cpu.h"
#include "src/target/target.h"

namespace tilewright {

/// Policy for operators without a record.
enum class OnMiss : std::uint8_t { kWarn, kFail };

/// Checks of a library before it gets its name. The plan's sizes of memory are always checked
/// against shapes and layouts.
enum class CheckLevel : std::uint8_t {
  kNone,
  /// The library runs once on poisoned memory, and sampled elements of each kernel are compared
  /// with the reference, in about a second. If it cannot run here, its code is checked for writing
  /// all of its results.
  kSample,
  kAll,  ///< also every element of every operator
};

/// Open dimension of a library. Every tensor that depends on it has it outermost, as entries that
/// are computed independently (FindEntries).
struct OpenDimension {
  SizeRange range;
  /// Set if the entries are the positions of a sequence, which attention joins.
  std::shared_ptr<const SequenceNetwork> sequence;
  /// Set if the entries are positions of an image or a signal, which windows read.
  std::shared_ptr<const PositionNetwork> positions;
  std::map<std::string, std::size_t> axes;  ///< of values that have it: its number, by name
};

struct Plan;
class TemplateRegistry;

struct CompileOptions {
  /// Source of kernels; outlives the call. Null only if the plan is given its streams.
  const TemplateRegistry* templates = nullptr;
  /// Of kind llvm (its num_threads is the number of threads that the model starts with), cuda
  /// or opencl.
  /// Plans (plan.h) also serve a VTA, whose -model names the design.
  Target target;
  /// Queried for each operator. Not owned. If null, every operator gets its default config.
  records::Catalog* catalog = nullptr;
  /// Lowest acceptable level of an answer. With kHit, kNearMatch or kModel, an operator without
  /// such an answer still gets its default config, which then counts as a miss (see on_miss).
  records::AnswerLevel accept = records::AnswerLevel::kDefault;
  /// If set, configs come from imported records, by AutoTVM's rule. These are unverified: see
  /// CompileImported. For a VTA, only records of boards of its design count, and only operators
  /// that AutoTVM has templates for.
  std::optional<records::AutotvmLookup> autotvm;
  /// Preference among records that have several metrics; none: the fastest. With shares, the limit
  /// applies to all operators together.
  std::optional<records::Preference> prefer;
  /// Workloads whose imported record must not be used, each with the reason.
  std::map<std::string, std::string> refused_imports;
  DeviceFingerprint device;  ///< device that the records were measured on; DeviceFor(target)
  /// On a device that leaves operators to the host: sums with a residual join the convolution
  /// before them.
  bool fuse_residuals = false;
  /// The graph is that of one entry, and the library computes any number of entries of the range.
  std::optional<OpenDimension> open;
  OnMiss on_miss = OnMiss::kWarn;
  int build_threads = 1;
  /// Prefix of the C functions, [A-Za-z_][A-Za-z0-9_]*; empty: derived from the graph's name.
  std::string name;
  /// File for the constants, which the library's caller then passes to it; empty: the constants are
  /// part of the library.
  std::string parameter_path;
  /// Object or archive of src/runtime/*.c compiled for the target; empty: this program's own.
  std::string runtime_path;
  CheckLevel check = CheckLevel::kSample;
  double check_seconds = 1;  ///< time limit of comparing samples
  /// Time limit of one operator while the library is checked; longer for large operators.
  double check_operator_seconds = 60;
  /// Progress callback: the stage ("build", "link", "check"), and the number of finished kernels of
  /// the total. The stage "check" begins before any fork. Called from the building threads,
  /// possibly concurrently. May be null.
  std::function<void(std::string_view stage, std::size_t done, std::size_t total)> progress;
  /// Test hook of the checks: changes the plan before code generation.
  std::function<void(Plan&)> change_plan;
};

/// Returns the network over a sequence of any length; null if no dimension is open, or entries are
/// independent.
inline const SequenceNetwork* SequenceOf(const CompileOptions& options) {
  return options.open ? options.open->sequence.get() : nullptr;
}

/// Returns the network over positions that windows read; null if there are none.
inline const PositionNetwork* PositionsOf(const CompileOptions& options) {
  return options.open ? options.open->positions.get() : nullptr;
}

/// Returns the names of the constants with elements for each position of an open sequence.
inline const std::set<std::string>& TablesOf(const CompileOptions& options) {
  static const std::set<std::string> none;
  const SequenceNetwork* sequence = SequenceOf(options);
  return sequence != nullptr ? sequence->tables : none;
}

}  // namespace tilewright
