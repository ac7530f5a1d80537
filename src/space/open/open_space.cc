// Open spaces: checks, and a decision diagram that counts the allowed configs without listing them.
//
// The diagram has a layer for each parameter, in an order that keeps parameters of common
// conditions together. A node stands for all partial assignments that leave the same conditions for
// the remaining parameters (ExpressionPool makes them comparable). Conditions that hold whatever
// follows disappear, and assignments that violate one end at once. So conditions of independent
// groups of parameters never multiply. Counts from the last layer to the first give the number of a
// config, its inverse, and uniform samples.

#include "src/space/open/open_space.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <limits>
#include <set>
#include <tuple>
#include <unordered_map>

#include "src/base/hash.h"
#include "src/space/open/condition_parser.h"

namespace tilewright {
namespace {

constexpr std::uint32_t kDead = std::numeric_limits<std::uint32_t>::max();
// Combinations of a condition's parameters up to which it is a table of bits.
constexpr std::int64_t kMaxTable = 1 << 14;
// Limits of work while counting, for less than half a second: conditions looked at, and expressions
// made. Beyond, the space stays uncounted.
constexpr std::size_t kMaxSteps = 600'000, kMaxExpressions = 250'000;
constexpr std::size_t kSubstitutionsPerExpression = 8;
constexpr std::int64_t kMaxTableWork = 200'000'000;  // nodes evaluated for all tables

bool IsName(std::string_view name) {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::ranges::all_of(name, is_word);
}

bool HasType(const ParameterValue& value, ParameterType type) {
  if (type == ParameterType::kFloat && std::holds_alternative<std::int64_t>(value)) return true;
  return value.index() == static_cast<std::size_t>(type);
}

std::size_t Position(int i) { return static_cast<std::size_t>(i); }

ValueRange RangeOfValues(const std::vector<ExpressionValue>& values) {
  ValueRange range{true, values[0].number(), values[0].number(), true};
  for (const ExpressionValue& value : values) {
    if (!value.is_number()) return {};
    range.least = std::min(range.least, value.number());
    range.most = std::max(range.most, value.number());
    range.integer = range.integer && !std::holds_alternative<double>(value.value);
  }
  constexpr double kExactInteger = 0x1p52;
  range.known = range.least > -kExactInteger && range.most < kExactInteger;
  return range;
}

struct StateHash {
  std::size_t operator()(const std::vector<ExpressionId>& state) const {
    std::uint64_t hash = state.size();
    for (ExpressionId id : state) hash = Mix64(hash ^ id);
    return hash;
  }
};

}  // namespace

Result<OpenSpace> OpenSpace::Create(std::string name, std::vector<Parameter> parameters,
                                    std::vector<std::string> conditions) {
  OpenSpace space;
  space.name_ = std::move(name);
  space.parameters_ = std::move(parameters);
  space.condition_texts_ = std::move(conditions);
  TW_RETURN_IF_ERROR(space.CheckParameters());
  TW_RETURN_IF_ERROR(space.ParseConditions());
  space.ChooseOrder();
  ExpressionId last = 0;
  for (const Check& check : space.checks_) last = std::max(last, check.expression);
  space.BuildLayers();
  space.pool_.TruncateAfter(last);
  if (space.size() == 0) return InvalidArgument("no combination of values fulfils all conditions");
  if (!space.counted_) TW_RETURN_IF_ERROR(space.FindAllowed(last));
  return space;
}

Status OpenSpace::CheckParameters() {
  if (parameters_.empty()) return InvalidArgument("no parameters");
  std::set<std::string_view> names;
  int several = 0;
  for (const Parameter& parameter : parameters_) {
    const std::string where = "parameter " + parameter.name;
    if (!IsName(parameter.name)) {
      return InvalidArgument("parameter \"" + parameter.name +
                             "\", expected a name of letters, digits and underscores");
    }
    if (!names.insert(parameter.name).second) return InvalidArgument(where + ": given twice");
    if (parameter.values.empty()) return InvalidArgument(where + ": no values");
    std::set<ParameterValue> seen;
    for (const ParameterValue& value : parameter.values) {
      if (!HasType(value, parameter.type)) {
        return InvalidArgument(where + ": value " + ToText(value) + ", expected the type " +
                               std::string(ParameterTypeName(parameter.type)));
      }
      const auto number = tilewright::NumberOf(value);
      if (number && !(*number > -1e300 && *number < 1e300)) {
        return InvalidArgument(where + ": value " + ToText(value) + ", expected a finite number");
      }
      const bool whole = parameter.type == ParameterType::kFloat;
      if (!seen.insert(whole ? ParameterValue(*number) : value).second) {
        return InvalidArgument(where + ": value " + ToText(value) + " given twice");
      }
    }
    several += parameter.size() > 1 ? 1 : 0;
    if (__builtin_mul_overflow(combinations_, parameter.size(), &combinations_)) {
      return InvalidArgument("more than 2^63 combinations of values");
    }
  }
  if (several > ExpressionPool::kMaxParameters) {
    return InvalidArgument("more than 64 parameters with several values");
  }
  return {};
}

Status OpenSpace::ParseConditions() {
  // Parameters with one value are constants in conditions; the others have numbers in the pool.
  std::vector<int> pool_number(parameters_.size(), -1), parameter_of;
  std::vector<ValueRange> ranges;
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    std::vector<ExpressionValue> values;
    for (const ParameterValue& value : parameters_[p].values) {
      values.push_back(FromParameterValue(value));
    }
    values_.push_back(std::move(values));
    if (parameters_[p].size() == 1) continue;
    pool_number[p] = static_cast<int>(parameter_of.size());
    parameter_of.push_back(static_cast<int>(p));
    ranges.push_back(RangeOfValues(values_.back()));
  }
  pool_ = ExpressionPool(std::move(ranges));
  const NameLookup names = [&](std::string_view name) -> std::optional<ExpressionId> {
    const int p = Find(name);
    if (p < 0) return std::nullopt;
    if (pool_number[Position(p)] < 0) return pool_.Constant(values_[Position(p)][0]);
    return pool_.ParameterAt(pool_number[Position(p)]);
  };
  checks_of_.resize(parameters_.size());
  order_ = parameter_of;  // by number in the pool
  for (std::size_t c = 0; c < condition_texts_.size(); ++c) {
    const Result<ExpressionId> parsed = ParseCondition(condition_texts_[c], pool_, names);
    if (!parsed.ok()) return parsed.status().WithContext("condition " + std::to_string(c + 1));
    // A conjunction is several conditions, each of fewer parameters.
    std::vector<ExpressionId> open = {*parsed};
    while (!open.empty()) {
      const ExpressionId one = open.back();
      open.pop_back();
      if (pool_.op(one) == ConditionOp::kAnd) {
        open.push_back(pool_.operands(one)[1]);
        open.push_back(pool_.operands(one)[0]);
        continue;
      }
      if (pool_.IsTrue(one)) continue;
      if (pool_.IsFalse(one)) {
        return InvalidArgument("condition " + std::to_string(c + 1) + ", \"" + condition_texts_[c] +
                               "\": never fulfilled");
      }
      Check check;
      check.text = c;
      check.expression = one;
      for (std::size_t i = 0; i < parameter_of.size(); ++i) {
        if (pool_.parameters(one) >> i & 1) check.parameters.push_back(parameter_of[i]);
      }
      TW_RETURN_IF_ERROR(BuildTable(check));
      for (int p : check.parameters) checks_of_[Position(p)].push_back(checks_.size());
      checks_.push_back(std::move(check));
    }
  }
  return {};
}

Status OpenSpace::BuildTable(Check& check) {
  std::int64_t combinations = 1;
  for (int p : check.parameters) {
    if (__builtin_mul_overflow(combinations, parameters_[Position(p)].size(), &combinations))
      return {};
    if (combinations > kMaxTable) return {};
  }
  table_work_ += combinations * pool_.work(check.expression);
  if (table_work_ > kMaxTableWork) return {};
  OpenConfig config(parameters_.size(), 0);
  std::vector<bool> table(static_cast<std::size_t>(combinations));
  for (std::size_t i = 0; i < table.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    for (int p : check.parameters) {
      config[Position(p)] = static_cast<std::int32_t>(rest % parameters_[Position(p)].size());
      rest /= parameters_[Position(p)].size();
    }
    table[i] = Fulfils(check, config);
  }
  check.table = std::move(table);
  return {};
}

bool OpenSpace::Fulfils(const Check& check, const OpenConfig& config) const {
  if (!check.table.empty()) {
    std::int64_t index = 0, place = 1;
    for (int p : check.parameters) {
      index += config[Position(p)] * place;
      place *= parameters_[Position(p)].size();
    }
    return check.table[static_cast<std::size_t>(index)];
  }
  std::vector<const ExpressionValue*> values(ExpressionPool::kMaxParameters, nullptr);
  std::uint64_t numbers = pool_.parameters(check.expression);
  for (int p : check.parameters) {  // in the order of their numbers
    values[static_cast<std::size_t>(std::countr_zero(numbers))] =
        &values_[Position(p)][static_cast<std::size_t>(config[Position(p)])];
    numbers &= numbers - 1;
  }
  return pool_.Evaluate(check.expression, values).truth();
}

/// Orders the parameters for the layers: one that completes a begun condition soonest comes next,
/// so that few conditions are pending at a time; parameters without conditions come last.
void OpenSpace::ChooseOrder() {
  std::vector<int> open;
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    if (parameters_[p].size() > 1) open.push_back(static_cast<int>(p));
  }
  std::vector<std::size_t> missing;
  for (const Check& check : checks_) missing.push_back(check.parameters.size());
  std::vector<int> order;
  while (!open.empty()) {
    const auto badness = [&](int p) {
      // Conditions begun so far, then the smallest number of parameters missing.
      std::size_t begun = 0, least = std::numeric_limits<std::size_t>::max();
      for (std::size_t c : checks_of_[Position(p)]) {
        const bool is_begun = missing[c] < checks_[c].parameters.size();
        begun += is_begun ? 1 : 0;
        least = std::min(least, missing[c] + (is_begun ? 0 : 1000));
      }
      const std::size_t related = checks_of_[Position(p)].size();
      return std::tuple(least, parameters_.size() - begun, parameters_.size() * 64 - related,
                        parameters_[Position(p)].size(), p);
    };
    const auto next =
        std::ranges::min_element(open, [&](int a, int b) { return badness(a) < badness(b); });
    for (std::size_t c : checks_of_[Position(*next)]) --missing[c];
    order.push_back(*next);
    open.erase(next);
  }
  // order_ gives the numbers of the pool until here.
  std::vector<int> number(parameters_.size(), -1);
  for (std::size_t i = 0; i < order_.size(); ++i) number[Position(order_[i])] = static_cast<int>(i);
  order_ = std::move(order);
  pool_number_ = std::move(number);
}

bool OpenSpace::Substitute(int parameter, std::size_t value,
                           const std::vector<ExpressionId>& conditions,
                           std::vector<ExpressionId>& left) {
  const auto p = Position(parameter);
  for (const ExpressionId condition : conditions) {
    const ExpressionId one = pool_.Substitute(condition, pool_number_[p],
                                              static_cast<std::uint32_t>(value), values_[p][value]);
    if (pool_.IsFalse(one)) return false;
    if (!pool_.IsTrue(one)) left.push_back(one);
  }
  return true;
}

/// Returns false if the limit of work was reached.
bool OpenSpace::ExpandLayer(const std::vector<std::vector<ExpressionId>>& states,
                            std::vector<std::vector<ExpressionId>>& next, Layer& layer) {
  const int p = order_[layers_.size()];
  const std::vector<ExpressionValue>& values = values_[Position(p)];
  std::unordered_map<std::vector<ExpressionId>, std::uint32_t, StateHash> known;
  layer.children.reserve(states.size() * values.size());
  std::vector<ExpressionId> state;
  for (const std::vector<ExpressionId>& from : states) {
    for (std::size_t v = 0; v < values.size(); ++v) {
      const bool full = pool_.size() > kMaxExpressions ||
                        pool_.substitutions() > kSubstitutionsPerExpression * kMaxExpressions;
      if (full) return false;
      state.clear();
      if (!Substitute(p, v, from, state)) {
        layer.children.push_back(kDead);
        continue;
      }
      std::ranges::sort(state);
      state.erase(std::unique(state.begin(), state.end()), state.end());
      const auto [at, is_new] = known.emplace(state, static_cast<std::uint32_t>(next.size()));
      if (is_new) next.push_back(state);
      layer.children.push_back(at->second);
    }
  }
  return true;
}

void OpenSpace::BuildLayers() {
  std::vector<std::vector<ExpressionId>> states(1);
  for (const Check& check : checks_) states[0].push_back(check.expression);
  std::ranges::sort(states[0]);
  states[0].erase(std::unique(states[0].begin(), states[0].end()), states[0].end());
  std::size_t steps = 0, nodes = 0;
  while (layers_.size() < order_.size()) {
    const auto size =
        static_cast<std::size_t>(parameters_[Position(order_[layers_.size()])].size());
    std::size_t work = 0;
    for (const auto& state : states) work += 1 + state.size();
    steps += work * size;
    if (steps > kMaxSteps) break;
    Layer layer;
    layer.first_node = nodes;
    std::vector<std::vector<ExpressionId>> next;
    if (!ExpandLayer(states, next, layer)) break;
    nodes += states.size();
    layers_.push_back(std::move(layer));
    states = std::move(next);
  }
  counted_ = layers_.size() == order_.size();
  end_node_ = nodes;
  counts_.assign(nodes + states.size(), 0);
  CountCompletions();
}

/// Counts from the last layer to the first. Nodes after it have all combinations of the remaining
/// parameters: one, if the space is counted, else an upper bound.
void OpenSpace::CountCompletions() {
  std::int64_t remaining = 1;
  for (std::size_t k = layers_.size(); k < order_.size(); ++k) {
    remaining *= parameters_[Position(order_[k])].size();
  }
  std::fill(counts_.begin() + static_cast<std::ptrdiff_t>(end_node_), counts_.end(), remaining);
  for (std::size_t k = layers_.size(); k > 0; --k) {
    const Layer& layer = layers_[k - 1];
    const auto size = static_cast<std::size_t>(parameters_[Position(order_[k - 1])].size());
    for (std::size_t i = 0; i < layer.children.size(); ++i) {
      counts_[layer.first_node + i / size] += CountOf(k, layer.children[i]);
    }
  }
}

std::int64_t OpenSpace::CountOf(std::size_t layer, std::uint32_t node) const {
  if (node == kDead) return 0;
  return counts_[(layer < layers_.size() ? layers_[layer].first_node : end_node_) + node];
}

int OpenSpace::Find(std::string_view parameter) const {
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    if (parameters_[p].name == parameter) return static_cast<int>(p);
  }
  return -1;
}

bool OpenSpace::Allows(const OpenConfig& config) const {
  return std::ranges::all_of(checks_, [&](const Check& check) { return Fulfils(check, config); });
}

std::string OpenSpace::ViolatedCondition(const OpenConfig& config) const {
  for (const Check& check : checks_) {
    if (!Fulfils(check, config)) return condition_texts_[check.text];
  }
  return {};
}

OpenConfig OpenSpace::At(std::int64_t number) const {
  TW_CHECK(counted_ && number >= 0 && number < size(), "number of a config out of range");
  return Descend(number);
}

/// Returns the config of a number; of an uncounted space, of a combination that may violate
/// conditions.
OpenConfig OpenSpace::Descend(std::int64_t number) const {
  OpenConfig config(parameters_.size(), 0);
  std::uint32_t node = 0;
  for (std::size_t k = 0; k < order_.size(); ++k) {
    const auto p = Position(order_[k]);
    const std::int64_t size = parameters_[p].size();
    if (k >= layers_.size()) {
      config[p] = static_cast<std::int32_t>(number % size);
      number /= size;
      continue;
    }
    const std::uint32_t* children =
        &layers_[k].children[static_cast<std::size_t>(node) * static_cast<std::size_t>(size)];
    std::int64_t v = 0;
    for (; number >= CountOf(k + 1, children[v]); ++v) number -= CountOf(k + 1, children[v]);
    config[p] = static_cast<std::int32_t>(v);
    node = children[v];
  }
  return config;
}

std::int64_t OpenSpace::NumberOf(const OpenConfig& config) const {
  TW_CHECK(counted_, "numbers of an uncounted space");
  std::int64_t number = 0;
  std::uint32_t node = 0;
  for (std::size_t k = 0; k < order_.size(); ++k) {
    const auto p = Position(order_[k]);
    const std::uint32_t* children =
        &layers_[k].children[node * static_cast<std::size_t>(parameters_[p].size())];
    for (std::int32_t v = 0; v < config[p]; ++v) number += CountOf(k + 1, children[v]);
    node = children[config[p]];
    if (CountOf(k + 1, node) == 0) return -1;
  }
  return number;
}

std::int64_t OpenSpace::IndexOf(const OpenConfig& config) const {
  std::int64_t index = 0, place = 1;
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    index += config[p] * place;
    place *= parameters_[p].size();
  }
  return index;
}

OpenConfig OpenSpace::FromIndex(std::int64_t index) const {
  OpenConfig config;
  for (const Parameter& parameter : parameters_) {
    config.push_back(static_cast<std::int32_t>(index % parameter.size()));
    index /= parameter.size();
  }
  return config;
}

OpenConfig OpenSpace::Sample(Random& random) const {
  const std::int64_t draws = counted_ ? 1 : draws_;
  for (std::int64_t i = 0; i < draws; ++i) {
    OpenConfig config =
        Descend(static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(size()))));
    if (counted_ || Allows(config)) return config;
  }
  return WalkFromKnown(random);
}

std::vector<OpenConfig> OpenSpace::Neighbours(const OpenConfig& config) const {
  std::vector<OpenConfig> found;
  OpenConfig changed = config;
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    for (std::int32_t v = 0; v < parameters_[p].size(); ++v) {
      if (v == config[p]) continue;
      changed[p] = v;
      const auto holds = [&](std::size_t c) { return Fulfils(checks_[c], changed); };
      if (std::ranges::all_of(checks_of_[p], holds)) found.push_back(changed);
    }
    changed[p] = config[p];
  }
  return found;
}

OpenConfig OpenSpace::Repair(const OpenConfig& config, int parameter, std::int32_t value,
                             Random& random) const {
  OpenConfig wanted = config;
  wanted[Position(parameter)] = value;
  if (!counted_) return Allows(wanted) ? wanted : OpenConfig();
  // Which nodes can still give the parameter its value? Those before its layer whose descendants
  // do; a walk back from there marks them.
  const auto changed =
      static_cast<std::size_t>(std::ranges::find(order_, parameter) - order_.begin());
  if (changed == order_.size()) return {};
  std::vector<std::vector<bool>> useful(changed + 1);
  for (std::size_t k = changed + 1; k > 0; --k) {
    const Layer& layer = layers_[k - 1];
    const auto size = static_cast<std::size_t>(parameters_[Position(order_[k - 1])].size());
    useful[k - 1].assign(layer.children.size() / size, false);
    for (std::size_t i = 0; i < layer.children.size(); ++i) {
      if (CountOf(k, layer.children[i]) == 0) continue;
      const bool leads = k - 1 == changed ? i % size == static_cast<std::size_t>(value)
                                          : useful[k][layer.children[i]];
      if (leads) useful[k - 1][i / size] = true;
    }
  }
  if (!useful[0][0]) return {};
  std::uint32_t node = 0;
  for (std::size_t k = 0; k < order_.size(); ++k) {
    const auto p = Position(order_[k]);
    const std::int64_t size = parameters_[p].size();
    const std::uint32_t* children =
        &layers_[k].children[static_cast<std::size_t>(node) * static_cast<std::size_t>(size)];
    const auto weight = [&](std::int64_t v) {
      const std::int64_t count = CountOf(k + 1, children[v]);
      if (k < changed) return count > 0 && useful[k + 1][children[v]] ? count : 0;
      return k == changed && v != value ? 0 : count;
    };
    std::int64_t v = wanted[p];
    if (weight(v) == 0) {
      std::int64_t total = 0;
      for (std::int64_t i = 0; i < size; ++i) total += weight(i);
      auto left = static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(total)));
      for (v = 0; left >= weight(v); ++v) left -= weight(v);
    }
    wanted[p] = static_cast<std::int32_t>(v);
    node = children[v];
  }
  return wanted;
}

OpenConfig OpenSpace::Default() const {
  OpenConfig config;
  bool any = false;
  for (const Parameter& parameter : parameters_) {
    const std::int64_t position =
        parameter.default_value ? parameter.Find(*parameter.default_value) : -1;
    any = any || position >= 0;
    config.push_back(static_cast<std::int32_t>(std::max<std::int64_t>(0, position)));
  }
  return any && Allows(config) ? config : OpenConfig();
}

Result<OpenConfig> OpenSpace::Locate(
    const std::vector<std::pair<std::string, ParameterValue>>& values) const {
  OpenConfig config(parameters_.size(), -1);
  for (const auto& [name, value] : values) {
    const int p = Find(name);
    if (p < 0) return NotFound("no parameter " + name);
    const std::int64_t position = parameters_[Position(p)].Find(value);
    if (position < 0) return NotFound("parameter " + name + " has no value " + ToText(value));
    config[Position(p)] = static_cast<std::int32_t>(position);
  }
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    if (config[p] < 0) return NotFound("no value of parameter " + parameters_[p].name);
  }
  return config;
}

}  // namespace tilewright
