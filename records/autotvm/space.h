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

/// Condition on whole configs (AutoTVM: multi-filter): the product of one factor over several
/// splits must be in [low, high]. It does not renumber configs: excluded ones keep their index.
struct AutotvmFilter {
  std::vector<std::string> knobs;
  std::size_t factor = 0;  ///< position of the factor in each split
  std::int64_t low = 0, high = 0;
};

/// Config space of one AutoTVM task, in the order that its index counts.
struct AutotvmSpace {
  /// Order of the knobs of a line relative to the space.
  enum class Order : std::uint8_t {
    kByName,      ///< matched by name, in the space's order
    kByPosition,  ///< two knobs have swapped names: matched by position (reference: 12.1)
    kLine,        ///< an older template defined the knobs in the line's order (reference: 12.8)
  };
  std::vector<AutotvmKnob> knobs;
  std::vector<AutotvmFilter> filters;
  Order order = Order::kByName;

  const AutotvmKnob* Find(std::string_view name) const;
  /// Returns the number of configs.
  /// Errors: kInvalidArgument if it exceeds 63 bits.
  Result<std::int64_t> size() const;
};

/// Edition of a template's space.
enum class AutotvmEdition : std::uint8_t {
  kPackages,   ///< edition that wrote the public packages
  kOldUnroll,  ///< rocm and nvptx: unroll_explicit still has 0 and 1
  kVerbose,    ///< TVM 2020-04 to 0.19: tile_ow of conv2d_NCHWc.x86 also takes powers of two
};

/// Defines the space of a task. Supports the 25 templates of the public packages.
/// Errors: kUnsupported for another template; kInvalidArgument if the arguments do not fit it.
Result<AutotvmSpace> DefineAutotvmSpace(std::string_view task,
                                        const std::vector<AutotvmValue>& args, const Target& target,
                                        AutotvmEdition edition);

/// Returns the names of the templates that DefineAutotvmSpace supports, sorted.
std::vector<std::string_view> AutotvmTemplates();

/// Agreement of a line's values with its stored index.
enum class AutotvmAgreement : std::uint8_t {
  kUnknown = 0,      ///< the space of the template is unknown
  kExact = 1,        ///< the index is the position of the values
  kExactLegacy = 2,  ///< as kExact, in an older edition of the space
  kEdited = 3,       ///< the values are in the space at another index: edited by hand
  kOutside = 4,      ///< the space lacks a value
};
std::string_view AutotvmAgreementName(AutotvmAgreement agreement);

/// Result of comparing a line with the space of its task.
struct AutotvmCheck {
  AutotvmAgreement agreement = AutotvmAgreement::kUnknown;
  AutotvmEdition edition = AutotvmEdition::kPackages;
  std::int64_t index = -1;   ///< position of the values; -1 if outside the space
  bool products_fit = true;  ///< the recorded first factors multiply to their axes
  bool renamed = false;      ///< tile_rx before tile_ry
  bool filtered = false;     ///< a condition on whole configs does not hold
  std::string note;          ///< what the space lacks, as text
};

/// Spaces of one task, created on first use.
class AutotvmTaskSpaces {
 public:
  /// target: must outlive the object.
  AutotvmTaskSpaces(std::string task, std::vector<AutotvmValue> args, const Target& target)
      : task_(std::move(task)), args_(std::move(args)), target_(target) {}

  /// Looks up the line's values in the space and compares the index. If they disagree, the values
  /// count: they were measured.
  AutotvmCheck Check(const LogLine& line);
  /// Returns the index of the line's values; -1 if the space lacks one of them or is unknown.
  std::int64_t IndexOf(const LogLine& line, AutotvmEdition edition);
  /// Returns null if this edition is unknown for the task.
  const AutotvmSpace* Space(AutotvmEdition edition);

 private:
  std::string task_;
  std::vector<AutotvmValue> args_;
  const Target& target_;
  std::optional<Result<AutotvmSpace>> spaces_[3];
};

}  // namespace tilewright::records
