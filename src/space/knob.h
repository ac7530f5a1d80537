#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "src/base/status.h"

namespace tilewright {

/// One value of one knob. Split: factors, outermost first (item 0 is what is left and is stored as
/// the true number; AutoTVM's -1 on exchange). Reorder: permutation. Annotate: words. Other: a
/// scalar.
struct KnobValue {
  std::variant<std::vector<std::int64_t>, std::vector<std::string>, std::int64_t, bool, std::string>
      value;

  const std::vector<std::int64_t>& factors() const { return std::get<0>(value); }
  std::int64_t integer() const;  ///< of an integer or bool value
  /// JSON text: "[2,7,8]", "true", "16", "\"none\"".
  std::string ToString() const;
  friend bool operator==(const KnobValue&, const KnobValue&) = default;
};

enum class KnobKind : std::uint8_t { kSplit, kReorder, kAnnotate, kOther };  // "sp" "re" "an" "ot"

/// One named tunable choice with its values in AutoTVM's order (the order is part of the record
/// format: changing it needs a new template version). Rules: reference of AutoTVM records, 6.1-6.4.
class Knob {
 public:
  enum class SplitPolicy : std::uint8_t { kFactors, kPower2, kVerbose };
  struct SplitOptions {
    SplitPolicy policy = SplitPolicy::kFactors;
    std::int64_t max_factor = std::int64_t{1} << 31;
    /// Keeps a value only if this holds (of all factors, item 0 resolved); may be null.
    bool (*keep)(const std::vector<std::int64_t>&) = nullptr;
  };
  static constexpr int kMaxParts = 4;
  /// Errors: kInvalidArgument if extent < 1, parts out of 1..kMaxParts, or no value is left.
  static Result<Knob> Split(std::string name, std::int64_t extent, int parts,
                            const SplitOptions& options);
  static Result<Knob> Split(std::string name, std::int64_t extent, int parts) {
    return Split(std::move(name), extent, parts, SplitOptions());
  }
  /// The listed values in order. Split values given as a list are used as they are.
  static Knob Candidates(std::string name, KnobKind kind, std::vector<KnobValue> values);
  static Knob Other(std::string name, std::vector<std::int64_t> values);
  static Knob Bool(std::string name, std::vector<bool> values);

  const std::string& name() const { return name_; }
  KnobKind kind() const { return kind_; }
  std::int64_t size() const { return static_cast<std::int64_t>(values_.size()); }
  const KnobValue& operator[](std::int64_t i) const { return values_[static_cast<std::size_t>(i)]; }
  /// Position of a value, or -1.
  std::int64_t Find(const KnobValue& value) const;
  friend bool operator==(const Knob&, const Knob&) = default;

 private:
  std::string name_;
  KnobKind kind_ = KnobKind::kOther;
  std::vector<KnobValue> values_;
};

}  // namespace tilewright
