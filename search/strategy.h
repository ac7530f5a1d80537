#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/space/trial.h"
#include "src/templates/registry.h"

namespace tilewright::search {

/// A config of one of the task's templates: spaces of several templates are searched as one.
struct Point {
  int space = 0;            ///< which of SearchSpace::templates
  std::int64_t index = 0;   ///< in that template's ConfigSpace
  friend auto operator<=>(const Point&, const Point&) = default;
};

/// What is searched for one task: every template that serves it, and static legality.
struct SearchSpace {
  Task task;
  Epilogue epilogue;
  std::vector<const TemplateEntry*> templates;
  std::vector<ConfigSpace> spaces;  ///< parallel to templates
  std::int64_t size() const;        ///< of all spaces together
};

struct Told {
  Point point;
  Outcome outcome = Outcome::kInvalid;
  double value = 0;  ///< seconds when ok
};

/// Proposes points and is told what came of them. Deterministic: same seed and same sequence of
/// calls, same proposals; the log of calls is the whole state.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Up to `count` points not proposed before; fewer (or none) when the space is exhausted.
  virtual std::vector<Point> Ask(int count) = 0;
  virtual void Tell(std::span<const Told> results) = 0;
  virtual std::string_view name() const = 0;
};

}  // namespace tilewright::search
