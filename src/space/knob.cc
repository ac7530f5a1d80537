#include "src/space/knob.h"

#include <algorithm>
#include <utility>

#include "src/base/divisors.h"
#include "src/base/json_text.h"
#include "src/base/strings.h"

namespace tilewright {
namespace {

// Formats values as JSON. A query prints about ten of them, in a few microseconds altogether.
std::string TextOf(std::int64_t number) { return std::to_string(number); }
std::string TextOf(double number) {
  std::string text = ShortestDouble(number);
  // Without a point it would be read as an integer.
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}
std::string TextOf(bool flag) { return flag ? "true" : "false"; }
std::string TextOf(const std::string& text) { return JsonString(text); }
template <typename Item>
std::string TextOf(const std::vector<Item>& items) {
  std::string text = "[";
  for (const Item& item : items) {
    if (text.size() > 1) text += ',';
    text += TextOf(item);
  }
  return text + ']';
}

std::vector<std::int64_t> CandidateFactors(std::int64_t extent, const Knob::SplitOptions& options) {
  std::vector<std::int64_t> factors;
  if (options.policy != Knob::SplitPolicy::kPower2) factors = Divisors(extent);
  if (options.policy != Knob::SplitPolicy::kFactors) {
    for (std::int64_t p = 1; p <= extent; p *= 2) factors.push_back(p);
  }
  // AutoTVM's "verbose" used hash order; new spaces use ascending order.
  std::ranges::sort(factors);
  factors.erase(std::unique(factors.begin(), factors.end()), factors.end());
  std::erase_if(factors, [&](std::int64_t f) { return f > options.max_factor; });
  return factors;
}

/// Enumerates factors[position..0] in nested loops, the innermost factor in the outermost loop.
class SplitEnumerator {
 public:
  SplitEnumerator(std::int64_t extent, int parts, const Knob::SplitOptions& options)
      : extent_(extent),
        options_(options),
        candidates_(CandidateFactors(extent, options)),
        current_(static_cast<std::size_t>(parts), 1) {}

  std::vector<KnobValue> Run() {
    Visit(current_.size() - 1, 1);
    return std::move(values_);
  }

 private:
  void Visit(std::size_t position, std::int64_t product) {
    if (position == 0) {
      Emit(product);
      return;
    }
    for (std::int64_t factor : candidates_) {
      if (product * factor > extent_) break;  // ascending: all later products are larger
      current_[position] = factor;
      Visit(position - 1, product * factor);
    }
  }

  void Emit(std::int64_t product) {
    const bool divides = extent_ % product == 0;
    if (!divides && options_.policy == Knob::SplitPolicy::kFactors) return;
    current_[0] = (extent_ + product - 1) / product;
    if (options_.keep != nullptr && !options_.keep(current_)) return;
    values_.push_back(KnobValue{current_});
  }

  std::int64_t extent_;
  const Knob::SplitOptions& options_;
  std::vector<std::int64_t> candidates_;
  std::vector<std::int64_t> current_;
  std::vector<KnobValue> values_;
};

}  // namespace

std::int64_t KnobValue::integer() const {
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? 1 : 0;
  return std::get<std::int64_t>(value);
}

std::string KnobValue::ToString() const {
  return std::visit([](const auto& v) { return TextOf(v); }, value);
}

Result<Knob> Knob::Split(std::string name, std::int64_t extent, int parts,
                         const SplitOptions& options) {
  constexpr std::int64_t kMaxExtent = std::int64_t{1} << 40;  // bounds the time of trial division
  if (extent < 1 || extent > kMaxExtent) {
    return InvalidArgument("knob " + name + ": extent " + std::to_string(extent) +
                           ", expected 1 to 2^40");
  }
  if (parts < 1 || parts > kMaxParts) {
    return InvalidArgument("knob " + name + ": " + std::to_string(parts) +
                           " parts, expected 1 to " + std::to_string(kMaxParts));
  }
  Knob knob;
  knob.kind_ = KnobKind::kSplit;
  knob.values_ = SplitEnumerator(extent, parts, options).Run();
  if (knob.values_.empty()) {
    return InvalidArgument("knob " + name + ": no way to split " + std::to_string(extent) +
                           " is left");
  }
  knob.name_ = std::move(name);
  return knob;
}

Knob Knob::Candidates(std::string name, KnobKind kind, std::vector<KnobValue> values) {
  TW_CHECK(!values.empty(), name);
  Knob knob;
  knob.name_ = std::move(name);
  knob.kind_ = kind;
  knob.values_ = std::move(values);
  return knob;
}

namespace {

template <typename Value>
Knob KnobOf(std::string name, std::vector<Value> values) {
  std::vector<KnobValue> list;
  for (auto&& value : values) list.emplace_back().value = Value(std::move(value));
  return Knob::Candidates(std::move(name), KnobKind::kOther, std::move(list));
}

}  // namespace

Knob Knob::Other(std::string name, std::vector<std::int64_t> values) {
  return KnobOf(std::move(name), std::move(values));
}

Knob Knob::Bool(std::string name, std::vector<bool> values) {
  return KnobOf(std::move(name), std::move(values));
}

Knob Knob::Words(std::string name, std::vector<std::string> values) {
  return KnobOf(std::move(name), std::move(values));
}

Knob Knob::Lists(std::string name, std::vector<std::vector<std::int64_t>> values) {
  return KnobOf(std::move(name), std::move(values));
}

std::int64_t Knob::Find(const KnobValue& value) const {
  const auto found = std::ranges::find(values_, value);
  return found == values_.end() ? -1 : found - values_.begin();
}

}  // namespace tilewright
