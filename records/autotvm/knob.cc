// Counts the values of a split instead of listing them. A split of extent E in n parts has one
// value for each tuple of divisors (f1 … f(n-1)) whose product divides E, each factor within its
// bounds. Factor 1 changes fastest, the last one slowest. So the position of a tuple is the sum,
// from the last factor to the first, of the number of tuples with a smaller factor there:
//   position = sum over k of sum over d < fk, d divides R of ways(k-1, R/d),  R = E/(f(k+1)…f(n-1))
// where ways(k, R) tuples of k factors fit into R. A table contains ways for each divisor R of E.

#include "records/autotvm/knob.h"

#include <algorithm>
#include <array>

#include "src/base/divisors.h"
#include "src/base/math.h"

namespace tilewright::records {
namespace {

// 2^24: longer than any axis of a real workload, and the tables stay small.
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 24;
constexpr int kMaxParts = 4;
constexpr int kMaxAxes = 3;

/// Returns at [a * count + b] the position of the quotient of divisors a and b; -1 if it is not a
/// divisor.
std::vector<int> Quotients(const std::vector<std::int64_t>& divisors) {
  const std::size_t count = divisors.size();
  std::vector<int> quotients(count * count, -1);
  for (std::size_t product = 0; product < count; ++product) {
    // The cofactors of an ascending list descend: one walk finds all pairs.
    std::size_t other = product;
    for (std::size_t d = 0; d <= product; ++d) {
      while (other > 0 && divisors[d] * divisors[other] > divisors[product]) --other;
      if (divisors[d] * divisors[other] != divisors[product]) continue;
      quotients[product * count + d] = static_cast<int>(other);
    }
  }
  return quotients;
}

bool Same(const LogLine& line, const LogEntity& entity, const KnobValue& value) {
  using Scalar = LogEntity::Scalar;
  switch (entity.scalar) {
    case Scalar::kInts: {
      const auto* list = std::get_if<std::vector<std::int64_t>>(&value.value);
      return list != nullptr && std::ranges::equal(*list, line.Ints(entity));
    }
    case Scalar::kWords: {
      const auto* list = std::get_if<std::vector<std::string>>(&value.value);
      return list != nullptr && std::ranges::equal(*list, line.Words(entity));
    }
    case Scalar::kInt:
    case Scalar::kBool: {
      // Numbers by value, as in Python: true is 1.
      if (const auto* flag = std::get_if<bool>(&value.value)) {
        return (*flag ? 1 : 0) == entity.integer;
      }
      const auto* number = std::get_if<std::int64_t>(&value.value);
      return number != nullptr && *number == entity.integer;
    }
    case Scalar::kText: {
      const auto* text = std::get_if<std::string>(&value.value);
      return text != nullptr && *text == entity.text;
    }
    case Scalar::kReal:
      return false;  // no space has a knob of these kinds
  }
  return false;
}

}  // namespace

void AutotvmKnob::CountFactor(int factor, const std::vector<int>& quotients) {
  const Bounds& bounds = bounds_[static_cast<std::size_t>(factor - 1)];
  const std::size_t count = divisors_.size();
  const std::size_t below = counts_.size() - count;  // ways with one factor fewer
  for (std::size_t rest = 0; rest < count; ++rest) {
    std::int64_t ways = 0;
    for (std::size_t d = 0; d <= rest && divisors_[d] <= bounds.high; ++d) {
      const int quotient = quotients[rest * count + d];
      if (quotient >= 0 && divisors_[d] >= bounds.low) {
        ways += counts_[below + static_cast<std::size_t>(quotient)];
      }
    }
    counts_.push_back(ways);
  }
}

Result<AutotvmKnob> AutotvmKnob::Split(std::string name, std::int64_t extent, int parts,
                                       std::vector<Bounds> bounds) {
  if (extent < 1 || extent > kMaxExtent || parts < 2 || parts > kMaxParts) {
    return InvalidArgument("knob " + name + ": extent " + std::to_string(extent) + " in " +
                           std::to_string(parts) + " parts, expected 1 to 2^24 in 2 to 4");
  }
  AutotvmKnob knob;
  knob.name_ = std::move(name);
  knob.kind_ = KnobKind::kSplit;
  knob.extent_ = extent;
  knob.parts_ = parts;
  knob.bounds_ = std::move(bounds);
  knob.bounds_.resize(static_cast<std::size_t>(parts - 1));
  knob.divisors_ = Divisors(extent);
  knob.counts_.reserve(knob.divisors_.size() * static_cast<std::size_t>(parts));
  knob.counts_.assign(knob.divisors_.size(), 1);
  const std::vector<int> quotients = Quotients(knob.divisors_);
  for (int factor = 1; factor < parts; ++factor) knob.CountFactor(factor, quotients);
  knob.size_ = knob.counts_.back();
  if (knob.size_ == 0) {
    return InvalidArgument("knob " + knob.name_ + ": no way to split " + std::to_string(extent) +
                           " is left");
  }
  return knob;
}

AutotvmKnob AutotvmKnob::Inner(std::string name, std::int64_t extent,
                               std::vector<std::int64_t> inner) {
  AutotvmKnob knob;
  knob.name_ = std::move(name);
  knob.kind_ = KnobKind::kSplit;
  knob.extent_ = extent;
  knob.parts_ = 2;
  knob.size_ = static_cast<std::int64_t>(inner.size());
  knob.inner_ = std::move(inner);
  return knob;
}

AutotvmKnob AutotvmKnob::List(std::string name, KnobKind kind, std::vector<KnobValue> values) {
  AutotvmKnob knob;
  knob.name_ = std::move(name);
  knob.kind_ = kind;
  knob.size_ = static_cast<std::int64_t>(values.size());
  knob.values_ = std::move(values);
  return knob;
}

AutotvmKnob AutotvmKnob::Other(std::string name, const std::vector<std::int64_t>& values) {
  std::vector<KnobValue> list;
  for (std::int64_t value : values) list.push_back(KnobValue{value});
  return List(std::move(name), KnobKind::kOther, std::move(list));
}

template <typename Visit>
void AutotvmKnob::ForEachAssignment(Visit visit) const {
  const auto vec = std::ranges::find(words_, "vec") - words_.begin();
  std::array<std::size_t, kMaxAxes> digits{};
  const std::span<const std::size_t> shown(digits.data(), static_cast<std::size_t>(axes_));
  while (true) {
    if (std::ranges::count(shown, static_cast<std::size_t>(vec)) <= 1 && !visit(shown)) return;
    std::size_t axis = shown.size();
    while (axis > 0 && ++digits[axis - 1] == words_.size()) digits[--axis] = 0;
    if (axis == 0) return;
  }
}

AutotvmKnob AutotvmKnob::Annotate(std::string name, std::vector<std::string> words, int axes) {
  TW_CHECK(axes >= 1 && axes <= kMaxAxes && !words.empty());
  AutotvmKnob knob;
  knob.name_ = std::move(name);
  knob.kind_ = KnobKind::kAnnotate;
  knob.words_ = std::move(words);
  knob.axes_ = axes;
  knob.ForEachAssignment([&knob](std::span<const std::size_t>) {
    ++knob.size_;
    return true;
  });
  return knob;
}

std::int64_t AutotvmKnob::FindWords(std::span<const std::string_view> words) const {
  if (words.size() != static_cast<std::size_t>(axes_)) return -1;
  std::array<std::size_t, kMaxAxes> wanted{};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto found = std::ranges::find(words_, words[i]);
    if (found == words_.end()) return -1;
    wanted[i] = static_cast<std::size_t>(found - words_.begin());
  }
  std::int64_t position = 0;
  bool found = false;
  ForEachAssignment([&](std::span<const std::size_t> digits) {
    found = std::ranges::equal(digits, std::span(wanted.data(), digits.size()));
    if (!found) ++position;
    return !found;
  });
  return found ? position : -1;
}

std::int64_t AutotvmKnob::DivisorPosition(std::int64_t value) const {
  const auto found = std::ranges::lower_bound(divisors_, value);
  return found == divisors_.end() || *found != value ? -1 : found - divisors_.begin();
}

std::int64_t AutotvmKnob::Count(int factor, std::int64_t rest) const {
  const std::int64_t row = factor * static_cast<std::int64_t>(divisors_.size());
  return counts_[static_cast<std::size_t>(row + DivisorPosition(rest))];
}

std::int64_t AutotvmKnob::FindSplit(std::span<const std::int64_t> factors) const {
  if (static_cast<int>(factors.size()) != parts_) return -1;
  if (!inner_.empty()) {
    const auto found = std::ranges::find(inner_, factors[1]);
    return found == inner_.end() ? -1 : found - inner_.begin();
  }
  std::int64_t position = 0, rest = extent_;
  for (int factor = parts_ - 1; factor >= 1; --factor) {
    const std::int64_t value = factors[static_cast<std::size_t>(factor)];
    const Bounds& b = bounds_[static_cast<std::size_t>(factor - 1)];
    if (value < b.low || value < 1 || value > b.high || rest % value != 0) return -1;
    for (std::int64_t d : divisors_) {
      if (d >= value) break;
      if (d >= b.low && rest % d == 0) position += Count(factor - 1, rest / d);
    }
    rest /= value;
  }
  return position;
}

std::vector<std::int64_t> AutotvmKnob::SplitAt(std::int64_t position) const {
  std::vector<std::int64_t> factors(static_cast<std::size_t>(parts_), 1);
  if (!inner_.empty()) {
    factors[1] = inner_[static_cast<std::size_t>(position)];
    factors[0] = CeilDiv(extent_, factors[1]);
    return factors;
  }
  std::int64_t rest = extent_;
  for (int factor = parts_ - 1; factor >= 1; --factor) {
    const Bounds& b = bounds_[static_cast<std::size_t>(factor - 1)];
    for (std::int64_t d : divisors_) {
      if (d < b.low || d > b.high || rest % d != 0) continue;
      const std::int64_t ways = Count(factor - 1, rest / d);
      if (position < ways) {
        factors[static_cast<std::size_t>(factor)] = d;
        rest /= d;
        break;
      }
      position -= ways;
    }
  }
  factors[0] = rest;
  return factors;
}

std::int64_t AutotvmKnob::Find(const LogLine& line, const LogEntity& entity) const {
  if (kind_ == KnobKind::kSplit && values_.empty()) {
    return entity.scalar == LogEntity::Scalar::kInts ? FindSplit(line.Ints(entity)) : -1;
  }
  if (!words_.empty()) {
    return entity.scalar == LogEntity::Scalar::kWords ? FindWords(line.Words(entity)) : -1;
  }
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (Same(line, entity, values_[i])) return static_cast<std::int64_t>(i);
  }
  return -1;
}

KnobValue AutotvmKnob::At(std::int64_t position) const {
  TW_CHECK(position >= 0 && position < size_, name_);
  if (kind_ == KnobKind::kSplit && values_.empty()) return KnobValue{SplitAt(position)};
  if (words_.empty()) return values_[static_cast<std::size_t>(position)];
  std::vector<std::string> words;
  ForEachAssignment([&](std::span<const std::size_t> digits) {
    if (position-- > 0) return true;
    for (const std::size_t digit : digits) words.push_back(words_[digit]);
    return false;
  });
  return KnobValue{std::move(words)};
}

}  // namespace tilewright::records
