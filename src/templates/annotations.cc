#include "src/templates/annotations.h"

#include <algorithm>
#include <utility>

namespace tilewright {
namespace {

constexpr std::string_view kVectorWord = "vec", kUnrollWord = "unroll";

}  // namespace

Knob AnnotateKnob(std::string name, const std::vector<std::string>& words, int axes) {
  std::vector<std::vector<std::string>> all = {{}};
  for (int axis = 0; axis < axes; ++axis) {
    std::vector<std::vector<std::string>> longer;
    for (const std::vector<std::string>& assignment : all) {
      for (const std::string& word : words) {
        if (word == kVectorWord && std::ranges::count(assignment, word) > 0) continue;
        longer.push_back(assignment);
        longer.back().push_back(word);
      }
    }
    all = std::move(longer);
  }
  std::vector<KnobValue> values;
  for (std::vector<std::string>& assignment : all) {
    values.emplace_back().value = std::move(assignment);
  }
  return Knob::Candidates(std::move(name), KnobKind::kAnnotate, std::move(values));
}

std::vector<AnnotatedLoop> Annotated(const std::array<LoopId, 3>& loops, const Config& config,
                                     const std::array<const char*, 3>& tiles, const char* knob) {
  const auto& words = config.Words(knob);
  std::vector<AnnotatedLoop> tile;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    tile.push_back({loops[i], config.Factors(tiles[i]).back(), words[i]});
  }
  return tile;
}

Status CheckAnnotated(const Config& config, const std::array<const char*, 3>& tiles,
                      const char* knob, std::int64_t max_unroll, bool checks_vectors) {
  const auto& words = config.Words(knob);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const std::int64_t extent = config.Factors(tiles[i]).back();
    const std::string loop = std::string(tiles[i]) + ": " + std::to_string(extent);
    if (words[i] == kUnrollWord && extent > max_unroll) {
      return InvalidArgument(loop + " unrolled iterations, AutoTVM unrolls at most " +
                             std::to_string(max_unroll));
    }
    if (checks_vectors && words[i] == kVectorWord &&
        std::ranges::count(kVectorLengths, extent) == 0) {
      return InvalidArgument(loop + " elements of a vector, expected 1, 2, 4, 8 or 16");
    }
  }
  return {};
}

std::vector<LoopId> TileOrder(const std::vector<AnnotatedLoop>& tile) {
  std::vector<LoopId> order;
  for (const bool vector : {false, true}) {
    for (const AnnotatedLoop& each : tile) {
      if ((each.word == kVectorWord) == vector) order.push_back(each.loop);
    }
  }
  return order;
}

void AnnotateTile(Schedule& s, StageId stage, const std::vector<AnnotatedLoop>& tile,
                  std::int64_t max_unroll) {
  for (const AnnotatedLoop& each : tile) {
    if (each.extent == 1) continue;
    if (each.word == kVectorWord) {
      s.Vectorize(stage, each.loop);
    } else if (each.word == kUnrollWord && each.extent <= max_unroll) {
      s.Unroll(stage, each.loop);
    }
  }
}

void UnrollAnnotated(Schedule& s, StageId stage, const std::vector<LoopId>& loops,
                     const Config& config, const char* knob) {
  const auto& words = config.Words(knob);
  for (std::size_t i = 0; i < loops.size(); ++i) {
    if (words[i] == kUnrollWord) s.Unroll(stage, loops[i]);
  }
}

}  // namespace tilewright
