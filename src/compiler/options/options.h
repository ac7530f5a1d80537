#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "records/package/catalog.h"
#include "src/target/cpu.h"
#include "src/target/target.h"

namespace tilewright {

/// What to do about an operator that no record serves.
enum class OnMiss : std::uint8_t { kWarn, kFail };

/// What is done with a library before anybody gets it. That the sizes of all memory follow from
/// shapes and layouts is looked at always.
enum class CheckLevel : std::uint8_t {
  kNone,
  /// Run once on poisoned memory, and sampled elements of each kernel compared with the reference,
  /// in about a second; where it cannot run here, that its code writes all of its results.
  kSample,
  kAll,  ///< every element of every operator as well
};

struct Plan;
class TemplateRegistry;

struct CompileOptions {
  /// What kernels are made by; outlives the call. Null only where streams are given to the plan.
  const TemplateRegistry* templates = nullptr;
  /// Of kind llvm: its num_threads is how many threads the model starts with. Or of kind cuda.
  /// Plans (plan.h) are made for a VTA too: its -model is the design.
  Target target;
  /// Asked for each operator. Not owned; null: everything gets its default config.
  records::Catalog* catalog = nullptr;
  /// How far down an answer may be. With kHit, kNearMatch or kModel an operator for which there is
  /// none still gets its default config, which is then a miss (see on_miss).
  records::AnswerLevel accept = records::AnswerLevel::kDefault;
  /// Not none: configs of imported records, by AutoTVM's rule. Nobody has verified them: see
  /// CompileImported. For a VTA only records of boards of its design, and only operators that
  /// AutoTVM has templates for.
  std::optional<records::AutotvmLookup> autotvm;
  /// What is wanted of records that know several metrics; none: the fastest. With shares, the
  /// limit is of all operators together.
  std::optional<records::Preference> prefer;
  /// Workloads whose imported record is not to be used, and why.
  std::map<std::string, std::string> refused_imports;
  DeviceFingerprint device;  ///< what the records must have been measured on; DeviceFor(target)
  /// Where a device leaves operators to the host: sums with a residual are behind their
  /// convolutions.
  bool fuse_residuals = false;
  OnMiss on_miss = OnMiss::kWarn;
  int build_threads = 1;
  /// Prefix of the C functions, [A-Za-z_][A-Za-z0-9_]*; empty: made from the graph's name.
  std::string name;
  /// File for the constants, which the library then has to be given; empty: they are part of it.
  std::string parameter_path;
  /// What src/runtime/*.c was compiled to for the target, an object or an archive; empty: what this
  /// program has for it.
  std::string runtime_path;
  CheckLevel check = CheckLevel::kSample;
  double check_seconds = 1;  ///< of comparing samples
  /// How long one operator may run while the library is checked; longer if it has much to do.
  double check_operator_seconds = 60;
  /// Told how far it is: a stage ("build", "link", "check"), and how many of how many kernels are
  /// done; "check" comes before anything is forked. Called from the threads that build, also at
  /// once. May be null.
  std::function<void(std::string_view stage, std::size_t done, std::size_t total)> progress;
  /// For tests of the checks: changes the plan before code is made of it.
  std::function<void(Plan&)> change_plan;
};

}  // namespace tilewright
