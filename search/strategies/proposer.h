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

/// Base class of all built-in strategies. Proposes known and default configs first, no point twice,
/// and no point that a static check rejects. The random numbers of an Ask depend only on the seed
/// and the number of earlier Asks, so a replay needs no generator state.
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
  /// Returns additional members of the strategy state: JSON text that starts with a comma, or an
  /// empty text.
  virtual std::string ExtraState() const { return {}; }
  /// Restores the members of ExtraState. `strategy_state` is the whole state, valid JSON.
  virtual Status LoadState(std::string_view /*strategy_state*/) { return {}; }

  /// Appends the point to `out` unless it was proposed before or is rejected.
  bool Take(Point point, std::vector<Point>& out);
  /// As Take, for a point that is known to be legal.
  bool TakeLegal(Point point, std::vector<Point>& out);
  /// Counts a rejected point once (within the bounded memory of rejected points).
  void MarkRejected(Point point);
  bool IsKnownRejected(Point point) const;
  /// Adds random points until `out` holds `count`. If sampling finds no new point, adds the first
  /// remaining ones.
  void TakeRandom(std::size_t count, Random& random, std::vector<Point>& out);

  const SearchSpace& space() const { return space_; }
  const StaticAnalyzer& analyzer() const { return analyzer_; }
  const ProposalHistory& history() const { return history_; }
  std::uint64_t asks() const { return asks_; }

 private:
  void TakeNearLegal(std::size_t count, Random& random, std::vector<Point>& out);
  void Scan(std::size_t count, Random& random, std::vector<Point>& out);
  /// Whether the legal points of the space are found by trying.
  bool is_slow() const;
  const SearchSpace& space_;
  const StaticAnalyzer& analyzer_;
  const std::uint64_t seed_;
  ProposalHistory history_;
  std::vector<Point> first_;
  std::vector<Point> refused_;  // one slot per hash value; the newest rejected point stays
  std::uint64_t asks_ = 0;
  std::int64_t filtered_ = 0;
  bool exhausted_ = false;  // of a slow space: no search for another point found one
};

}  // namespace tilewright::search
