#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "src/base/status.h"

namespace tilewright {

/// Value of a knob. Split: factors, outermost first (item 0 is the quotient and is stored as its
/// true value; AutoTVM's -1 in exchange formats). Reorder: permutation. Annotate: words. Other: a
/// scalar; only knobs of open tasks are real numbers.
struct KnobValue {
  std::variant<std::vector<std::int64_t>, std::vector<std::string>, std::int64_t, bool, std::string,
               double>
      value;

  const std::vector<std::int64_t>& factors() const { return std::get<0>(value); }
  std::int64_t integer() const;  ///< of an integer or bool value
  /// Formats JSON text: "[2,7,8]", "true", "16", "0.5", "\"none\"".
  std::string ToString() const;
  friend bool operator==(const KnobValue&, const KnobValue&) = default;
};

enum class KnobKind : std::uint8_t { kSplit, kReorder, kAnnotate, kOther };  // "sp" "re" "an" "ot"

/// Named tunable choice with its values in AutoTVM's order. The order is part of the record format:
/// changing it needs a new template version. Rules: reference of AutoTVM records, 6.1-6.4.
class Knob {
 public:
  enum class SplitPolicy : std::uint8_t { kFactors, kPower2, kVerbose };
  struct SplitOptions {
    SplitPolicy policy = SplitPolicy::kFactors;
    std::int64_t max_factor = std::int64_t{1} << 31;
    /// Filter of values (gets all factors, item 0 resolved); may be null.
    bool (*keep)(const std::vector<std::int64_t>&) = nullptr;
  };
  static constexpr int kMaxParts = 4;
  /// Creates a split knob. Errors: kInvalidArgument if extent < 1, if parts is not in 1..kMaxParts,
  /// or if no value remains.
  static Result<Knob> Split(std::string name, std::int64_t extent, int parts,
                            const SplitOptions& options);
  static Result<Knob> Split(std::string name, std::int64_t extent, int parts) {
    return Split(std::move(name), extent, parts, SplitOptions());
  }
  /// Creates a knob of the listed values in order. Split values in the list are used unchanged.
  static Knob Candidates(std::string name, KnobKind kind, std::vector<KnobValue> values);
  static Knob Other(std::string name, std::vector<std::int64_t> values);
  static Knob Bool(std::string name, std::vector<bool> values);
  static Knob Words(std::string name, std::vector<std::string> values);
  static Knob Lists(std::string name, std::vector<std::vector<std::int64_t>> values);

  const std::string& name() const { return name_; }
  KnobKind kind() const { return kind_; }
  std::int64_t size() const { return static_cast<std::int64_t>(values_.size()); }
  const KnobValue& operator[](std::int64_t i) const { return values_[static_cast<std::size_t>(i)]; }
  /// Returns the position of a value, or -1.
  std::int64_t Find(const KnobValue& value) const;
  friend bool operator==(const Knob&, const Knob&) = default;

 private:
  std::string name_;
  KnobKind kind_ = KnobKind::kOther;
  std::vector<KnobValue> values_;
};

}  // namespace tilewright
