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

/// Config of one of the task's templates. The spaces of several templates are searched as one.
struct Point {
  int space = 0;           ///< which of SearchSpace::templates
  std::int64_t index = 0;  ///< in that template's ConfigSpace
  friend auto operator<=>(const Point&, const Point&) = default;
};

constexpr std::uint64_t HashOf(Point point) {
  return Mix64(static_cast<std::uint64_t>(point.index) * 31 +
               static_cast<std::uint64_t>(point.space));
}

class PointSet;

/// Search space of one task: every template that serves it, and its config spaces.
struct SearchSpace {
  Task task;
  Epilogue epilogue;
  std::vector<const TemplateEntry*> templates;
  std::vector<ConfigSpace> spaces;  ///< parallel to templates
  /// Result of DefaultPoints, if it was computed before: a template may build hundreds of streams
  /// to find its default config.
  std::optional<std::vector<Point>> defaults = {};
  /// Legal points if they are known without a static check; null for templates. Has to outlive the
  /// space.
  const PointSet* legal = nullptr;
  std::shared_ptr<const PointSet> owned_legal = {};  ///< empty, or `legal`: of an open task
  /// For each knob of the first space, whether the order of its values has a meaning; empty: that
  /// of numbers has.
  std::vector<bool> ordered = {};
  std::int64_t size() const;  ///< of all spaces together; 2^63 - 1 if larger
};

struct Observation {
  Point point;
  Outcome outcome = Outcome::kInvalid;
  double value = 0;    ///< seconds if ok
  bool noisy = false;  ///< noisy: the value may be too long
  /// By each metric of a job with several, `value` first; empty unless ok, or if the job has one.
  std::vector<double> values = {};
};

/// Model training of a strategy that may run on another thread, concurrently with Ask and Tell.
/// Holds copies of all its data.
class TrainingJob {
 public:
  virtual ~TrainingJob() = default;
  virtual Status Run() = 0;
};

/// Search algorithm that proposes points (Ask) and observes their results (Tell). Deterministic:
/// the same seed and sequence of calls give the same proposals, so the log of calls is the whole
/// state. Never proposes points that a static check rejects. Not thread-safe.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Returns up to `count` new points; fewer (or none) if the space is exhausted.
  virtual std::vector<Point> Ask(int count) = 0;
  virtual void Tell(std::span<const Observation> results) = 0;
  /// Excludes points that another strategy has proposed from further proposals. A no-op if the
  /// strategy cannot guarantee this.
  virtual void Exclude(std::span<const Point> /*points*/) {}
  /// Returns the model's predictions for the points of the last Ask, one for each, higher is
  /// better; empty without a model. Called after every Ask; does not change proposals.
  virtual std::vector<float> Scores(std::span<const Point> /*points*/) { return {}; }
  virtual std::string_view name() const = 0;

  /// Returns the error that ended the strategy. The job then ends, and the strategy proposes no
  /// more points. Only plugins can fail.
  virtual Status status() const { return {}; }

  /// Returns the due training job, or null. Call after Tell, and once before the first Ask. Until
  /// Finish receives the job, proposals use the earlier model.
  virtual std::unique_ptr<TrainingJob> NextTrainingJob() { return nullptr; }
  virtual void Finish(std::unique_ptr<TrainingJob> /*training_job*/) {}

  /// Returns the state that ReplayAsk needs in addition to the points of the last Ask, as a short
  /// JSON text.
  virtual std::string SaveState() const { return "{}"; }
  /// Replays an Ask of an earlier run of the job that returned `points`. After the last one,
  /// FinishReplay completes the restored state. Errors: kCorrupt if the state does not belong to
  /// this strategy.
  virtual Status ReplayAsk(std::span<const Point> points, std::string_view strategy_state) = 0;
  virtual Status FinishReplay() { return {}; }

  /// Returns the number of points that a static check rejected; they cost no trial.
  virtual std::int64_t filtered() const = 0;
};

}  // namespace tilewright::search
