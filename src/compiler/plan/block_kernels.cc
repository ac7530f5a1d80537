// Dense layers of few rows in a library with an open dimension. A weight is read once for each
// block of entries, so blocks of several entries take hardly longer than one of one entry.

#include "src/compiler/plan/block_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "src/base/math.h"
#include "src/schedule/lower/lower.h"
#include "src/target/library.h"
#include "src/templates/limits.h"
#include "src/templates/registry.h"

namespace tilewright {
namespace {

constexpr std::int64_t kMaxRows = 8;  // of a block

Workload WithRows(const Workload& workload, std::int64_t rows) {
  Workload more = workload;
  more.data.shape[0] = rows;
  return more;
}

/// Template and layouts of all blocks of a layer.
struct BlockFamily {
  KernelChoice largest;  ///< kernel of the largest block
  Config config;         ///< its config
  KernelChoice one;      ///< kernel of one entry
  const TemplateEntry* entry = nullptr;
};

/// Configs that may belong to the family for this number of rows: the same tile with other rows,
/// and the default config.
std::vector<Config> ConfigsFor(const BlockFamily& family, const Workload& workload,
                               const Target& target) {
  std::vector<Config> configs;
  const auto space = family.entry->define_space(workload, target);
  if (space.ok()) {
    Config same = family.config;
    for (auto& [name, knob] : same.values) {
      auto* factors = std::get_if<std::vector<std::int64_t>>(&knob.value);
      if (factors != nullptr && name == "register_tile") (*factors)[0] = workload.data.shape[0];
    }
    auto located = space->Locate(same);
    if (located.ok()) configs.push_back(*std::move(located));
  }
  auto fallback = family.entry->default_config(workload, target);
  if (fallback.ok()) configs.push_back(*std::move(fallback));
  return configs;
}

Result<KernelChoice> BuildBlock(const BlockFamily& family, const Workload& workload,
                                const Epilogue& epilogue, const Target& target) {
  for (const Config& config : ConfigsFor(family, workload, target)) {
    auto kernel = ApplyTemplate(*family.entry, workload, epilogue, target, config);
    if (!kernel.ok() || !(kernel->layouts == family.largest.layouts)) continue;
    auto program = Lower(kernel->schedule, "kernel", LowerLimitsFor(target));
    if (!program.ok()) continue;
    KernelChoice choice;
    choice.layouts = kernel->layouts;
    choice.program = *std::move(program);
    choice.report = family.largest.report;
    choice.report.config = config.ToString();
    return choice;
  }
  return Unsupported("no config with the weight of the other blocks");
}

/// Builds the kernel of the most rows in the default config of the first template that serves both
/// that many rows and one entry's. chosen: by ChooseKernel.
std::optional<BlockFamily> DefaultFamily(const Workload& workload, const Workload& largest,
                                         const Epilogue& epilogue, const OperatorReport& chosen,
                                         const CompileOptions& options) {
  const Target& target = options.target;
  for (const TemplateEntry* entry : options.templates->For(largest, WithoutLibraries(target))) {
    auto config = entry->default_config(largest, target);
    if (!config.ok()) continue;
    auto kernel = ApplyTemplate(*entry, largest, epilogue, target, *config);
    if (!kernel.ok()) continue;
    BlockFamily family;
    family.entry = entry;
    family.largest.layouts = kernel->layouts;
    OperatorReport& report = family.largest.report;
    report.workload_key = chosen.workload_key;
    report.template_key = entry->key;
    report.config = config->ToString();
    report.answer = records::AnswerLevel::kDefault;
    report.explanation = fmt::format("{}; {} does not serve one entry: default config of {}",
                                     chosen.explanation, chosen.template_key, entry->key);
    family.config = *std::move(config);
    auto one = BuildBlock(family, workload, epilogue, target);
    if (!one.ok()) continue;
    family.one = *std::move(one);
    return family;
  }
  return std::nullopt;
}

/// Returns none if the layer has no blocks.
std::optional<BlockFamily> BlockFamilyOf(const Workload& workload, const Epilogue& epilogue,
                                         bool plain_weight, const CompileOptions& options) {
  const Workload largest = BlockWorkload(workload, options.open->range);
  if (plain_weight || largest == workload) return std::nullopt;
  BlockFamily family;
  auto choice = ChooseKernel(largest, epilogue, plain_weight, nullptr, options);
  if (!choice.ok()) return std::nullopt;
  family.entry = options.templates->Find(choice->report.template_key);
  auto config = Config::Parse(choice->report.config);
  if (family.entry == nullptr || !config.ok()) return std::nullopt;
  family.largest = *std::move(choice);
  family.config = *std::move(config);
  auto one = BuildBlock(family, workload, epilogue, options.target);
  if (!one.ok()) {
    return DefaultFamily(workload, largest, epilogue, family.largest.report, options);
  }
  family.one = *std::move(one);
  return family;
}

/// Relative time of a block: a register tile of few rows waits for its sums.
double BlockCost(const BlockFamily& family, std::int64_t rows) {
  constexpr double kLatency = 4, kProductsPerCycle = 2;
  double vectors = 3;
  if (const KnobValue* tile = family.config.Find("register_tile"); tile != nullptr) {
    const auto* factors = std::get_if<std::vector<std::int64_t>>(&tile->value);
    if (factors != nullptr) vectors = static_cast<double>(factors->back());
  }
  return std::max(kLatency, static_cast<double>(rows) * vectors / kProductsPerCycle);
}

}  // namespace

Workload BlockWorkload(Workload workload, const SizeRange& range) {
  if (workload.op != OpKind::kDense || workload.data.shape.empty()) return workload;
  std::int64_t& rows = workload.data.shape[0];
  if (rows >= 1 && 2 * rows <= kMaxRows) rows *= std::min(kMaxRows / rows, range.most);
  return workload;
}

std::optional<BlockChoice> ChooseBlocks(const Workload& workload, const Epilogue& epilogue,
                                        bool plain_weight, const CompileOptions& options) {
  auto family = BlockFamilyOf(workload, epilogue, plain_weight, options);
  if (!family) return std::nullopt;
  const std::int64_t rows = workload.data.shape[0];
  BlockChoice chosen;
  chosen.blocks.push_back({1, family->one.program, BlockCost(*family, rows)});
  for (std::int64_t entries = 2; entries * rows <= kMaxRows; ++entries) {
    if (entries > options.open->range.most) break;
    auto choice = BuildBlock(*family, WithRows(workload, entries * rows), epilogue, options.target);
    if (!choice.ok()) continue;
    chosen.blocks.push_back(
        {entries, std::move(choice->program), BlockCost(*family, entries * rows)});
  }
  chosen.one = std::move(family->one);
  return chosen;
}

}  // namespace tilewright
