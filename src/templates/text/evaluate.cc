// Values of schedule texts: 64-bit integers, texts, lists of integers, stages and loops. An invalid
// value is reported with the position in the text. After that nothing more is computed, so that
// callers need not check each step.

#include "src/templates/text/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/base/divisors.h"
#include "src/base/math.h"
#include "src/ir/dtype.h"
#include "src/templates/space_values.h"
#include "src/templates/text/keywords.h"

namespace tilewright {
namespace {

constexpr std::size_t kLongestText = kMaxScheduleBytes;  // of a concatenated text
constexpr std::int64_t kMaxSplitExtent = 1 << 20;        // larger extents have no split knob

std::string_view KindOf(const ScheduleTerm& term) {
  constexpr std::array<std::string_view, 5> kKinds = {"an integer", "a text", "a list", "a stage",
                                                      "a loop"};
  return kKinds[term.index()];
}

}  // namespace

ScheduleEvaluator::ScheduleEvaluator(const ScheduleText& text, const Workload& workload,
                                     const Target& target)
    : text_(text), workload_(workload), target_(target) {}

void ScheduleEvaluator::Fail(std::size_t offset, std::string_view what) {
  if (status_.ok()) status_ = InvalidArgument(AtOffset(text_, offset, what));
}

ScheduleTerm ScheduleEvaluator::Value(const ScheduleValue& value) {
  if (!ok()) return std::int64_t{0};
  switch (value.kind) {
    case ScheduleValue::Kind::kInteger:
      return value.integer;
    case ScheduleValue::Kind::kText:
      return value.text;
    case ScheduleValue::Kind::kKeyword:
      return Word(value);
    case ScheduleValue::Kind::kOperator:
      return Operator(value);
    case ScheduleValue::Kind::kItem:
      return Item(value);
    case ScheduleValue::Kind::kList: {
      std::vector<std::int64_t> list;
      for (const ScheduleValue& one : value.args) list.push_back(Integer(one));
      return list;
    }
    case ScheduleValue::Kind::kName: {
      const auto found = names_.find(value.text);
      if (found != names_.end()) return found->second;
      Fail(value.offset, fmt::format("'{}' has no value here: it was assigned in a block that "
                                     "was not followed",
                                     value.text));
      return std::int64_t{0};
    }
    case ScheduleValue::Kind::kCall: {
      std::vector<ScheduleTerm> results = Call(value);
      if (results.size() == 1) return std::move(results[0]);
      return std::int64_t{0};
    }
  }
  return std::int64_t{0};
}

std::int64_t ScheduleEvaluator::Integer(const ScheduleValue& value) {
  const ScheduleTerm term = Value(value);
  if (const auto* integer = std::get_if<std::int64_t>(&term)) return *integer;
  Fail(value.offset, fmt::format("{}, expected an integer", KindOf(term)));
  return 0;
}

std::string ScheduleEvaluator::Text(const ScheduleValue& value) {
  ScheduleTerm term = Value(value);
  if (auto* text = std::get_if<std::string>(&term)) return std::move(*text);
  Fail(value.offset, fmt::format("{}, expected a text", KindOf(term)));
  return {};
}

std::vector<std::int64_t> ScheduleEvaluator::List(const ScheduleValue& value) {
  ScheduleTerm term = Value(value);
  if (auto* list = std::get_if<2>(&term)) return std::move(*list);
  Fail(value.offset, fmt::format("{}, expected a list of integers", KindOf(term)));
  return {};
}

std::vector<ScheduleTerm> ScheduleEvaluator::Act(const ScheduleValue& call) {
  Fail(call.offset, fmt::format("'{}' asks for stages or loops", call.text));
  return {};
}

std::vector<ScheduleTerm> ScheduleEvaluator::Call(const ScheduleValue& call) {
  if (!ok()) return {};
  if (FindScheduleFunction(call.text)->stage != ScheduleStage::kWorkload) return Act(call);
  return {OfWorkload(call)};
}

const CpuFeatures& ScheduleEvaluator::Features(std::size_t offset) {
  if (has_features_) return features_;
  auto features = FeaturesOf(target_);
  if (features.ok()) {
    features_ = *features;
    has_features_ = true;
  } else {
    Fail(offset, features.status().message());
  }
  return features_;
}

ScheduleTerm ScheduleEvaluator::Word(const ScheduleValue& value) {
  const std::string& word = value.text;
  if (word == "threads") return std::int64_t{target_.num_threads()};
  if (word == "lanes") return std::int64_t{Features(value.offset).float_lanes()};
  if (word == "registers") return std::int64_t{Features(value.offset).vector_registers()};
  if (word == "vector_bytes") return std::int64_t{4 * Features(value.offset).float_lanes()};
  return word;
}

ScheduleTerm ScheduleEvaluator::Item(const ScheduleValue& value) {
  const std::vector<std::int64_t> list = List(value.args[0]);
  const std::int64_t position = Integer(value.args[1]);
  if (!ok()) return std::int64_t{0};
  if (position >= 0 && position < static_cast<std::int64_t>(list.size())) {
    return list[static_cast<std::size_t>(position)];
  }
  Fail(value.offset, fmt::format("item {} of a list of {}", position, list.size()));
  return std::int64_t{0};
}

ScheduleTerm ScheduleEvaluator::Operator(const ScheduleValue& value) {
  const std::string& op = value.text;
  if (value.args.size() == 1) {
    const std::int64_t a = Integer(value.args[0]);
    if (op == "not") return std::int64_t{a == 0};
    std::int64_t negated = 0;
    if (__builtin_sub_overflow(std::int64_t{0}, a, &negated)) Fail(value.offset, "too large");
    return negated;
  }
  // The second operand is evaluated only if it decides the result.
  if (op == "and") return std::int64_t{Integer(value.args[0]) != 0 && Integer(value.args[1]) != 0};
  if (op == "or") return std::int64_t{Integer(value.args[0]) != 0 || Integer(value.args[1]) != 0};
  const ScheduleTerm left = Value(value.args[0]);
  if (left.index() == 1 && op == "+") {
    const ScheduleTerm right = Value(value.args[1]);
    std::string text = std::get<1>(left);
    if (const auto* more = std::get_if<std::string>(&right)) {
      text += *more;
    } else if (const auto* number = std::get_if<std::int64_t>(&right)) {
      text += fmt::format("{}", *number);
    } else {
      Fail(value.args[1].offset, fmt::format("{}, expected a text or an integer", KindOf(right)));
    }
    if (text.size() > kLongestText) Fail(value.offset, "too long a text");
    return text;
  }
  if (left.index() == 1 && (op == "==" || op == "!=")) {
    return std::int64_t{(std::get<1>(left) == Text(value.args[1])) == (op == "==")};
  }
  if (left.index() != 0) {
    Fail(value.args[0].offset, fmt::format("{}, expected an integer", KindOf(left)));
    return std::int64_t{0};
  }
  const std::int64_t a = std::get<0>(left), b = Integer(value.args[1]);
  if (!ok()) return std::int64_t{0};
  if (op == "==") return std::int64_t{a == b};
  if (op == "!=") return std::int64_t{a != b};
  if (op == "<") return std::int64_t{a < b};
  if (op == "<=") return std::int64_t{a <= b};
  if (op == ">") return std::int64_t{a > b};
  if (op == ">=") return std::int64_t{a >= b};
  std::int64_t result = 0;
  bool fits = true;
  if (op == "+") fits = !__builtin_add_overflow(a, b, &result);
  if (op == "-") fits = !__builtin_sub_overflow(a, b, &result);
  if (op == "*") fits = !__builtin_mul_overflow(a, b, &result);
  if (!fits) Fail(value.offset, fmt::format("{} {} {} does not fit 64 bits", a, op, b));
  if (op != "/" && op != "%") return result;
  if (b <= 0) {
    Fail(value.offset, fmt::format("{} {} {}, expected a positive divisor", a, op, b));
    return std::int64_t{0};
  }
  const std::int64_t rest = ((a % b) + b) % b;
  return op == "%" ? rest : (a - rest) / b;
}

TensorType ScheduleEvaluator::TypeOf(const ScheduleValue& tensor) {
  const std::string name = Text(tensor);
  if (!ok()) return {};
  if (name == "result" || name == "output") {
    const auto type = workload_.OutputType();
    if (type.ok()) return *type;
    Fail(tensor.offset, type.status().message());
    return {};
  }
  for (const ExpressionInput& input : workload_.expression.inputs) {
    if (input.name == name) return input.type;
  }
  if (name == "data") return workload_.data;
  if (name == "weight" && workload_.has_weight()) return workload_.weight;
  Fail(tensor.offset, fmt::format("the workload has no tensor '{}'", name.substr(0, 64)));
  return {};
}

ScheduleTerm ScheduleEvaluator::Range(std::size_t offset, std::int64_t low, std::int64_t high) {
  std::vector<std::int64_t> list;
  if (low > high || high - low >= kMaxKnobValues || low < -kMaxSplitExtent ||
      high > (std::int64_t{1} << 40)) {
    Fail(offset, fmt::format("{} to {}, expected 1 to {} values", low, high, kMaxKnobValues));
    return list;
  }
  for (std::int64_t i = low; i <= high; ++i) list.push_back(i);
  return list;
}

/// Functions of numbers that return numbers.
ScheduleTerm ScheduleEvaluator::Numbers(const ScheduleValue& call) {
  const std::string& name = call.text;
  const std::int64_t a = Integer(call.args[0]);
  const std::int64_t b = call.args.size() > 1 ? Integer(call.args[1]) : 1;
  if (!ok()) return std::int64_t{0};
  if (name == "min") return std::min(a, b);
  if (name == "max") return std::max(a, b);
  if (name == "range") return Range(call.offset, a, b);
  constexpr std::int64_t kLargest = std::int64_t{1} << 40;
  if (a < 1 || b < 1 || a > kLargest || b > kLargest) {
    Fail(call.offset, fmt::format("{} of {} and {}, expected 1 to {}", name, a, b, kLargest));
    return std::int64_t{1};
  }
  if (name == "ceil_div") return CeilDiv(a, b);
  if (name == "powers") {
    std::vector<std::int64_t> list;
    for (std::int64_t i = 1; i <= a; i *= 2) list.push_back(i);
    return list;
  }
  if (a > kMaxSplitExtent) {
    Fail(call.offset, fmt::format("{} of {}, expected at most {}", name, a, kMaxSplitExtent));
    return std::int64_t{1};
  }
  if (name == "divisor") return LargestDivisor(a, b);
  if (name == "thrifty") return MinWasteTiles(a, std::min(b, kMaxKnobValues));
  if (name == "divisors") return Divisors(a);
  Fail(call.offset, fmt::format("'{}' stands behind a knob's '=' only", name));
  return std::int64_t{1};
}

ScheduleTerm ScheduleEvaluator::OfWorkload(const ScheduleValue& call) {
  const std::string& name = call.text;
  if (name == "workload") return workload_.Key();
  if (name == "groups") return workload_.groups;
  if (name == "type") return DataTypeName(TypeOf(call.args[0]).dtype);
  if (name == "rank") return static_cast<std::int64_t>(TypeOf(call.args[0]).shape.size());
  if (name == "layout") {
    const std::string tensor = Text(call.args[0]);
    if (tensor == "data") return workload_.data_layout;
    if (tensor == "weight") return workload_.kernel_layout;
    Fail(call.offset, "the layout of something else than data and weight");
    return std::string();
  }
  if (name == "feature") {
    const CpuFeatures& features = Features(call.offset);
    const std::string which = Text(call.args[0]);
    if (which == "avx2") return std::int64_t{features.avx2};
    if (which == "avx512") return std::int64_t{features.avx512};
    if (which == "avx512_vnni") return std::int64_t{features.avx512_vnni};
    if (which == "avx_vnni") return std::int64_t{features.avx_vnni};
    if (which == "neon") return std::int64_t{features.neon};
    Fail(call.offset, "expected avx2, avx512, avx512_vnni, avx_vnni or neon");
    return std::int64_t{0};
  }
  const bool attribute = name == "stride" || name == "padding" || name == "dilation";
  if (name != "size" && !attribute) return Numbers(call);
  const std::int64_t i = Integer(call.args.back());
  std::vector<std::int64_t> values;
  if (name == "size") values = TypeOf(call.args[0]).shape;
  if (name == "stride") values = {workload_.strides.begin(), workload_.strides.end()};
  if (name == "padding") values = {workload_.padding.begin(), workload_.padding.end()};
  if (name == "dilation") values = {workload_.dilation.begin(), workload_.dilation.end()};
  if (ok() && i >= 0 && i < static_cast<std::int64_t>(values.size())) {
    return values[static_cast<std::size_t>(i)];
  }
  Fail(call.offset, fmt::format("{} {}, there are {}", name, i, values.size()));
  return std::int64_t{1};
}

}  // namespace tilewright
