// Choice of a workload's kernel: the best record, another one that saves layout changes, a config
// of the cost model, or the default. The kernel must build with the whole epilogue, into loops or
// into a stream of instructions, as its template does.

#include "src/compiler/plan/choose_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "records/front/front.h"
#include "src/compiler/plan/choose_vta_kernel.h"
#include "src/schedule/lower/lower.h"
#include "src/target/device.h"
#include "src/target/library.h"
#include "src/templates/limits.h"
#include "src/templates/registry.h"

namespace tilewright {
namespace {

/// Chooser of the kernel of one workload.
class KernelChooser {
 public:
  KernelChooser(const Workload& workload, const Epilogue& epilogue, bool plain_weight,
                const LayoutSeconds& layout_seconds, const CompileOptions& options,
                const KernelOption* option = nullptr)
      : workload_(workload),
        epilogue_(epilogue),
        plain_weight_(plain_weight),
        layout_seconds_(layout_seconds),
        options_(options),
        option_(option),
        target_(options.target),
        device_(DeviceTraitsOf(options.target)) {}

  Result<KernelChoice> Choose() {
    TW_ASSIGN_OR_RETURN(auto asked, Ask());
    const auto winner = asked.answer;
    if (IsMeasuredHere(asked)) {
      if (option_ != nullptr && option_->record != nullptr) {
        TakeOption(asked.answer);
      } else if (option_ == nullptr && layout_seconds_ != nullptr) {
        TW_RETURN_IF_ERROR(WeighLayouts(asked));
      }
    }
    std::optional<Result<KernelChoice>> from_store;
    if (asked.candidate() != nullptr) from_store = BuildAsked(*asked.candidate(), asked.level);
    const bool replaced = winner.record && winner.record->id != asked.answer.record->id;
    if (replaced && !from_store->ok()) {
      asked.answer = winner;
      asked.answer.explanation += fmt::format(
          "; another config, which saves changes of layout, is not"
          " usable here: {}",
          from_store->status().message());
      from_store = BuildAsked(*asked.candidate(), asked.level);
    }
    OperatorReport report = ReportOf(asked);
    if (from_store.has_value()) {
      if (from_store->ok()) {
        AddRecord(asked, report);
        return With(std::move(report), **std::move(from_store));
      }
      report.answer = records::AnswerLevel::kMiss;
      report.cause = {records::MissReason::kNotBuildable, from_store->status().message()};
      report.explanation += "; not usable here: " + from_store->status().message();
      auto built = BuildNeighbor(*asked.candidate());
      if (built.ok()) {
        report.explanation += "; the best of the configs next to it";
        return With(std::move(report), *std::move(built));
      }
    }
    TW_ASSIGN_OR_RETURN(auto built, BuildDefault());
    report.explanation += "; default config of " + built.report.template_key;
    return With(std::move(report), std::move(built));
  }

  /// See MeasuredKernels.
  Result<MeasuredConfigs> MeasuredOnly() {
    MeasuredConfigs found;
    TW_ASSIGN_OR_RETURN(const auto asked, Ask());
    if (asked.level != records::AnswerLevel::kHit || !asked.answer.record) return found;
    const records::Record& hit = *asked.answer.record;
    if (hit.trial.metric != Trial().metric) return found;
    found.report = ReportOf(asked);
    AddRecord(asked, found.report);
    std::vector<Measured> all = {{std::make_shared<const records::Record>(hit), hit.trial.value}};
    if (IsMeasuredHere(asked)) {
      TW_ASSIGN_OR_RETURN(auto others, FastestLike(asked, std::numeric_limits<std::size_t>::max()));
      for (Measured& one : others) {
        if (one.record->id != hit.id) all.push_back(std::move(one));
      }
    }
    for (Measured& one : all) {
      KernelOption option;
      option.entry = options_.templates->Find(one.record->trial.candidate.template_key);
      if (option.entry == nullptr) continue;
      option.config = one.record->trial.candidate.config;
      option.seconds = one.seconds;
      option.record = std::move(one.record);
      found.options.push_back(std::move(option));
    }
    return found;
  }

  /// See KernelOptions.
  Result<std::vector<KernelOption>> Options() {
    TW_ASSIGN_OR_RETURN(auto asked, Ask());
    std::vector<KernelOption> found;
    if (const Candidate* candidate = asked.candidate()) {
      const TemplateEntry* entry = options_.templates->Find(candidate->template_key);
      const bool usable = entry != nullptr && entry->version == candidate->template_version &&
                          AddOption(*entry, candidate->config, found).ok();
      if (usable && IsMeasuredHere(asked)) TW_RETURN_IF_ERROR(AddMeasured(asked, found));
      // A model's config is a guess: in other layouts the default may cost the network less.
      if (usable && asked.level != records::AnswerLevel::kModel) return found;
    }
    bool has_default = false;
    std::string reasons;
    for (const TemplateEntry* entry :
         options_.templates->For(workload_, WithoutLibraries(target_))) {
      if (!has_default) {
        auto config = DefaultConfig(*entry);
        const Status added = config.ok() ? AddOption(*entry, *config, found) : config.status();
        has_default = added.ok();
        if (!added.ok()) reasons += "; " + std::string(entry->key) + ": " + added.message();
      }
      if (entry->layout_configs == nullptr || options_.autotvm.has_value()) continue;
      auto configs = entry->layout_configs(workload_, target_);
      if (!configs.ok()) continue;
      for (const Config& config : *configs) {
        // A config that does not build with this epilogue is no option.
        [[maybe_unused]] const Status added = AddOption(*entry, config, found);
      }
    }
    if (found.empty()) return Unsupported(workload_.Key() + ": no template serves it" + reasons);
    return found;
  }

 private:
  /// Adds a kernel unless one with its layouts exists. Errors: the reason why it cannot be used
  /// here.
  Status AddOption(const TemplateEntry& entry, const Config& config,
                   std::vector<KernelOption>& found) const {
    if (std::string reason = entry.refuses(workload_, target_); !reason.empty()) {
      return Unsupported(reason);
    }
    TW_ASSIGN_OR_RETURN(auto kernel, ApplyTemplate(entry, workload_, epilogue_, target_, config));
    const KernelLayouts& layouts = kernel.layouts;
    if (plain_weight_ && NeedsConstantWeight(layouts)) {
      return Unsupported("the weight is computed at run time");
    }
    const bool known = std::ranges::any_of(
        found, [&](const KernelOption& other) { return SameLayouts(other.layouts, layouts); });
    if (!known) found.push_back({&entry, config, layouts, nullptr, 0});
    return Status();
  }

  static bool NeedsConstantWeight(const KernelLayouts& layouts) {
    return layouts.shift_data || layouts.multiply_dtype || layouts.winograd_tile > 0;
  }

  /// Returns what the answer says, without its record.
  OperatorReport ReportOf(const records::CatalogAnswer& asked) const {
    OperatorReport report;
    report.workload_key = workload_.Key();
    report.answer = asked.level;
    report.expected_slowdown = asked.answer.expected_slowdown;
    report.explanation = asked.answer.explanation;
    report.skipped_record = asked.answer.skipped_record;
    report.cause = asked.answer.cause;
    return report;
  }

  /// Adds what the record says that was used.
  void AddRecord(const records::CatalogAnswer& asked, OperatorReport& report) const {
    report.tuned = asked.answer.record.has_value() || asked.imported() != nullptr;
    report.imported = asked.imported() != nullptr;
    if (report.imported) report.imported_target = asked.imported()->target;
    if (options_.prefer && asked.level == records::AnswerLevel::kHit && report.tuned) {
      report.limited = asked.answer.record->trial.ValueOf(options_.prefer->limited);
    }
    if (asked.answer.record && asked.answer.record->trial.verified) {
      report.max_abs_error = asked.answer.record->trial.max_abs_error;
    }
    report.source = report.tuned ? asked.source : std::string();
  }

  /// Returns the kernel with the reason for it.
  static KernelChoice With(OperatorReport report, KernelChoice built) {
    report.template_key = std::move(built.report.template_key);
    report.config = std::move(built.report.config);
    built.report = std::move(report);
    return built;
  }

  // Building. These reports contain template and config only.

  /// Errors: the reason why the config cannot be used here.
  Result<KernelChoice> Build(const TemplateEntry& entry, const Config& config) const {
    KernelChoice choice;
    choice.report.template_key = entry.key;
    choice.report.config = config.ToString();
    if (entry.build_stream != nullptr) {
      TW_ASSIGN_OR_RETURN(choice.stream,
                          BuildVtaStream(entry, workload_, epilogue_, target_, config));
      return choice;
    }
    TW_ASSIGN_OR_RETURN(auto kernel, ApplyTemplate(entry, workload_, epilogue_, target_, config));
    choice.layouts = kernel.layouts;
    if (plain_weight_ && NeedsConstantWeight(choice.layouts)) {
      return Unsupported("the weight is computed at run time");
    }
    TW_ASSIGN_OR_RETURN(auto program, Lower(kernel.schedule, "kernel", LowerLimitsFor(target_)));
    for (const LibraryCall* call : LibraryCallsOf(program.body)) {
      if (plain_weight_ && call->shape.constant_weight != 0) {
        return Unsupported("the weight is computed at run time, and the library keeps it");
      }
    }
    choice.program = std::move(program);
    return choice;
  }

  /// Builds the kernel of a candidate.
  /// Errors: the reason why it cannot be used here.
  Result<KernelChoice> KernelOf(const Candidate& candidate) const {
    const TemplateEntry* entry = options_.templates->Find(candidate.template_key);
    if (entry == nullptr || entry->version != candidate.template_version) {
      return NotFound(TemplateUnavailableReason(*options_.templates, candidate.template_key,
                                                candidate.template_version));
    }
    if (std::string reason = entry->refuses(workload_, target_); !reason.empty()) {
      return Unsupported(reason);
    }
    return Build(*entry, candidate.config);
  }

  Result<KernelChoice> BuildAsked(const Candidate& candidate, records::AnswerLevel level) const {
    auto built = KernelOf(candidate);
    if (!built.ok() || level != records::AnswerLevel::kModel) return built;
    // A model's estimate is a guess; a layout change certainly takes time.
    if (option_ != nullptr && !SameLayouts(option_->layouts, built->layouts)) {
      return Unsupported("other layouts cost the network less");
    }
    if (option_ == nullptr && DefaultSavesLayouts(built->layouts)) {
      return Unsupported("it needs changes of layout that the default config does without");
    }
    return built;
  }

  /// The cost of a stream is known without measuring.
  Result<KernelChoice> BuildNeighbor(const Candidate& candidate) const {
    const TemplateEntry* entry = options_.templates->Find(candidate.template_key);
    if (entry == nullptr || device_.loops) return Unsupported("its costs are not known");
    return BestNeighbor(*entry, candidate.config, workload_, target_,
                        [&](const Config& config) { return Build(*entry, config); });
  }

  /// Returns the config of a template without a record. For operators without products, AutoTVM's
  /// fallback is the first config.
  Result<Config> DefaultConfig(const TemplateEntry& entry) const {
    if (!options_.autotvm.has_value() || IsAnchor(workload_.op)) {
      return entry.default_config(workload_, target_);
    }
    TW_ASSIGN_OR_RETURN(auto space, entry.define_space(workload_, target_));
    return space.At(0);
  }

  Result<KernelChoice> BuildDefault() const {
    std::string reasons;
    if (option_ != nullptr) {
      auto built = Build(*option_->entry, option_->config);
      if (built.ok()) return built;
      reasons = std::string(option_->entry->key) + ": " + built.status().message();
    }
    for (const TemplateEntry* entry :
         options_.templates->For(workload_, WithoutLibraries(target_))) {
      auto config = DefaultConfig(*entry);
      auto built = config.ok() ? Build(*entry, *config) : Result<KernelChoice>(config.status());
      if (built.ok()) return built;
      reasons +=
          (reasons.empty() ? "" : "; ") + std::string(entry->key) + ": " + built.status().message();
    }
    if (device_.launches_grids) return BuildFixed();
    if (device_.has_host_fallback) return Unsupported(reasons);
    return Unsupported(workload_.Key() + ": no template serves it" +
                       (reasons.empty() ? "" : " (" + reasons + ")"));
  }

  /// Builds the fixed schedule of an anchor that no template for GPUs serves: correct and slow.
  Result<KernelChoice> BuildFixed() const {
    TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(workload_, epilogue_));
    TW_ASSIGN_OR_RETURN(auto schedule, FixedSchedule(std::move(compute), target_));
    TW_ASSIGN_OR_RETURN(auto program, Lower(schedule, "kernel"));
    KernelChoice choice;
    choice.program = std::move(program);
    choice.report.template_key = "fixed";
    return choice;
  }

  /// Returns true if the default config needs fewer layout changes than a kernel with these
  /// layouts.
  bool DefaultSavesLayouts(const KernelLayouts& layouts) const {
    if (layout_seconds_ == nullptr) return false;
    const auto built = BuildDefault();
    return built.ok() && layout_seconds_(built->layouts) < layout_seconds_(layouts);
  }

  // Queries of the stores.

  /// Returns the reason why a candidate that calls a library is refused; empty if it is not.
  std::string RefusesCall(const Candidate& candidate) const {
    if (device_.launches_grids) return "compiled models for a GPU call no libraries";
    const auto built = KernelOf(candidate);
    return built.ok() ? std::string() : built.status().message();
  }

  /// Returns the best available answer, down to a cost model's choice. The default config is left
  /// to BuildDefault, which takes the first one that builds with the epilogue.
  Result<records::CatalogAnswer> Ask() const {
    records::CatalogAnswer none;
    if (options_.catalog == nullptr) {
      none.answer.explanation = "no record store was given";
      none.answer.cause.reason = records::MissReason::kNoSources;
      return none;
    }
    if (const auto refused = options_.refused_imports.find(workload_.Key());
        refused != options_.refused_imports.end()) {
      none.answer.explanation = "the imported record's config was tried here: " + refused->second;
      none.answer.cause = {records::MissReason::kNotBuildable, refused->second};
      return none;
    }
    records::LookupRequest request;
    request.templates = options_.templates;
    request.workload = &workload_;
    request.target = &target_;
    request.device = &options_.device;
    request.accept = records::DownTo(std::min(options_.accept, records::AnswerLevel::kModel));
    request.prefer = options_.prefer.has_value() ? &*options_.prefer : nullptr;
    request.autotvm = options_.autotvm.has_value() ? &*options_.autotvm : nullptr;
    request.library_call_filter = [this](const Candidate& candidate) {
      return RefusesCall(candidate);
    };
    if (request.autotvm != nullptr && device_.has_host_fallback) {
      return QueryBoardRecords(std::move(request), *options_.catalog);
    }
    return options_.catalog->Query(request);
  }

  /// Returns true if a trial may be served instead of `best`.
  bool ServedLike(const Trial& trial, const Trial& best) const {
    const Candidate& candidate = trial.candidate;
    const KernelLibrary* library = LibraryOfTemplate(candidate.template_key);
    if (library != nullptr &&
        (!UnusableLibraryReason(*library, target_).empty() || !RefusesCall(candidate).empty())) {
      return false;
    }
    const TemplateEntry* entry = options_.templates->Find(candidate.template_key);
    // The rest of the fingerprint may be the version of a library that one of both calls.
    const DeviceFingerprint &device = trial.device, &best_device = best.device;
    const bool same_device = device.kind == best_device.kind && device.model == best_device.model &&
                             device.isa == best_device.isa;
    const bool plain = std::isfinite(trial.value) && trial.value > 0;
    return trial.outcome == Outcome::kOk && trial.verified && plain &&
           trial.metric == best.metric && same_device &&
           trial.codegen_version == best.codegen_version && entry != nullptr &&
           entry->version == candidate.template_version;
  }

  /// Returns true if other trials of the workload may replace the answer.
  bool IsMeasuredHere(const records::CatalogAnswer& asked) const {
    return asked.level == records::AnswerLevel::kHit && asked.answer.record.has_value() &&
           asked.answer.record->trial.metric == Trial().metric && asked.store != nullptr &&
           !options_.prefer;
  }

  /// Config that may replace the answer's.
  struct Measured {
    std::shared_ptr<const records::Record> record;
    double seconds = 0;  ///< of a call, as compared
  };

  /// Returns the fastest configs that may replace the answer's, in order. A seemingly faster one
  /// was measured at another time than the answer, which a race may have found.
  Result<std::vector<Measured>> FastestLike(const records::CatalogAnswer& asked,
                                            std::size_t most = 256) const {
    constexpr std::size_t kMax = 256;        // read at once
    constexpr std::int64_t kMaxSeen = 4096;  // the rest are of other devices or versions
    const Trial& best = asked.answer.record->trial;
    records::TrialFilter filter;
    filter.workload_key = workload_.Key();
    filter.target = best.candidate.task.target.ToString();
    filter.served = true;
    filter.valid_for = options_.templates;
    filter.limit = kMax;
    std::size_t refused = 0;
    filter.refused = [&refused](const std::string&) { ++refused; };
    std::vector<Measured> found;
    std::map<std::pair<std::string, std::int64_t>, std::size_t> known;
    for (bool more = true; more && found.size() < most && filter.skip < kMaxSeen;
         filter.skip += filter.limit) {
      refused = 0;
      TW_ASSIGN_OR_RETURN(auto trials, asked.store->Trials(filter));
      more = trials.size() + refused == kMax;
      for (records::Record& record : trials) {
        const Candidate& candidate = record.trial.candidate;
        if (!ServedLike(record.trial, best)) continue;
        const std::pair config(candidate.template_key, candidate.config.index);
        const double seconds = std::max(record.trial.value, best.value);
        Measured one{std::make_shared<const records::Record>(std::move(record)), seconds};
        const auto [place, added] = known.emplace(config, found.size());
        if (added) {
          found.push_back(std::move(one));
        } else if (records::Supersedes(one.record->trial, found[place->second].record->trial)) {
          found[place->second] = std::move(one);  // of another fingerprint or epilogue
        }
      }
    }
    std::ranges::stable_sort(found, {}, &Measured::seconds);
    return found;
  }

  /// Gives the answer's record to the first option, and adds the fastest kernel of each other
  /// layout.
  Status AddMeasured(const records::CatalogAnswer& asked, std::vector<KernelOption>& found) const {
    // Limit of configs, because each needs a schedule.
    constexpr std::size_t kMaxTried = 24;
    found.front().record = std::make_shared<const records::Record>(*asked.answer.record);
    found.front().seconds = asked.answer.record->trial.value;
    TW_ASSIGN_OR_RETURN(auto measured, FastestLike(asked));
    std::map<std::string, std::size_t> tried;
    for (Measured& one : measured) {
      const Candidate& candidate = one.record->trial.candidate;
      if (tried[candidate.template_key]++ >= kMaxTried) continue;
      const TemplateEntry* entry = options_.templates->Find(candidate.template_key);
      const std::size_t known = found.size();
      // A config that does not build with this epilogue is no option.
      if (entry == nullptr || !AddOption(*entry, candidate.config, found).ok()) continue;
      if (found.size() == known) continue;
      found.back().record = std::move(one.record);
      found.back().seconds = one.seconds;
    }
    return {};
  }

  static void Replace(records::Answer& answer, const records::Record& record, double seconds) {
    if (record.id == answer.record->id) return;
    answer.explanation +=
        fmt::format("; another config, {:.1f} % slower, because it saves changes of layout",
                    100 * (seconds / answer.record->trial.value - 1));
    answer.record = record;
  }

  /// Replaces a hit by the option, which has other layouts. A hit with the same layouts is newer.
  void TakeOption(records::Answer& answer) const {
    const Candidate& hit = answer.record->trial.candidate;
    const TemplateEntry* entry = options_.templates->Find(hit.template_key);
    if (entry != nullptr) {
      auto kernel = ApplyTemplate(*entry, workload_, epilogue_, target_, hit.config);
      if (kernel.ok() && SameLayouts(option_->layouts, kernel->layouts)) return;
    }
    Replace(answer, *option_->record, option_->seconds);
  }

  /// Returns the seconds of a config and of the layout changes around its kernel.
  Result<double> SecondsWithLayouts(const Trial& trial, double seconds) const {
    const TemplateEntry* entry = options_.templates->Find(trial.candidate.template_key);
    if (entry == nullptr) return NotFound("no such template");
    TW_ASSIGN_OR_RETURN(
        auto kernel, ApplyTemplate(*entry, workload_, epilogue_, target_, trial.candidate.config));
    return seconds + layout_seconds_(kernel.layouts);
  }

  /// Replaces a hit by another config of the workload if its time and layout changes together take
  /// less.
  Status WeighLayouts(records::CatalogAnswer& asked) const {
    const Trial& best = asked.answer.record->trial;
    auto least = SecondsWithLayouts(best, best.value);
    if (!least.ok() || *least <= best.value) return Status();
    TW_ASSIGN_OR_RETURN(auto measured, FastestLike(asked));
    const Measured* chosen = nullptr;
    constexpr std::size_t kMaxTried = 64;  // each needs a schedule
    for (std::size_t i = 0; i < std::min(measured.size(), kMaxTried); ++i) {
      const Measured& one = measured[i];
      if (one.seconds >= *least) break;
      auto seconds = SecondsWithLayouts(one.record->trial, one.seconds);
      if (!seconds.ok() || *seconds >= *least) continue;
      least = seconds;
      chosen = &one;
    }
    if (chosen != nullptr) Replace(asked.answer, *chosen->record, chosen->seconds);
    return Status();
  }

  const Workload& workload_;
  const Epilogue& epilogue_;
  const bool plain_weight_;
  const LayoutSeconds& layout_seconds_;
  const CompileOptions& options_;
  const KernelOption* option_;
  const Target& target_;
  const DeviceTraits& device_;
};

}  // namespace

Result<KernelChoice> ChooseKernel(const Workload& workload, const Epilogue& epilogue,
                                  bool plain_weight, const LayoutSeconds& layout_seconds,
                                  const CompileOptions& options, const KernelOption* option) {
  return KernelChooser(workload, epilogue, plain_weight, layout_seconds, options, option).Choose();
}

Result<MeasuredConfigs> MeasuredKernels(const Workload& workload, const Epilogue& epilogue,
                                        const CompileOptions& options) {
  const LayoutSeconds none;
  return KernelChooser(workload, epilogue, /*plain_weight=*/false, none, options).MeasuredOnly();
}

Result<std::vector<KernelOption>> KernelOptions(const Workload& workload, const Epilogue& epilogue,
                                                bool plain_weight, const CompileOptions& options) {
  const LayoutSeconds none;
  return KernelChooser(workload, epilogue, plain_weight, none, options).Options();
}

}  // namespace tilewright
