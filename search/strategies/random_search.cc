#include "search/strategies/random_search.h"

#include "search/strategies/proposer.h"

namespace tilewright::search {
namespace {

class RandomSearch final : public Proposer {
 public:
  using Proposer::Proposer;
  std::string_view name() const override { return "random"; }

 protected:
  void Propose(std::size_t count, Random& random, std::vector<Point>& out) override {
    TakeRandom(count, random, out);
  }
};

}  // namespace

std::unique_ptr<Strategy> MakeRandomSearch(const StrategyContext& context) {
  return std::make_unique<RandomSearch>(context);
}

}  // namespace tilewright::search
