// Dense layers of few rows in a library with an open dimension. A weight is read once for each
// block of entries, so blocks of several entries take hardly longer than one of one entry.

#include "src/compiler/plan/block_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "records/devices/device_results.h"
#include "src/base/math.h"
#include "src/compiler/open/block_rule.h"
#include "src/compiler/open/block_tiles.h"
#include "src/graph/open/size_counts.h"
#include "src/schedule/lower/lower.h"
#include "src/target/cpu.h"
#include "src/target/library.h"
#include "src/templates/limits.h"
#include "src/templates/registry.h"

namespace tilewright {
namespace {

constexpr std::int64_t kMaxRows = 8;   // of a block without records
constexpr std::size_t kMaxTuned = 12;  // numbers of rows whose records are read
constexpr std::size_t kMaxOfForm = 2;  // tiles of one packed form and number of rows

Workload WithRows(const Workload& workload, std::int64_t rows) {
  Workload more = workload;
  more.data.shape[0] = rows;
  return more;
}

/// Returns true for dense layers whose entries have few rows.
bool HasBlocks(const Workload& workload) {
  if (workload.op != OpKind::kDense || workload.data.shape.empty()) return false;
  const std::int64_t rows = workload.data.shape[0];
  return rows >= 1 && 2 * rows <= kMaxRows;
}

/// Returns the workload's key with "?" in place of the number of rows.
std::string PatternOf(const Workload& workload) {
  std::string key = workload.Key();
  const std::size_t begin = key.find('[') + 1;
  return key.replace(begin, key.find(',', begin) - begin, "?");
}

/// Tile that may become kernels of blocks.
struct BlockCandidate {
  BlockTile tile;
  KernelLayouts layouts;
  OperatorReport report;           ///< of its record
  std::int64_t measured_rows = 0;  ///< 0: not measured
  double seconds = 0;
};

/// Chooser of the kernels of one layer.
class BlockChooser {
 public:
  BlockChooser(const Workload& workload, const Epilogue& epilogue, const CompileOptions& options)
      : workload_(workload),
        epilogue_(epilogue),
        options_(options),
        target_(options.target),
        rows_(workload.data.shape[0]) {}

  Result<std::optional<BlockChoice>> Choose() {
    TW_RETURN_IF_ERROR(ReadRecords());
    if (candidates_.empty()) TW_RETURN_IF_ERROR(TakeDefault());
    while (!candidates_.empty()) {
      const BlockRule rule = MakeRule();
      BlockChoice choice;
      std::optional<std::size_t> unusable;
      for (std::size_t i = 0; i < rule.tiles.size() && !unusable; ++i) {
        if (!AddKernels(candidates_[rule.tiles[i]], choice)) unusable = rule.tiles[i];
      }
      if (!unusable) {
        choice.choice = rule.choice;
        Report(rule, choice);
        return std::optional(std::move(choice));
      }
      candidates_.erase(candidates_.begin() + static_cast<std::ptrdiff_t>(*unusable));
    }
    return std::optional<BlockChoice>();
  }

  /// See TilesToMeasure.
  Result<std::vector<Candidate>> Unmeasured() {
    TW_RETURN_IF_ERROR(ReadRecords());
    std::vector<Candidate> found;
    for (const Workload& workload : RangeWorkloads(workload_, options_.open->range)) {
      for (const BlockCandidate& candidate : candidates_) {
        if (!Promising(candidate)) continue;
        auto config = ConfigOfRows(candidate.tile, workload, target_);
        if (!config.ok()) continue;
        const auto tile = BlockTileOf(*candidate.tile.entry, *config, target_);
        const auto measured = [&](const BlockCandidate& other) {
          return other.measured_rows == workload.data.shape[0] && other.tile.entry == tile->entry &&
                 other.tile.columns == tile->columns && other.tile.rows == tile->rows;
        };
        Candidate next{{workload, target_},
                       epilogue_,
                       std::string(tile->entry->key),
                       tile->entry->version,
                       *std::move(config)};
        const auto same = [&](const Candidate& other) { return SameKernel(other, next); };
        if (std::ranges::none_of(candidates_, measured) && std::ranges::none_of(found, same)) {
          found.push_back(std::move(next));
        }
      }
    }
    return found;
  }

 private:
  /// Returns true if no other packed form is much faster at the rows of the candidate.
  bool Promising(const BlockCandidate& candidate) const {
    constexpr double kMuch = 1.3;
    return std::ranges::none_of(candidates_, [&](const BlockCandidate& other) {
      return other.measured_rows == candidate.measured_rows &&
             kMuch * other.seconds < candidate.seconds;
    });
  }

  Result<Kernel> KernelOf(const BlockTile& tile, std::int64_t rows) const {
    const Workload block = WithRows(workload_, rows);
    TW_ASSIGN_OR_RETURN(const Config config, ConfigOfRows(tile, block, target_));
    return ApplyTemplate(*tile.entry, block, epilogue_, target_, config);
  }

  /// Adds a tile if it is new and its largest block has a kernel.
  void AddCandidate(const TemplateEntry* entry, const Config& config, const OperatorReport& report,
                    std::int64_t measured_rows, double seconds) {
    if (entry == nullptr) return;
    auto tile = BlockTileOf(*entry, config, target_);
    if (!tile || tile->rows < rows_) return;
    std::size_t alike = 0;
    for (const BlockCandidate& known : candidates_) {
      const bool same_form = known.measured_rows == measured_rows && known.tile.entry == entry &&
                             known.tile.columns == tile->columns;
      if (same_form && known.tile.rows == tile->rows) return;  // which is faster
      if (same_form) ++alike;
    }
    if (alike >= kMaxOfForm) return;
    auto kernel = KernelOf(*tile, tile->rows - tile->rows % rows_);
    if (!kernel.ok()) return;
    BlockCandidate candidate{*std::move(tile), kernel->layouts, report, measured_rows, seconds};
    candidate.report.template_key = entry->key;
    candidate.report.config = config.ToString();
    candidates_.push_back(std::move(candidate));
  }

  Status ReadRecords() {
    if (options_.catalog == nullptr) return {};
    TW_ASSIGN_OR_RETURN(auto sizes, records::FindSizes(*options_.catalog, PatternOf(workload_)));
    std::set<std::int64_t> tuned;
    for (const WeighedSize& size : SizesToTune(options_.open->range))
      tuned.insert(size.size * rows_);
    std::map<std::int64_t, MeasuredConfigs> found, others;  // by rows
    for (const auto& size : sizes) {
      if (size.size < 1 || size.workload.op != OpKind::kDense) continue;
      TW_ASSIGN_OR_RETURN(auto measured, MeasuredKernels(size.workload, epilogue_, options_));
      if (measured.options.empty()) continue;
      (tuned.contains(size.size) ? found : others).emplace(size.size, std::move(measured));
    }
    // Of many others, some that are evenly spread.
    const std::size_t step = CeilDiv(std::max<std::size_t>(1, others.size()), kMaxTuned);
    std::size_t number = 0;
    for (auto& [rows, measured] : others) {
      if (number++ % step == 0) found.emplace(rows, std::move(measured));
    }
    for (const auto& [rows, measured] : found) {
      for (const KernelOption& option : measured.options) {
        AddCandidate(option.entry, option.config, measured.report, rows, option.seconds);
      }
    }
    return {};
  }

  /// Takes the tile of the config for a few rows: of a near match, a model or the default; else the
  /// default tile of the first template that has one.
  Status TakeDefault() {
    const std::int64_t entries = std::min(kMaxRows / rows_, options_.open->range.most);
    const Workload few = WithRows(workload_, rows_ * std::max<std::int64_t>(1, entries));
    auto chosen = ChooseKernel(few, epilogue_, /*plain_weight=*/false, nullptr, options_);
    if (!chosen.ok()) return {};
    OperatorReport& report = chosen->report;
    const auto config = Config::Parse(report.config);
    if (config.ok()) {
      AddCandidate(options_.templates->Find(report.template_key), *config, report, 0, 0);
    }
    if (!candidates_.empty() && UsableCandidate()) return {};
    candidates_.clear();
    for (const TemplateEntry* entry : options_.templates->For(few, WithoutLibraries(target_))) {
      auto other = entry->default_config(few, target_);
      if (!other.ok()) continue;
      OperatorReport reported = report;
      reported.answer = records::AnswerLevel::kDefault;
      reported.tuned = false;
      reported.explanation = fmt::format(
          "{}; {} has no kernels for blocks of any number of entries: default config "
          "of {}",
          report.explanation, report.template_key, entry->key);
      AddCandidate(entry, *other, reported, 0, 0);
      if (!candidates_.empty() && UsableCandidate()) return {};
      candidates_.clear();
    }
    return {};
  }

  bool UsableCandidate() const {
    BlockChoice choice;
    return AddKernels(candidates_.front(), choice);
  }

  BlockRule MakeRule() const {
    const auto features = FeaturesOf(target_);
    const double lanes = features.ok() ? features->float_lanes() : 4;
    std::vector<TileTime> times;
    std::vector<const KernelLayouts*> forms;
    std::vector<std::pair<int, const TemplateEntry*>> families;
    for (const BlockCandidate& candidate : candidates_) {
      TileTime time;
      const auto known = std::ranges::find_if(
          forms, [&](const KernelLayouts* form) { return *form == candidate.layouts; });
      time.weight = static_cast<int>(known - forms.begin());
      if (known == forms.end()) forms.push_back(&candidate.layouts);
      const std::pair family(time.weight, candidate.tile.entry);
      time.family = static_cast<int>(std::ranges::find(families, family) - families.begin());
      if (time.family == std::ssize(families)) families.push_back(family);
      time.rows = candidate.tile.rows;
      time.vectors = static_cast<double>(candidate.tile.columns) / lanes;
      time.measured_rows = std::max<std::int64_t>(1, candidate.measured_rows);
      time.seconds = candidate.measured_rows > 0 ? candidate.seconds : 1;
      times.push_back(time);
    }
    return ChooseTiles(times, options_.open->range, rows_);
  }

  /// Adds the kernels of a tile for blocks of one entry to as many as it has rows for. Returns
  /// false if it has none for one entry, or if they need another weight.
  bool AddKernels(const BlockCandidate& candidate, BlockChoice& choice) const {
    BlockKernel block;
    for (std::int64_t rows = rows_; rows <= candidate.tile.rows; rows += rows_) {
      auto kernel = KernelOf(candidate.tile, rows);
      if (!kernel.ok() || !(kernel->layouts == candidate.layouts)) break;
      auto program = Lower(kernel->schedule, "kernel", LowerLimitsFor(target_));
      if (!program.ok()) break;
      block.bodies.push_back(*std::move(program));
    }
    if (block.bodies.empty()) return false;
    if (choice.blocks.empty()) {
      choice.one.layouts = candidate.layouts;
      choice.one.program = block.bodies.front();
      choice.one.report = candidate.report;
    }
    choice.blocks.push_back(std::move(block));
    return true;
  }

  /// Describes the rule in the report of the layer.
  void Report(const BlockRule& rule, BlockChoice& choice) const {
    const SizeRange& range = options_.open->range;
    for (std::size_t i = 0; i < rule.tiles.size(); ++i) {
      const BlockCandidate& candidate = candidates_[rule.tiles[i]];
      BlockReport block;
      block.template_key = candidate.report.template_key;
      block.config = candidate.report.config;
      block.measured_rows = candidate.measured_rows;
      block.seconds = candidate.seconds;
      block.entries = std::ssize(choice.blocks[i].bodies);
      block.gain = rule.gains[i];
      for (std::int64_t size = range.least; size <= range.most; ++size) {
        if (rule.choice[static_cast<std::size_t>(size) - 1] != i) continue;
        auto& intervals = block.sizes;
        if (!intervals.empty() && intervals.back().second == size - 1) {
          intervals.back().second = size;
        } else {
          intervals.emplace_back(size, size);
        }
      }
      choice.one.report.blocks.push_back(std::move(block));
    }
  }

  const Workload& workload_;
  const Epilogue& epilogue_;
  const CompileOptions& options_;
  const Target& target_;
  const std::int64_t rows_;  // of one entry
  std::vector<BlockCandidate> candidates_;
};

}  // namespace

std::vector<Workload> RangeWorkloads(const Workload& workload, const SizeRange& range) {
  if (!HasBlocks(workload)) return {workload};
  std::vector<Workload> all;
  for (const WeighedSize& size : SizesToTune(range)) {
    all.push_back(WithRows(workload, workload.data.shape[0] * size.size));
  }
  return all;
}

Result<std::vector<Candidate>> TilesToMeasure(const Workload& workload, const Epilogue& epilogue,
                                              const CompileOptions& options) {
  if (!HasBlocks(workload) || options.open->range.most == 1) return std::vector<Candidate>();
  return BlockChooser(workload, epilogue, options).Unmeasured();
}

Result<std::optional<BlockChoice>> ChooseBlocks(const Workload& workload, const Epilogue& epilogue,
                                                bool plain_weight, const CompileOptions& options) {
  if (plain_weight || !HasBlocks(workload) || options.open->range.most == 1) {
    return std::optional<BlockChoice>();
  }
  return BlockChooser(workload, epilogue, options).Choose();
}

}  // namespace tilewright
