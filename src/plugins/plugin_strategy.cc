// Adapter from a plugin's strategy to search::Strategy. Known and default configs are proposed
// first. Points that a static check rejects are never proposed; the plugin receives them as
// observations like any result. All inputs of the plugin follow from the search log, so a resumed
// job calls the plugin again to restore its state.

#include "src/plugins/plugin_strategy.h"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "search/space.h"
#include "src/base/json.h"
#include "src/plugins/plugin_call.h"

namespace tilewright::plugins {
namespace {

using search::Point;

/// A tw_search_space and the memory that it points to.
class SpaceView {
 public:
  explicit SpaceView(const search::SearchSpace& space)
      : workload_(space.task.workload.Key()), target_(space.task.target.ToString()) {
    for (std::size_t i = 0; i < space.spaces.size(); ++i) Add(*space.templates[i], space.spaces[i]);
    view_ = {sizeof(tw_search_space), static_cast<std::int32_t>(spaces_.size()), workload_.c_str(),
             target_.c_str(), spaces_.data()};
  }
  SpaceView(const SpaceView&) = delete;
  SpaceView& operator=(const SpaceView&) = delete;
  const tw_search_space* get() const { return &view_; }

 private:
  const char* Kept(std::string text) { return texts_.emplace_back(std::move(text)).c_str(); }
  void Add(const TemplateEntry& entry, const ConfigSpace& space) {
    std::vector<tw_plugin_knob>& knobs = knobs_.emplace_back();
    for (const Knob& knob : space.knobs()) {
      std::vector<const char*>& values = values_.emplace_back();
      for (std::int64_t i = 0; i < knob.size(); ++i) values.push_back(Kept(knob[i].ToString()));
      knobs.push_back({sizeof(tw_plugin_knob), static_cast<std::int32_t>(values.size()),
                       Kept(knob.name()), values.data()});
    }
    spaces_.push_back({sizeof(tw_config_space), static_cast<std::int32_t>(knobs.size()),
                       Kept(std::string(entry.key)), space.size(), knobs.data()});
  }

  std::string workload_, target_;
  std::deque<std::string> texts_;  // a deque: pointers into its elements stay valid
  std::deque<std::vector<const char*>> values_;
  std::deque<std::vector<tw_plugin_knob>> knobs_;
  std::vector<tw_config_space> spaces_;
  tw_search_space view_;
};

class PluginStrategy final : public search::Strategy {
 public:
  PluginStrategy(const tw_strategy& row, const search::StrategyContext& context)
      : row_(row),
        space_(*context.space),
        analyzer_(*context.analyzer),
        view_(space_),
        first_(context.first) {
    for (Point point : search::DefaultPoints(space_)) {
      if (std::ranges::find(first_, point) == first_.end()) first_.push_back(point);
    }
    status_ =
        CallPlugin(row_.key, "create", [&] { search_ = row_.create(view_.get(), context.seed); });
    if (status_.ok() && search_ == nullptr) Fail("create returned nothing");
  }
  ~PluginStrategy() override {
    if (search_ == nullptr) return;
    const Status ignored = CallPlugin(row_.key, "destroy", [&] { row_.destroy(search_); });
    (void)ignored;
  }
  PluginStrategy(const PluginStrategy&) = delete;
  PluginStrategy& operator=(const PluginStrategy&) = delete;

  std::vector<Point> Ask(int count) override;
  void Tell(std::span<const search::Observation> results) override {
    std::vector<tw_result> told;
    for (const search::Observation& one : results) {
      const bool ok = one.outcome == Outcome::kOk;
      told.push_back({{one.point.space, one.point.index}, ok ? 1 : 0, ok ? one.value : 0});
    }
    TellPlugin(told);
  }
  std::string_view name() const override { return row_.key; }
  std::string SaveState() const override { return "{\"count\":" + std::to_string(count_) + "}"; }
  Status ReplayAsk(std::span<const Point> points, std::string_view strategy_state) override;
  std::int64_t filtered() const override { return filtered_; }
  Status status() const override { return status_; }

 private:
  void Fail(const std::string& what) {
    if (status_.ok()) status_ = InvalidArgument("strategy " + std::string(row_.key) + ": " + what);
  }
  void TellPlugin(const std::vector<tw_result>& results) {
    if (!status_.ok() || results.empty()) return;
    status_ = CallPlugin(row_.key, "tell", [&] {
      row_.tell(search_, results.data(), static_cast<std::int32_t>(results.size()));
    });
  }
  /// Returns points that were not proposed before; empty if the plugin has no more or has failed.
  std::vector<Point> AskPlugin(std::size_t count);
  /// Appends the point to `out`. Returns false if a static check rejects it.
  bool Take(Point point, std::vector<Point>& out) {
    if (!analyzer_.Check(point).ok()) {
      ++filtered_;
      return false;
    }
    out.push_back(point);
    return true;
  }

  const tw_strategy& row_;
  const search::SearchSpace& space_;
  const search::StaticAnalyzer& analyzer_;
  const SpaceView view_;
  std::vector<Point> first_;  // known and default configs, proposed before the plugin's
  std::size_t next_first_ = 0;
  std::set<Point> proposed_;  // by the plugin
  void* search_ = nullptr;
  int count_ = 0;  // requested by the last Ask
  std::int64_t filtered_ = 0;
  Status status_;
};

std::vector<Point> PluginStrategy::AskPlugin(std::size_t count) {
  std::vector<tw_point> asked(count);
  std::int32_t given = 0;
  const Status called = CallPlugin(row_.key, "ask", [&] {
    given = row_.ask(search_, asked.data(), static_cast<std::int32_t>(count));
  });
  if (!called.ok()) status_ = called;
  if (given < 0) Fail("ask has failed");
  if (given > static_cast<std::int64_t>(count)) {
    Fail("ask says " + std::to_string(given) + " points, expected at most " +
         std::to_string(count));
  }
  std::vector<Point> points;
  for (std::int32_t i = 0; status_.ok() && i < given; ++i) {
    const Point point{asked[static_cast<std::size_t>(i)].space,
                      asked[static_cast<std::size_t>(i)].index};
    const std::string text =
        "config " + std::to_string(point.index) + " of space " + std::to_string(point.space);
    const bool known = point.space >= 0 && point.space < std::ssize(space_.spaces) &&
                       point.index >= 0 &&
                       point.index < space_.spaces[static_cast<std::size_t>(point.space)].size();
    if (!known) {
      Fail("proposed " + text + ", which there is not");
    } else if (!proposed_.insert(point).second) {
      Fail("proposed " + text + " twice");
    } else {
      points.push_back(point);
    }
  }
  return status_.ok() ? points : std::vector<Point>();
}

std::vector<Point> PluginStrategy::Ask(int count) {
  // Limits an Ask to about 4 s, at 20 us per check.
  constexpr std::size_t kLookLimit = 200'000;
  count_ = count;
  const auto wanted = static_cast<std::size_t>(std::max(0, count));
  std::vector<Point> out;
  while (status_.ok() && out.size() < wanted && next_first_ < first_.size()) {
    Take(first_[next_first_++], out);
  }
  for (std::size_t looked = 0; status_.ok() && out.size() < wanted && looked < kLookLimit;) {
    const std::vector<Point> points = AskPlugin(wanted - out.size());
    if (points.empty()) break;
    looked += points.size();
    std::vector<tw_result> refused;
    for (Point point : points) {
      // The point was proposed for the plugin already; the plugin receives its result.
      if (std::ranges::find(first_, point) != first_.end()) continue;
      if (!Take(point, out)) refused.push_back({{point.space, point.index}, 0, 0});
    }
    TellPlugin(refused);
  }
  return status_.ok() ? out : std::vector<Point>();
}

Status PluginStrategy::ReplayAsk(std::span<const Point> points, std::string_view strategy_state) {
  const Result<Json> json = ParseJson(strategy_state);
  if (!json.ok() || !json->is_object() || !json->contains("count") ||
      !(*json)["count"].is_number_integer()) {
    return Corrupt("search log: memo \"" + std::string(strategy_state.substr(0, 80)) +
                   "\", expected an object with \"count\"");
  }
  const std::vector<Point> again = Ask((*json)["count"].get<int>());
  TW_RETURN_IF_ERROR(status_);
  if (std::ranges::equal(again, points)) return {};
  return Corrupt("search log: strategy " + std::string(row_.key) +
                 " proposes other configs than it did");
}

std::unique_ptr<search::Strategy> MakePluginStrategy(const void* row,
                                                     const search::StrategyContext& context) {
  return std::make_unique<PluginStrategy>(*static_cast<const tw_strategy*>(row), context);
}

}  // namespace

search::StrategyEntry EntryOfPlugin(const tw_strategy& row) {
  return {row.key, row.summary, {&row, &MakePluginStrategy}};
}

}  // namespace tilewright::plugins
