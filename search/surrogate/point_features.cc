#include "search/surrogate/point_features.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "src/base/strings.h"

namespace tilewright::search {
namespace {

// Shorter lists are described well enough by the positions of their values.
constexpr std::int64_t kLongList = 5;
// Powers of two from here on are alike.
constexpr int kMaxPower = 8;

/// Returns the number that a value stands for; texts may contain one.
std::optional<double> NumberOf(const KnobValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value.value)) {
    return static_cast<double>(*number);
  }
  if (const auto* number = std::get_if<double>(&value.value)) return *number;
  if (const auto* flag = std::get_if<bool>(&value.value)) return *flag ? 1 : 0;
  const auto* text = std::get_if<std::string>(&value.value);
  if (text == nullptr) return std::nullopt;
  const Result<double> number = ParseDouble(*text);
  return number.ok() ? std::optional(*number) : std::nullopt;
}

bool AreNumbers(const Knob& knob) {
  for (std::int64_t v = 0; v < knob.size(); ++v) {
    if (!NumberOf(knob[v])) return false;
  }
  return true;
}

/// Returns the exponents of two in the values; empty unless they are integers that are ordered
/// otherwise.
std::vector<int> PowersOf(const Knob& knob) {
  std::vector<int> powers;
  if (knob.size() < kLongList) return {};
  for (std::int64_t v = 0; v < knob.size(); ++v) {
    const auto* number = std::get_if<std::int64_t>(&knob[v].value);
    if (number == nullptr || *number < 0) return {};
    const int power =
        *number == 0 ? kMaxPower : std::countr_zero(static_cast<std::uint64_t>(*number));
    powers.push_back(std::min(power, kMaxPower));
  }
  if (std::is_sorted(powers.begin(), powers.end())) return {};
  return powers;
}

bool IsSplit(const Knob& knob) {
  return std::holds_alternative<std::vector<std::int64_t>>(knob[0].value) &&
         knob.kind() == KnobKind::kSplit;
}

}  // namespace

PointFeatures::PointFeatures(const SearchSpace& space) : space_(space) {
  if (space.spaces.size() > 1) {  // the template
    is_category_.push_back(true);
    absent_.push_back(0);
  }
  for (const ConfigSpace& one : space.spaces) {
    std::vector<Knobs> of_space;
    for (std::size_t k = 0; k < one.knobs().size(); ++k) {
      AddKnob(one.knobs()[k], k >= space.ordered.size() || space.ordered[k], of_space);
    }
    tables_.push_back(std::move(of_space));
  }
}

void PointFeatures::AddKnob(const Knob& knob, bool ordered, std::vector<Knobs>& of_space) {
  Knobs& table = of_space.emplace_back();
  table.first = is_category_.size();
  if (knob.size() < 2) return;
  ++knobs_;
  const auto last = static_cast<float>(knob.size() - 1);
  if (IsSplit(knob)) {
    table.width = knob[0].factors().size();
    float largest = 1;
    for (std::int64_t v = 0; v < knob.size(); ++v) {
      for (std::int64_t factor : knob[v].factors()) {
        table.of_value.push_back(std::log2(static_cast<float>(std::max<std::int64_t>(1, factor))));
        largest = std::max(largest, table.of_value.back());
      }
    }
    for (float& value : table.of_value) value /= largest;
  } else if (ordered && AreNumbers(knob)) {
    const std::vector<int> powers = PowersOf(knob);
    table.width = powers.empty() ? 1 : 2;
    for (std::int64_t v = 0; v < knob.size(); ++v) {
      table.of_value.push_back(static_cast<float>(v) / last);
      if (!powers.empty()) {
        table.of_value.push_back(static_cast<float>(powers[static_cast<std::size_t>(v)]) /
                                 kMaxPower);
      }
    }
  } else {
    table.width = 1;
    for (std::int64_t v = 0; v < knob.size(); ++v) table.of_value.push_back(static_cast<float>(v));
    is_category_.push_back(true);
    absent_.push_back(-1);
    return;
  }
  is_category_.insert(is_category_.end(), table.width, false);
  absent_.insert(absent_.end(), table.width, 0.5F);
}

void PointFeatures::AppendTo(std::vector<float>& rows, Point point) const {
  const std::size_t begin = rows.size();
  rows.insert(rows.end(), absent_.begin(), absent_.end());
  float* const out = rows.data() + begin;
  const auto which = static_cast<std::size_t>(point.space);
  if (space_.spaces.size() > 1) out[0] = static_cast<float>(point.space);
  std::int64_t left = point.index;
  const std::vector<Knob>& knobs = space_.spaces[which].knobs();
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    const Knobs& table = tables_[which][k];
    const auto digit = static_cast<std::size_t>(left % knobs[k].size());
    left /= knobs[k].size();
    for (std::size_t i = 0; i < table.width; ++i) {
      out[table.first + i] = table.of_value[digit * table.width + i];
    }
  }
}

}  // namespace tilewright::search
