#include "search/strategies/grid.h"

#include <algorithm>

#include "search/strategies/proposer.h"
#include "src/base/json.h"

namespace tilewright::search {
namespace {

// Maximum number of points that one Ask examines, so that Ask returns from a space in which nearly
// all points are rejected.
constexpr std::int64_t kLookLimit = 200'000;

class Grid final : public Proposer {
 public:
  using Proposer::Proposer;
  std::string_view name() const override { return "grid"; }

 protected:
  void Propose(std::size_t count, Random& /*random*/, std::vector<Point>& out) override {
    const auto spaces = static_cast<std::int64_t>(space().spaces.size());
    std::int64_t longest = 0;
    for (const ConfigSpace& one : space().spaces) longest = std::max(longest, one.size());
    for (std::int64_t looked = 0; out.size() < count && looked < kLookLimit; ++looked) {
      const Point point{static_cast<int>(cursor_ % spaces), cursor_ / spaces};
      if (point.index >= longest) return;
      ++cursor_;
      if (point.index < space().spaces[static_cast<std::size_t>(point.space)].size()) {
        Take(point, out);
      }
    }
  }
  std::string ExtraState() const override { return ",\"cursor\":" + std::to_string(cursor_); }
  Status LoadState(std::string_view strategy_state) override {
    const Result<Json> json = ParseJson(strategy_state);
    const auto cursor = json->find("cursor");
    if (cursor == json->end() || !cursor->is_number_integer() || cursor->get<std::int64_t>() < 0) {
      return Corrupt("search log: grid: no \"cursor\" in the strategy state");
    }
    cursor_ = cursor->get<std::int64_t>();
    return {};
  }

 private:
  std::int64_t cursor_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> MakeGrid(const StrategyContext& context) {
  return std::make_unique<Grid>(context);
}

}  // namespace tilewright::search
