#include "search/strategies/genetic.h"

#include <algorithm>

#include "search/strategies/proposer.h"

namespace tilewright::search {
namespace {

constexpr std::size_t kPopulation = 32;
constexpr std::size_t kFirstGeneration = 16;  // ok results required before breeding
constexpr double kImmigrants = 0.1;
constexpr double kMutation = 0.1;  // per knob
constexpr int kTournament = 3;
constexpr int kTries = 64;  // children per point before random sampling

class Genetic final : public Proposer {
 public:
  using Proposer::Proposer;
  std::string_view name() const override { return "genetic"; }

 protected:
  void Propose(std::size_t count, Random& random, std::vector<Point>& out) override {
    const std::vector<std::uint32_t> population = history().Fastest(kPopulation);
    if (population.size() < kFirstGeneration) {
      TakeRandom(count, random, out);
      return;
    }
    while (out.size() < count) {
      const std::size_t before = out.size();
      if (random.Uniform() >= kImmigrants) {
        for (int i = 0; i < kTries && out.size() == before; ++i) {
          Take(Child(population, random), out);
        }
      }
      if (out.size() == before) TakeRandom(before + 1, random, out);
      if (out.size() == before) return;
    }
  }

 private:
  /// Returns the fastest of a few members drawn at random (population is sorted).
  Point Parent(const std::vector<std::uint32_t>& population, Random& random) const {
    std::uint64_t best = population.size();
    for (int i = 0; i < kTournament; ++i) best = std::min(best, random.Below(population.size()));
    return history().entries()[population[best]].point;
  }

  Point Child(const std::vector<std::uint32_t>& population, Random& random) const {
    const Point mother = Parent(population, random);
    const Point father = Parent(population, random);
    const ConfigSpace& one = space().spaces[static_cast<std::size_t>(mother.space)];
    std::vector<std::int64_t> digits = one.Digits(mother.index);
    if (father.space == mother.space) {
      const std::vector<std::int64_t> other = one.Digits(father.index);
      for (std::size_t k = 0; k < digits.size(); ++k) {
        if (random.Below(2) == 0) digits[k] = other[k];
      }
    }
    for (std::size_t k = 0; k < digits.size(); ++k) {
      if (random.Uniform() < kMutation) {
        digits[k] = static_cast<std::int64_t>(
            random.Below(static_cast<std::uint64_t>(one.knobs()[k].size())));
      }
    }
    const Point child{mother.space, one.IndexOf(digits)};
    return history().Contains(child) ? MutatePoint(space(), child, random) : child;
  }
};

}  // namespace

std::unique_ptr<Strategy> MakeGenetic(const StrategyContext& context) {
  return std::make_unique<Genetic>(context);
}

}  // namespace tilewright::search
