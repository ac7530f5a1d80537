#include "search/strategies/proposer.h"

#include <algorithm>

#include "search/point_set.h"
#include "search/registry.h"
#include "src/base/hash.h"
#include "src/base/json.h"

namespace tilewright::search {
namespace {

constexpr std::size_t kUselessSlots = 4096;
// After this many useless draws in a row, random sampling is too slow to find the remaining points.
constexpr int kUselessDraws = 256;
// Draws near legal points, and the maximum number of changed knobs.
constexpr int kNearDraws = 4096;
// The same and a scan in spaces whose conditions take long to check.
constexpr int kSlowNearDraws = 64;
constexpr std::int64_t kSlowScanLimit = 20'000;
constexpr std::uint64_t kMaxSteps = 6;
// Maximum points of one scan: at 20 us each a scan takes a few seconds.
constexpr std::int64_t kScanLimit = 200'000;

std::size_t RefusedSlot(Point point) { return HashOf(point) % kUselessSlots; }

}  // namespace

Proposer::Proposer(const StrategyContext& context)
    : space_(*context.space),
      analyzer_(*context.analyzer),
      seed_(context.seed),
      first_(context.first),
      refused_(kUselessSlots, Point{-1, 0}) {
  const std::vector<Point> defaults = DefaultPoints(space_);
  first_.insert(first_.end(), defaults.begin(), defaults.end());
}

std::vector<Point> Proposer::Ask(int count) {
  std::vector<Point> out;
  const auto wanted = static_cast<std::size_t>(std::max(0, count));
  for (Point point : first_) {
    if (out.size() < wanted) Take(point, out);
  }
  Random random(Mix64(seed_) ^ Mix64(asks_ + 1));
  ++asks_;
  if (out.size() < wanted) Propose(wanted, random, out);
  return out;
}

void Proposer::Tell(std::span<const Observation> results) {
  for (const Observation& observed : results) history_.Tell(observed);
}

void Proposer::Exclude(std::span<const Point> points) {
  for (Point point : points) history_.Add(point);
}

std::string Proposer::SaveState() const {
  return "{\"filtered\":" + std::to_string(filtered_) + ExtraState() + "}";
}

Status Proposer::ReplayAsk(std::span<const Point> points, std::string_view strategy_state) {
  Result<Json> json = ParseJson(strategy_state);
  if (!json.ok() || !json->is_object() || !json->contains("filtered") ||
      !(*json)["filtered"].is_number_integer()) {
    return Corrupt("search log: strategy state \"" + std::string(strategy_state.substr(0, 80)) +
                   "\", expected an object with \"filtered\"");
  }
  filtered_ = (*json)["filtered"].get<std::int64_t>();
  ++asks_;
  for (Point point : points) history_.Add(point);
  return LoadState(strategy_state);
}

bool Proposer::IsKnownRejected(Point point) const { return refused_[RefusedSlot(point)] == point; }

void Proposer::MarkRejected(Point point) {
  if (IsKnownRejected(point)) return;
  refused_[RefusedSlot(point)] = point;
  ++filtered_;
}

bool Proposer::Take(Point point, std::vector<Point>& out) {
  if (history_.Contains(point) || IsKnownRejected(point)) return false;
  if (!analyzer_.Check(point).ok()) {
    MarkRejected(point);
    return false;
  }
  return TakeLegal(point, out);
}

bool Proposer::TakeLegal(Point point, std::vector<Point>& out) {
  if (!history_.Add(point)) return false;
  out.push_back(point);
  return true;
}

void Proposer::TakeRandom(std::size_t count, Random& random, std::vector<Point>& out) {
  if (exhausted_) return;
  int useless = 0;
  while (out.size() < count && useless < kUselessDraws) {
    useless = Take(SamplePoint(space_, random), out) ? 0 : useless + 1;
  }
  // In a large space with few legal configs a scan finds none, but legal configs are close
  // together.
  if (space_.size() > kScanLimit) TakeNearLegal(count, random, out);
  if (out.size() < count) Scan(count, random, out);
  exhausted_ = out.size() < count && is_slow();
}

bool Proposer::is_slow() const { return space_.legal != nullptr && !space_.legal->counted(); }

void Proposer::TakeNearLegal(std::size_t count, Random& random, std::vector<Point>& out) {
  const int draws = is_slow() ? kSlowNearDraws : kNearDraws;
  for (int i = 0; i < draws && out.size() < count && !history_.entries().empty(); ++i) {
    const auto& entries = history_.entries();
    Point point = entries[random.Below(entries.size())].point;
    for (std::uint64_t steps = 1 + random.Below(kMaxSteps); steps > 0; --steps) {
      point = MutatePoint(space_, point, random);
    }
    Take(point, out);
  }
}

void Proposer::Scan(std::size_t count, Random& random, std::vector<Point>& out) {
  if (space_.legal != nullptr) {
    for (const Point point : space_.legal->List(kScanLimit)) {
      if (out.size() == count) return;
      Take(point, out);
    }
  }
  const std::int64_t limit = is_slow() ? kSlowScanLimit : kScanLimit;
  std::int64_t looked_at = 0;
  for (std::size_t s = 0; s < space_.spaces.size(); ++s) {
    const std::int64_t size = space_.spaces[s].size();
    const auto start = static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(size)));
    for (std::int64_t i = 0; i < size && looked_at < limit; ++i, ++looked_at) {
      if (out.size() == count) return;
      Take({static_cast<int>(s), start < size - i ? start + i : start + i - size}, out);
    }
  }
}

}  // namespace tilewright::search
