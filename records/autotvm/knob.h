#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "records/autotvm/log_line.h"
#include "src/base/status.h"
#include "src/space/knob.h"

namespace tilewright::records {

/// Knob of an AutoTVM space, with AutoTVM's order of values (reference: 6.1-6.4). Unlike `Knob`, it
/// counts the values of a split and never lists them: the spaces of one package contain millions of
/// values, and a lookup takes a few hundred steps.
class AutotvmKnob {
 public:
  /// Range of one factor of a split.
  struct Bounds {
    std::int64_t low = 1;
    std::int64_t high = std::int64_t{1} << 31;
  };

  AutotvmKnob() = default;
  /// Creates a split into divisors. bounds: of factors 1, 2, … (factor 0 is the remaining
  /// quotient); missing ones are unbounded.
  /// Errors: kInvalidArgument if extent or parts are out of range, or no value is left.
  static Result<AutotvmKnob> Split(std::string name, std::int64_t extent, int parts,
                                   std::vector<Bounds> bounds = {});
  /// Creates a split in two by listed inner factors, which need not divide the extent.
  static AutotvmKnob Inner(std::string name, std::int64_t extent, std::vector<std::int64_t> inner);
  /// Creates a knob with the listed values in order.
  static AutotvmKnob List(std::string name, KnobKind kind, std::vector<KnobValue> values);
  static AutotvmKnob Other(std::string name, const std::vector<std::int64_t>& values);
  /// Creates a knob of all assignments of `words` to `axes` axes, the last axis fastest, with at
  /// most one "vec".
  static AutotvmKnob Annotate(std::string name, std::vector<std::string> words, int axes);

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  KnobKind kind() const { return kind_; }
  std::int64_t size() const { return size_; }
  std::int64_t extent() const { return extent_; }  ///< of a split; 0 for others
  /// Returns the position of a line's value, -1 if the knob lacks it. Ignores the first factor of a
  /// split.
  std::int64_t Find(const LogLine& line, const LogEntity& entity) const;
  /// Returns the value at a position in [0, size()). The first factor of a split is the true one.
  KnobValue At(std::int64_t position) const;

 private:
  /// Adds the counts of a split's next factor.
  void CountFactor(int factor, const std::vector<int>& quotients);
  std::int64_t FindSplit(std::span<const std::int64_t> factors) const;
  std::vector<std::int64_t> SplitAt(std::int64_t position) const;
  /// Returns the position of a divisor; -1 if `value` is not a divisor.
  std::int64_t DivisorPosition(std::int64_t value) const;
  std::int64_t Count(int factor, std::int64_t rest) const;
  /// Returns the position of an assignment of words; -1 if the knob lacks it.
  std::int64_t FindWords(std::span<const std::string_view> words) const;
  /// Calls `visit` with the digits of each assignment of Annotate in order, until it returns false.
  template <typename Visit>
  void ForEachAssignment(Visit visit) const;

  std::string name_;
  KnobKind kind_ = KnobKind::kOther;
  std::int64_t size_ = 0;
  std::int64_t extent_ = 0;
  int parts_ = 0;
  std::vector<Bounds> bounds_;          // of factors 1…
  std::vector<std::int64_t> divisors_;  // of the extent, ascending
  std::vector<std::int64_t> counts_;    // ways to choose factors 1…f from a divisor, see Count
  std::vector<std::int64_t> inner_;     // of Inner
  std::vector<std::string> words_;      // of Annotate
  int axes_ = 0;                        // of Annotate, at most kMaxAxes
  std::vector<KnobValue> values_;       // of List
};

}  // namespace tilewright::records
