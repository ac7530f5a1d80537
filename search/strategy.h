#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/hash.h"
#include "src/base/status.h"
#include "src/space/trial.h"
#include "src/templates/registry.h"

namespace tilewright::search {

/// A config of one of the task's templates: spaces of several templates are searched as one.
struct Point {
  int space = 0;           ///< which of SearchSpace::templates
  std::int64_t index = 0;  ///< in that template's ConfigSpace
  friend auto operator<=>(const Point&, const Point&) = default;
};

constexpr std::uint64_t HashOf(Point point) {
  return Mix64(static_cast<std::uint64_t>(point.index) * 31 +
               static_cast<std::uint64_t>(point.space));
}

/// What is searched for one task: every template that serves it, and static legality.
struct SearchSpace {
  Task task;
  Epilogue epilogue;
  std::vector<const TemplateEntry*> templates;
  std::vector<ConfigSpace> spaces;  ///< parallel to templates
  /// What DefaultPoints says, where it was asked before: a template may look at hundreds of streams
  /// for its default config.
  std::optional<std::vector<Point>> defaults = {};
  std::int64_t size() const;  ///< of all spaces together, 2^63 - 1 for more
};

struct Observation {
  Point point;
  Outcome outcome = Outcome::kInvalid;
  double value = 0;    ///< seconds when ok
  bool noisy = false;  ///< measured in noise: the value may be too long
  /// By each metric of a job that has several, `value` first; empty unless ok, or if it has one.
  std::vector<double> values = {};
};

/// Slow work of a strategy (learning) that may run on another thread beside Ask and Tell: it holds
/// copies of all it needs.
class TrainingJob {
 public:
  virtual ~TrainingJob() = default;
  virtual Status Run() = 0;
};

/// Proposes points and is told what came of them. Deterministic: same seed and same sequence of
/// calls, same proposals; the log of calls is the whole state. Points that a static check refuses
/// are never proposed. Not thread-safe.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Up to `count` points not proposed before; fewer (or none) when the space is exhausted.
  virtual std::vector<Point> Ask(int count) = 0;
  virtual void Tell(std::span<const Observation> results) = 0;
  /// Somebody else has proposed these: they are not to be proposed again. A strategy that cannot
  /// promise that leaves it out.
  virtual void Exclude(std::span<const Point> /*points*/) {}
  /// What its model thinks of the points just asked for, higher is better, one number each; empty
  /// where it has none. Called after every Ask, and changes no proposal.
  virtual std::vector<float> Scores(std::span<const Point> /*points*/) { return {}; }
  virtual std::string_view name() const = 0;

  /// What has gone wrong in it, which ends the job; it proposes nothing more. Only one of a plugin
  /// can go wrong.
  virtual Status status() const { return {}; }

  /// Learning that is due, or null; call after Tell (and once before the first Ask). Proposals made
  /// before it is handed back by Finish use what was known before.
  virtual std::unique_ptr<TrainingJob> NextTrainingJob() { return nullptr; }
  virtual void Finish(std::unique_ptr<TrainingJob> /*lesson*/) {}

  /// JSON text: what ReplayAsk needs beside the points of the Ask just made. Short.
  virtual std::string SaveState() const { return "{}"; }
  /// Takes the place of an Ask of an earlier life of the job that returned `points`; afterwards the
  /// strategy is as it was after that Ask, once FinishReplay is called after the last one.
  /// Errors: kCorrupt if the memo is none of this strategy's.
  virtual Status ReplayAsk(std::span<const Point> points, std::string_view strategy_state) = 0;
  virtual Status FinishReplay() { return {}; }

  /// Points that were considered and refused by a static check: they cost no trial.
  virtual std::int64_t filtered() const = 0;
};

}  // namespace tilewright::search
