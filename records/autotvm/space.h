#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "records/autotvm/knob.h"
#include "records/autotvm/log_line.h"
#include "records/autotvm/value.h"
#include "src/base/status.h"
#include "src/target/target.h"

namespace tilewright::records {

/// A condition on whole configs (AutoTVM: multi-filter): the product of one factor over several
/// splits lies in [low, high]. It does not renumber: configs outside keep their index.
struct AutotvmFilter {
  std::vector<std::string> knobs;
  std::size_t factor = 0;  ///< position of the factor in each split
  std::int64_t low = 0, high = 0;
};

/// The config space of one AutoTVM task: what its index counts.
struct AutotvmSpace {
  /// How to read a line whose knobs come in another order than the space's.
  enum class Order : std::uint8_t {
    kByName,      ///< the space's order counts
    kByPosition,  ///< two knobs swapped their names; positions count (reference: 12.1)
    kLine,        ///< an older template defined them in the line's order (reference: 12.8)
  };
  std::vector<AutotvmKnob> knobs;
  std::vector<AutotvmFilter> filters;
  Order order = Order::kByName;

  const AutotvmKnob* Find(std::string_view name) const;
  /// Number of configs. Errors: kInvalidArgument if it does not fit 63 bits.
  Result<std::int64_t> size() const;
};

/// Which of a template's spaces.
enum class AutotvmEdition : std::uint8_t {
  kPackages,   ///< the one the public packages were written with
  kOldUnroll,  ///< rocm and nvptx: unroll_explicit still has 0 and 1
  kVerbose,    ///< TVM 2020-04 to 0.19: tile_ow of conv2d_NCHWc.x86 also takes powers of two
};

/// The space of a task. Known are the 25 templates of the public packages.
/// Errors: kUnsupported for another template; kInvalidArgument if the arguments do not fit it.
Result<AutotvmSpace> DefineAutotvmSpace(std::string_view task,
                                        const std::vector<AutotvmValue>& args, const Target& target,
                                        AutotvmEdition edition);

/// Names of the templates DefineAutotvmSpace knows, sorted.
std::vector<std::string_view> AutotvmTemplates();

/// How a line's values and its stored index agree.
enum class AutotvmAgreement : std::uint8_t {
  kUnknown = 0,      ///< the template's space is not known
  kExact = 1,        ///< the index is that of the values
  kExactLegacy = 2,  ///< it is, in an older edition of the space
  kEdited = 3,       ///< the values are in the space, under another index: edited by hand
  kOutside = 4,      ///< the space lacks a value
};
std::string_view AutotvmAgreementName(AutotvmAgreement agreement);

/// Result of comparing a line with the space of its task.
struct AutotvmCheck {
  AutotvmAgreement agreement = AutotvmAgreement::kUnknown;
  AutotvmEdition edition = AutotvmEdition::kPackages;
  std::int64_t index = -1;   ///< of the values; -1 if outside
  bool products_fit = true;  ///< written first factors multiply to their axes
  bool renamed = false;      ///< tile_rx before tile_ry
  bool filtered = false;     ///< a condition on whole configs does not hold
  std::string note;          ///< what the space lacks
};

/// The spaces of one task, made when first asked for.
class AutotvmTaskSpaces {
 public:
  /// The target outlives it.
  AutotvmTaskSpaces(std::string task, std::vector<AutotvmValue> args, const Target& target)
      : task_(std::move(task)), args_(std::move(args)), target_(target) {}

  /// Finds the line's values in the space and compares the index. Trust the values: they are what
  /// was measured, the index only says where they stood.
  AutotvmCheck Check(const LogLine& line);
  /// Index of the line's values, -1 if the space lacks one or is not known.
  std::int64_t IndexOf(const LogLine& line, AutotvmEdition edition);
  /// Null where the edition is not known for this task.
  const AutotvmSpace* Space(AutotvmEdition edition);

 private:
  std::string task_;
  std::vector<AutotvmValue> args_;
  const Target& target_;
  std::optional<Result<AutotvmSpace>> spaces_[3];
};

}  // namespace tilewright::records
