#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "search/space.h"
#include "search/static_analyzer.h"
#include "search/strategies/proposal_history.h"
#include "search/strategy.h"

namespace tilewright::search {

struct StrategyContext;

/// What every strategy here shares: known and default configs come first, nothing is proposed
/// twice, nothing that a static check refuses is proposed at all, and the random numbers of an Ask
/// depend on the seed and the number of Asks before it only, so that a replay needs no generator
/// state.
class Proposer : public Strategy {
 public:
  explicit Proposer(const StrategyContext& context);

  std::vector<Point> Ask(int count) final;
  void Tell(std::span<const Observation> results) override;
  void Exclude(std::span<const Point> points) final;
  Status ReplayAsk(std::span<const Point> points, std::string_view strategy_state) final;
  std::string SaveState() const final;
  std::int64_t filtered() const final { return filtered_; }

 protected:
  /// Adds points with Take until `out` holds `count`, or none is left.
  virtual void Propose(std::size_t count, Random& random, std::vector<Point>& out) = 0;
  /// Members of the memo beyond those of this class: JSON text that starts with a comma, or none.
  virtual std::string ExtraState() const { return {}; }
  /// Takes them back. `memo` is the whole memo, valid JSON.
  virtual Status LoadState(std::string_view /*memo*/) { return {}; }

  /// Appends the point to `out` unless it was proposed before or is refused.
  bool Take(Point point, std::vector<Point>& out);
  /// The same for a point that is known to be legal.
  bool TakeLegal(Point point, std::vector<Point>& out);
  /// Counts a refused point once (as far as the memory of refused points reaches).
  void MarkRejected(Point point);
  bool IsKnownRejected(Point point) const;
  /// Random points until `out` holds `count`; where chance finds no more, the first ones left.
  void TakeRandom(std::size_t count, Random& random, std::vector<Point>& out);

  const SearchSpace& space() const { return space_; }
  const StaticAnalyzer& analyzer() const { return analyzer_; }
  const ProposalHistory& history() const { return history_; }
  std::uint64_t asks() const { return asks_; }

 private:
  void TakeNearLegal(std::size_t count, Random& random, std::vector<Point>& out);
  void Scan(std::size_t count, Random& random, std::vector<Point>& out);
  const SearchSpace& space_;
  const StaticAnalyzer& analyzer_;
  const std::uint64_t seed_;
  ProposalHistory history_;
  std::vector<Point> first_;
  std::vector<Point> refused_;  // one slot per hash value; the newest refused point stays
  std::uint64_t asks_ = 0;
  std::int64_t filtered_ = 0;
};

}  // namespace tilewright::search
