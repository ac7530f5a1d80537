// Configs of spaces that are too entangled to be counted: found by random draws and by a search
// with limits of work, once, when the space is made. So a space that allows nothing is refused
// then, and later draws never take long.

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>

#include "src/space/open/open_space.h"

namespace tilewright {
namespace {

constexpr std::uint64_t kSeed = 0x5eed;
constexpr std::size_t kMaxKnown = 64;
// Nodes of conditions that all first draws may evaluate, and that later draws of one config may
// take on average; a node takes 10 to 50 ns.
constexpr std::int64_t kFirstWork = 10'000'000, kDrawWork = 400'000;
constexpr std::int64_t kMinFirstDraws = 200, kMaxFirstDraws = 20'000;
constexpr std::int64_t kDrawsPerConfig = 12;  // times the mean: one sample in 160,000 finds none
// Nodes that all searches may evaluate; one that is substituted counts as so many. Expressions that
// one search may make.
constexpr std::int64_t kSearchWork = 60'000'000, kSubstitutionWork = 20;
constexpr std::size_t kMaxSearchExpressions = 200'000;
constexpr std::size_t kSearches = 8;
// Combinations of the last parameters that are evaluated without making expressions.
constexpr std::int64_t kEnumerated = 4096;
constexpr int kStepsPerParameter = 6;  // of a walk

}  // namespace

/// Search for one allowed config. Assigns the parameter with the fewest values for the number of
/// its conditions next; conditions of one parameter remove values; goes back where a condition
/// cannot be fulfilled any more.
class OpenSpace::Search {
 public:
  enum class End : std::uint8_t { kFound, kNone, kLimit };

  /// work: limit of the nodes to evaluate.
  Search(OpenSpace& space, ExpressionId last, Random& random, std::int64_t work)
      : space_(space), pool_(space.pool_), last_(last), left_(work) {
    parameter_of_.resize(space.order_.size());
    for (int p : space.order_) {
      parameter_of_[static_cast<std::size_t>(space.pool_number_[static_cast<std::size_t>(p)])] =
          static_cast<std::size_t>(p);
    }
    for (std::size_t p : parameter_of_) {
      Domain domain(space.values_[p].size());
      std::iota(domain.begin(), domain.end(), 0);
      for (std::size_t i = domain.size(); i > 1; --i) {
        std::swap(domain[i - 1], domain[random.Below(i)]);
      }
      domains_.push_back(std::move(domain));
    }
  }

  /// Returns kNone only if no combination is allowed.
  End Run(OpenConfig& config) {
    std::vector<ExpressionId> state;
    for (const Check& check : space_.checks_) state.push_back(check.expression);
    const End end = Assign(std::move(state), domains_);
    pool_.TruncateAfter(last_);
    config.assign(space_.parameters_.size(), 0);
    if (end != End::kFound) return end;
    for (std::size_t n = 0; n < found_.size(); ++n) config[parameter_of_[n]] = found_[n];
    return end;
  }

  std::int64_t left() const { return std::max<std::int64_t>(0, left_); }

 private:
  /// Positions of the values that a parameter may have; one if it is assigned.
  using Domain = std::vector<std::int32_t>;
  /// By number in the pool.
  using Domains = std::vector<Domain>;

  const ExpressionValue& ValueAt(std::size_t number, std::int32_t v) const {
    return space_.values_[parameter_of_[number]][static_cast<std::size_t>(v)];
  }
  bool Holds(ExpressionId condition) {
    left_ -= pool_.work(condition);
    return pool_.Evaluate(condition, evaluated_).truth();
  }

  End Assign(std::vector<ExpressionId> state, Domains domains) {
    if (!Reduce(state, domains)) return left_ < 0 ? End::kLimit : End::kNone;
    std::uint64_t open = 0;
    for (ExpressionId condition : state) open |= pool_.parameters(condition);
    std::vector<std::size_t> numbers;
    std::int64_t combinations = 1;
    for (std::size_t n = 0; n < domains.size(); ++n) {
      if ((open >> n & 1) == 0) continue;
      numbers.push_back(n);
      combinations = std::min(kEnumerated + 1, combinations * std::ssize(domains[n]));
    }
    if (combinations <= kEnumerated) return Enumerate(state, numbers, domains);
    const std::size_t next = ChooseNext(state, numbers, domains);
    for (const std::int32_t v : domains[next]) {
      if (left_ < 0 || pool_.size() > last_ + kMaxSearchExpressions) return End::kLimit;
      std::vector<ExpressionId> rest;
      if (!Substitute(next, v, state, rest)) continue;
      Domains narrowed = domains;
      narrowed[next] = {v};
      const End end = Assign(std::move(rest), std::move(narrowed));
      if (end != End::kNone) return end;
    }
    return End::kNone;
  }

  /// Removes the conditions of one parameter, and the values that violate them. Returns false if
  /// none is left, or at the limit.
  bool Reduce(std::vector<ExpressionId>& state, Domains& domains) {
    std::erase_if(state, [&](ExpressionId condition) {
      const std::uint64_t parameters = pool_.parameters(condition);
      if (std::popcount(parameters) != 1) return false;
      const auto n = static_cast<std::size_t>(std::countr_zero(parameters));
      std::erase_if(domains[n], [&](std::int32_t v) {
        evaluated_[n] = &ValueAt(n, v);
        return left_ < 0 || !Holds(condition);
      });
      return true;
    });
    return left_ >= 0 && std::ranges::none_of(domains, &Domain::empty);
  }

  /// Tries all combinations of the parameters of these numbers.
  End Enumerate(const std::vector<ExpressionId>& state, const std::vector<std::size_t>& numbers,
                const Domains& domains) {
    std::vector<std::size_t> at(numbers.size(), 0);
    while (left_ >= 0) {
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        evaluated_[numbers[i]] = &ValueAt(numbers[i], domains[numbers[i]][at[i]]);
      }
      if (std::ranges::all_of(state, [&](ExpressionId condition) { return Holds(condition); })) {
        found_.clear();
        for (const Domain& domain : domains) found_.push_back(domain[0]);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
          found_[numbers[i]] = domains[numbers[i]][at[i]];
        }
        return End::kFound;
      }
      std::size_t i = 0;
      while (i < at.size() && ++at[i] == domains[numbers[i]].size()) at[i++] = 0;
      if (i == at.size()) return End::kNone;
    }
    return End::kLimit;
  }

  std::size_t ChooseNext(const std::vector<ExpressionId>& state,
                         const std::vector<std::size_t>& numbers, const Domains& domains) const {
    const auto badness = [&](std::size_t n) {
      const auto has = [&](ExpressionId one) { return (pool_.parameters(one) >> n & 1) != 0; };
      return static_cast<double>(domains[n].size()) /
             static_cast<double>(std::ranges::count_if(state, has));
    };
    return *std::ranges::min_element(numbers, {}, badness);
  }

  /// Returns false if a condition cannot be fulfilled any more.
  bool Substitute(std::size_t number, std::int32_t v, const std::vector<ExpressionId>& state,
                  std::vector<ExpressionId>& rest) {
    for (const ExpressionId condition : state) {
      const bool has = (pool_.parameters(condition) >> number & 1) != 0;
      if (has) left_ -= kSubstitutionWork * pool_.work(condition);
      const ExpressionId one =
          has ? pool_.Substitute(condition, static_cast<int>(number), static_cast<std::uint32_t>(v),
                                 ValueAt(number, v))
              : condition;
      if (pool_.IsFalse(one)) return false;
      if (!pool_.IsTrue(one)) rest.push_back(one);
    }
    return true;
  }

  OpenSpace& space_;
  ExpressionPool& pool_;
  const ExpressionId last_;
  std::int64_t left_;
  std::vector<std::size_t> parameter_of_;  // by number in the pool
  Domains domains_;
  std::vector<const ExpressionValue*> evaluated_ =
      std::vector<const ExpressionValue*>(ExpressionPool::kMaxParameters, nullptr);
  std::vector<std::int32_t> found_;
};

Status OpenSpace::FindAllowed(std::uint32_t last) {
  std::int64_t work = 1;  // of a draw
  for (const Check& check : checks_) {
    work += check.table.empty() ? pool_.work(check.expression) : 1;
  }
  Random random(kSeed);
  const std::int64_t most = std::clamp(kFirstWork / work, kMinFirstDraws, kMaxFirstDraws);
  std::int64_t drawn = 0;
  while (drawn < most && known_.size() < kMaxKnown) {
    ++drawn;
    const auto number = random.Below(static_cast<std::uint64_t>(size()));
    OpenConfig config = Descend(static_cast<std::int64_t>(number));
    if (Allows(config)) known_.push_back(std::move(config));
  }
  if (!known_.empty()) {
    const std::int64_t mean = 1 + drawn / static_cast<std::int64_t>(known_.size());
    draws_ = mean * work <= kDrawWork ? kDrawsPerConfig * mean : 0;
    return {};
  }
  // Each search may take half of what is left: a wrong first choice costs no more.
  std::int64_t left = kSearchWork;
  while (known_.size() < kSearches && left > kSearchWork / 64) {
    Search search(*this, last, random, left / 2);
    OpenConfig config;
    const Search::End end = search.Run(config);
    if (end == Search::End::kNone) {
      return InvalidArgument("no combination of values fulfils all conditions");
    }
    left -= left / 2 - search.left();
    if (end == Search::End::kFound) known_.push_back(std::move(config));
  }
  if (!known_.empty()) return {};
  return InvalidArgument("none of " + std::to_string(drawn) +
                         " random combinations of values fulfils all conditions, and a search "
                         "found none within its limit: expected conditions of fewer parameters "
                         "each, or ones that allow more");
}

OpenConfig OpenSpace::WalkFromKnown(Random& random) const {
  OpenConfig config = known_[random.Below(known_.size())];
  const std::size_t steps = kStepsPerParameter * order_.size();
  for (std::size_t i = 0; i < steps; ++i) {
    OpenConfig changed = config;
    // Two at once leave a config whose conditions fix each parameter by the others.
    for (std::uint64_t changes = 1 + random.Below(2); changes > 0; --changes) {
      const auto p = static_cast<std::size_t>(order_[random.Below(order_.size())]);
      const auto size = static_cast<std::uint64_t>(parameters_[p].size());
      changed[p] = static_cast<std::int32_t>(random.Below(size));
    }
    if (Allows(changed)) config = std::move(changed);
  }
  return config;
}

}  // namespace tilewright
