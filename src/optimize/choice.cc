#include "src/optimize/choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "src/compiler/plan/minimize.h"

namespace tilewright::optimize {
namespace {

std::size_t Place(int index) { return static_cast<std::size_t>(index); }

Choice Completed(const ChoiceProblem& problem, std::vector<int> options) {
  Choice choice{std::move(options), 0, 0};
  choice.seconds = problem.SecondsOf(choice.options);
  choice.noise = problem.NoiseOf(choice.options);
  return choice;
}

/// Costs at a price of noise, in units of the exact choice's seconds.
CostSum CostsAt(const ChoiceProblem& problem, double unit, double price) {
  CostSum sum;
  for (std::size_t i = 0; i < problem.sites.size(); ++i) {
    sum.sizes.push_back(static_cast<int>(problem.sites[i].size()));
  }
  for (std::size_t i = 0; i < problem.sites.size(); ++i) {
    CostTable& table = sum.AddTable({static_cast<int>(i)});
    for (std::size_t k = 0; k < problem.sites[i].size(); ++k) {
      const SiteOption& option = problem.sites[i][k];
      table.costs[k] = option.seconds / unit + price * option.noise;
    }
  }
  for (const Conversion& conversion : problem.conversions) {
    const bool ascending = conversion.from < conversion.to;
    CostTable& table = sum.AddTable(
        {std::min(conversion.from, conversion.to), std::max(conversion.from, conversion.to)});
    const std::size_t rows = problem.sites[Place(conversion.from)].size();
    const std::size_t columns = problem.sites[Place(conversion.to)].size();
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t column = 0; column < columns; ++column) {
        table.costs[ascending ? row * columns + column : column * rows + row] +=
            conversion.seconds[row * columns + column] / unit;
      }
    }
  }
  return sum;
}

/// Search around a choice for faster ones that keep the limit.
class Improver {
 public:
  Improver(const ChoiceProblem& problem, double noise_limit)
      : problem_(problem), noise_limit_(noise_limit) {}

  Choice Improve(Choice choice) const {
    constexpr int kMaxRounds = 1000;
    for (int round = 0; round < kMaxRounds; ++round) {
      if (!ImproveOnce(choice)) break;
    }
    return choice;
  }

  /// Makes a choice exact site by site until it keeps the limit: first where the least time is lost
  /// for the noise.
  Choice Repair(Choice choice) const {
    while (choice.noise > noise_limit_) {
      Choice best = choice;
      double least_loss = std::numeric_limits<double>::infinity();
      ForEachChange(choice, 0, [&](std::size_t, const Choice& changed) {
        const double gained = std::min(choice.noise - changed.noise, choice.noise - noise_limit_);
        const double loss = (changed.seconds - choice.seconds) / gained;
        if (gained <= 0 || loss >= least_loss) return;
        least_loss = loss;
        best = changed;
      });
      if (best.options == choice.options) break;
      choice = std::move(best);
    }
    return choice;
  }

 private:
  bool Better(const Choice& candidate, const Choice& best) const {
    return candidate.noise <= noise_limit_ && candidate.seconds < best.seconds * (1 - 1e-12);
  }

  /// Changes one site, or two if no single change helps. Returns false if none does.
  bool ImproveOnce(Choice& choice) const {
    Choice best = choice;
    TryAll(choice, best, nullptr);
    if (best.options == choice.options && choice.options.size() <= kMaxPairedSites) {
      ForEachChange(choice, 0,
                    [&](std::size_t site, const Choice& changed) { TryAll(changed, best, &site); });
    }
    const bool improved = best.options != choice.options;
    choice = std::move(best);
    return improved;
  }

  /// after: only sites behind this one; null: all.
  void TryAll(const Choice& choice, Choice& best, const std::size_t* after) const {
    ForEachChange(choice, after == nullptr ? 0 : *after + 1,
                  [&](std::size_t, const Choice& changed) {
                    if (Better(changed, best)) best = changed;
                  });
  }

  template <typename Visit>
  void ForEachChange(const Choice& choice, std::size_t begin, const Visit& visit) const {
    for (std::size_t site = begin; site < choice.options.size(); ++site) {
      for (std::size_t option = 0; option < problem_.sites[site].size(); ++option) {
        if (static_cast<int>(option) == choice.options[site]) continue;
        std::vector<int> options = choice.options;
        options[site] = static_cast<int>(option);
        visit(site, Completed(problem_, std::move(options)));
      }
    }
  }

  static constexpr std::size_t kMaxPairedSites = 80;
  const ChoiceProblem& problem_;
  double noise_limit_;
};

constexpr double kMinPrice = 1e-9, kMaxPrice = 1e15;

}  // namespace

double ChoiceProblem::SecondsOf(const std::vector<int>& options) const {
  double seconds = 0;
  for (std::size_t i = 0; i < sites.size(); ++i) seconds += sites[i][Place(options[i])].seconds;
  for (const Conversion& conversion : conversions) {
    const std::size_t columns = sites[Place(conversion.to)].size();
    seconds += conversion.seconds[Place(options[Place(conversion.from)]) * columns +
                                  Place(options[Place(conversion.to)])];
  }
  return seconds;
}

double ChoiceProblem::NoiseOf(const std::vector<int>& options) const {
  double noise = 0;
  for (std::size_t i = 0; i < sites.size(); ++i) noise += sites[i][Place(options[i])].noise;
  return noise;
}

Choice CheapestAt(const ChoiceProblem& problem, double price) {
  const std::vector<int> exact(problem.sites.size(), 0);
  const double seconds = problem.SecondsOf(exact);
  const CostSum sum = CostsAt(problem, seconds > 0 ? seconds : 1, price);
  return Completed(problem, Minimize(sum, exact).values);
}

Choice ChooseUnder(const ChoiceProblem& problem, double noise_limit) {
  const Improver improver(problem, noise_limit);
  Choice best = Completed(problem, std::vector<int>(problem.sites.size(), 0));
  std::set<std::vector<int>> begun;
  const auto take = [&](const Choice& start) {
    if (!begun.insert(start.options).second) return;
    const Choice choice = improver.Improve(improver.Repair(start));
    if (choice.noise <= noise_limit && choice.seconds < best.seconds) best = choice;
  };
  const Choice fastest = CheapestAt(problem, 0);
  if (fastest.noise <= noise_limit) return fastest.seconds < best.seconds ? fastest : best;
  double low = kMinPrice, high = kMaxPrice;
  constexpr int kSteps = 60;
  for (int step = 0; step < kSteps; ++step) {
    const double price = std::sqrt(low * high);
    const Choice choice = CheapestAt(problem, price);
    take(choice);
    (choice.noise <= noise_limit ? high : low) = price;
  }
  return best;
}

std::vector<Choice> PredictedFront(const ChoiceProblem& problem) {
  std::vector<Choice> choices = {CheapestAt(problem, 0)};
  constexpr double kFactor = 2;
  for (double price = kMinPrice; price < kMaxPrice; price *= kFactor) {
    choices.push_back(CheapestAt(problem, price));
  }
  std::ranges::sort(choices, [](const Choice& a, const Choice& b) {
    return std::pair(a.noise, a.seconds) < std::pair(b.noise, b.seconds);
  });
  std::vector<Choice> front;
  for (Choice& choice : choices) {
    if (front.empty() || choice.seconds < front.back().seconds) front.push_back(std::move(choice));
  }
  return front;
}

}  // namespace tilewright::optimize
