// Configs of spaces that are too entangled to be counted: found by random draws and by a search
// with limits of work, once, when the space is made. So a space that allows nothing is refused
// then, and later draws never take long.

#include <algorithm>
#include <numeric>
#include <string>

#include "src/space/open/open_space.h"

namespace tilewright {
namespace {

constexpr std::uint64_t kSeed = 0x5eed;
constexpr std::size_t kMaxKnown = 64;
// Nodes of conditions that all first draws may evaluate, and that later draws of one config may
// take on average; a node takes about 50 ns.
constexpr std::int64_t kFirstWork = 10'000'000, kDrawWork = 400'000;
constexpr std::int64_t kMinFirstDraws = 200, kMaxFirstDraws = 20'000;
constexpr std::int64_t kDrawsPerConfig = 12;  // times the mean: one sample in 160,000 finds none
// Partial configs that all searches may look at, and expressions that one may make.
constexpr std::int64_t kMaxPartial = 60'000;
constexpr std::size_t kMaxSearchExpressions = 200'000;
constexpr int kSearches = 8;
constexpr int kStepsPerParameter = 6;  // of a walk

}  // namespace

/// Search for one allowed config that assigns the parameters in their order, and goes back where a
/// condition cannot be fulfilled any more.
class OpenSpace::Search {
 public:
  enum class End : std::uint8_t { kFound, kNone, kLimit };

  Search(OpenSpace& space, ExpressionId last, Random& random, std::int64_t& left)
      : space_(space), last_(last), random_(random), left_(left) {}

  /// Returns kNone only if no combination is allowed.
  End Run(OpenConfig& config) {
    std::vector<ExpressionId> state;
    for (const Check& check : space_.checks_) state.push_back(check.expression);
    config.assign(space_.parameters_.size(), 0);
    const End end = Assign(0, state, config);
    space_.pool_.TruncateAfter(last_);
    return end;
  }

 private:
  End Assign(std::size_t depth, const std::vector<ExpressionId>& state, OpenConfig& config) {
    if (depth == space_.order_.size()) return End::kFound;
    const int p = space_.order_[depth];
    std::vector<std::int32_t> values(space_.values_[static_cast<std::size_t>(p)].size());
    std::iota(values.begin(), values.end(), 0);
    for (std::size_t i = values.size(); i > 1; --i) {
      std::swap(values[i - 1], values[random_.Below(i)]);
    }
    for (const std::int32_t v : values) {
      if (--left_ < 0 || space_.pool_.size() > last_ + kMaxSearchExpressions) return End::kLimit;
      config[static_cast<std::size_t>(p)] = v;
      std::vector<ExpressionId> next;
      if (!space_.Substitute(p, static_cast<std::size_t>(v), state, next)) continue;
      const End end = Assign(depth + 1, next, config);
      if (end != End::kNone) return end;
    }
    return End::kNone;
  }

  OpenSpace& space_;
  const ExpressionId last_;
  Random& random_;
  std::int64_t& left_;
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
  std::int64_t left = kMaxPartial;
  for (int i = 0; i < kSearches && left > 0; ++i) {
    OpenConfig config;
    const Search::End end = Search(*this, last, random, left).Run(config);
    if (end == Search::End::kNone) {
      return InvalidArgument("no combination of values fulfils all conditions");
    }
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
