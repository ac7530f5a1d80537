#include "search/open/open_search_space.h"

#include <algorithm>
#include <utility>

#include "src/space/open/knobs.h"
#include "src/templates/open/open_task.h"

namespace tilewright::search {
namespace {

// The probability that a mutation is a random point: chains must be able to leave a corner.
constexpr double kJumpShare = 0.05;
constexpr int kMutationTries = 32;

/// Stands for the template that an open space does not have.
const TemplateEntry& OpenTemplate() {
  static const TemplateEntry kEntry = [] {
    TemplateEntry entry{};
    entry.key = "open";
    entry.version = 1;
    entry.device = "llvm";
    return entry;
  }();
  return kEntry;
}

}  // namespace

OpenSearchSpace::OpenSearchSpace(OpenSpace open, std::vector<std::int64_t> listed)
    : open_(std::move(open)), listed_(std::move(listed)) {
  for (const Parameter& parameter : open_.parameters()) {
    space_.ordered.push_back(parameter.ordered);
  }
  space_.templates = {&OpenTemplate()};
  space_.spaces = {KnobsOf(open_)};
  space_.legal = this;
  const OpenConfig standard = open_.Default();
  space_.defaults.emplace();
  if (!standard.empty() && Contains(PointOf(standard))) {
    space_.defaults->push_back(PointOf(standard));
  }
  features_ = std::make_unique<PointFeatures>(space_);
}

std::int64_t OpenSearchSpace::size() const {
  return listed_.empty() ? open_.size() : static_cast<std::int64_t>(listed_.size());
}

std::vector<Point> OpenSearchSpace::List(std::int64_t limit) const {
  std::vector<Point> points;
  if (size() > limit || !counted()) return points;
  for (std::int64_t index : listed_) points.push_back({0, index});
  if (!listed_.empty()) return points;
  for (std::int64_t i = 0; i < open_.size(); ++i) points.push_back(PointOf(open_.At(i)));
  return points;
}

bool OpenSearchSpace::Contains(Point point) const {
  if (point.index < 0 || point.index >= open_.combinations()) return false;
  if (!listed_.empty()) return std::ranges::binary_search(listed_, point.index);
  return open_.Allows(open_.FromIndex(point.index));
}

Point OpenSearchSpace::Sample(Random& random) const {
  if (!listed_.empty()) return {0, listed_[random.Below(listed_.size())]};
  return PointOf(open_.Sample(random));
}

std::vector<Point> OpenSearchSpace::Neighbours(Point point) const {
  std::vector<Point> points;
  for (const OpenConfig& config : open_.Neighbours(open_.FromIndex(point.index))) {
    const Point neighbour = PointOf(config);
    if (listed_.empty() || Contains(neighbour)) points.push_back(neighbour);
  }
  return points;
}

Point OpenSearchSpace::Mutate(Point point, Random& random) const {
  if (random.Uniform() < kJumpShare) return Sample(random);
  const OpenConfig config = open_.FromIndex(point.index);
  for (int i = 0; i < kMutationTries; ++i) {
    const std::size_t p = random.Below(open_.parameters().size());
    const std::int64_t size = open_.parameters()[p].size();
    if (size < 2) continue;
    auto value = static_cast<std::int32_t>(random.Below(static_cast<std::uint64_t>(size - 1)));
    if (value >= config[p]) ++value;
    OpenConfig changed = config;
    changed[p] = value;
    if (!Contains(PointOf(changed)) && listed_.empty()) {
      changed = open_.Repair(config, static_cast<int>(p), value, random);
    }
    if (!changed.empty() && Contains(PointOf(changed))) return PointOf(changed);
  }
  return Sample(random);
}

Status OpenSearchSpace::Check(Point point) const {
  if (Contains(point)) return {};
  const bool in_range = point.index >= 0 && point.index < open_.combinations();
  const std::string condition =
      in_range ? open_.ViolatedCondition(open_.FromIndex(point.index)) : std::string();
  return InvalidArgument(condition.empty() ? "not a config of the space"
                                           : "condition not fulfilled: " + condition);
}

Status OpenSearchSpace::Features(Point point, std::span<float> out) const {
  TW_RETURN_IF_ERROR(Check(point));
  std::vector<float> row;
  features_->AppendTo(row, point);
  std::ranges::fill(out, 0.0F);
  std::copy_n(row.begin(), std::min(row.size(), out.size()), out.begin());
  return {};
}

const OpenTask* OpenTaskOf(const SearchSpace& space) {
  return space.templates.size() == 1 ? space.templates.front()->open : nullptr;
}

void AddLegalPoints(SearchSpace& space) {
  const OpenTask* open = OpenTaskOf(space);
  if (open == nullptr) return;
  const auto points = std::make_shared<const OpenSearchSpace>(open->space);
  space.ordered = points->space().ordered;
  space.legal = points.get();
  space.owned_legal = points;
}

}  // namespace tilewright::search
