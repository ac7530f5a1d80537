#include "cost_model/feature_sink.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "src/base/hash.h"
#include "src/base/status.h"

namespace tilewright::cost_model {
namespace {

constexpr int kLoops = 8;
constexpr int kKnobs = 10;
constexpr int kKnobParts = 3;

double KindCode(LoopKind kind) {
  switch (kind) {
    case LoopKind::kSerial:
      return 1;
    case LoopKind::kUnrolled:
      return 2;
    case LoopKind::kVectorized:
      return 3;
    case LoopKind::kParallel:
      return 4;
    case LoopKind::kVirtualThread:
      return 5;
    case LoopKind::kBlockX:
    case LoopKind::kBlockY:
    case LoopKind::kBlockZ:
      return 6;
    case LoopKind::kThreadX:
    case LoopKind::kThreadY:
    case LoopKind::kThreadZ:
      return 7;
  }
  return 0;
}

/// Hashes a word to a number below 251; the magnitude has no meaning.
double WordCode(std::string_view word) { return static_cast<double>(Fnv1a64(word) % 251); }

}  // namespace

double Log2Plus1(double x) { return std::log2(1.0 + std::max(0.0, x)); }

void FeatureSink::Put(const char* name, double value) {
  if (names_ != nullptr) {
    names_->push_back(name);
    return;
  }
  TW_CHECK(next_ < out_.size(), "more features than FeatureCount()");
  out_[next_++] = static_cast<float>(value);
}

void FeatureSink::Put(const char* group, int index, const char* name, double value) {
  if (names_ != nullptr) {
    std::string full = group;
    if (index >= 0) full += std::to_string(index);
    names_->push_back(full + "." + name);
    return;
  }
  Put(name, value);
}

void PutLoops(const SummaryStage& stage, FeatureSink& sink) {
  for (int i = 0; i < kLoops; ++i) {
    const auto position = static_cast<std::ptrdiff_t>(stage.loops.size()) - 1 - i;
    const SummaryLoop* loop =
        position >= 0 ? &stage.loops[static_cast<std::size_t>(position)] : nullptr;
    sink.Put("loop", i, "extent",
             loop != nullptr ? Log2Plus1(static_cast<double>(loop->extent)) : 0);
    sink.Put("loop", i, "kind", loop != nullptr ? KindCode(loop->kind) : 0);
    sink.Put("loop", i, "reduces", loop != nullptr && loop->reduction ? 1 : 0);
  }
}

void PutKnobs(const Config& config, FeatureSink& sink) {
  static constexpr std::array<const char*, kKnobParts> kNames = {"inner", "middle", "outer"};
  std::uint64_t signature = Fnv1a64("");
  for (const auto& [name, value] : config.values) signature = Fnv1a64(name, signature);
  for (int i = 0; i < kKnobs; ++i) {
    std::array<double, kKnobParts> parts{};
    if (static_cast<std::size_t>(i) < config.values.size()) {
      const auto& variant = config.values[static_cast<std::size_t>(i)].second.value;
      if (const auto* factors = std::get_if<std::vector<std::int64_t>>(&variant)) {
        for (std::size_t p = 0; p < parts.size() && p < factors->size(); ++p) {
          parts[p] = Log2Plus1(static_cast<double>((*factors)[factors->size() - 1 - p]));
        }
      } else if (const auto* words = std::get_if<std::vector<std::string>>(&variant)) {
        for (std::size_t p = 0; p < parts.size() && p < words->size(); ++p) {
          parts[p] = WordCode((*words)[words->size() - 1 - p]);
        }
      } else if (const auto* number = std::get_if<std::int64_t>(&variant)) {
        parts[0] = std::copysign(Log2Plus1(std::abs(static_cast<double>(*number))),
                                 static_cast<double>(*number));
      } else if (const auto* flag = std::get_if<bool>(&variant)) {
        parts[0] = *flag ? 1 : 0;
      } else if (const auto* word = std::get_if<std::string>(&variant)) {
        parts[0] = WordCode(*word);
      }
    }
    for (std::size_t p = 0; p < parts.size(); ++p) sink.Put("knob", i, kNames[p], parts[p]);
  }
  sink.Put("knobs.count", static_cast<double>(config.values.size()));
  sink.Put("knobs.signature", static_cast<double>(signature % 4093));
}

std::vector<double> ExecutionsOf(const SummaryStage& stage) {
  std::vector<double> executions = {1};
  for (const SummaryLoop& loop : stage.loops) {
    executions.push_back(executions.back() * static_cast<double>(loop.extent));
  }
  return executions;
}

}  // namespace tilewright::cost_model
