// One run of the search. Every measurement is a step of the journal, so a killed run resumes, and
// the same steps give the same front.

#include "src/optimize/format_search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "src/base/clock.h"
#include "src/base/format_printable.h"
#include "src/graph/quantize/quality.h"
#include "src/optimize/candidates.h"
#include "src/optimize/choice.h"
#include "src/optimize/front.h"
#include "src/optimize/job_key.h"
#include "src/optimize/journal.h"
#include "src/optimize/proposal.h"
#include "src/optimize/race.h"
#include "src/optimize/report_text.h"
#include "src/optimize/site_times.h"
#include "src/optimize/step.h"
#include "src/runtime/roofline.h"

namespace tilewright::optimize {
namespace {

using quantize::CalibrateMode;
using session::CompileRequest;

struct NoiseStep {
  double noise = 0;
};
void Describe(auto& fields, DescribedAs<NoiseStep> auto& step) {
  fields("noise", step.noise, AnyNumberCodec());
}

struct TimesStep {
  std::vector<std::vector<double>> sites;  // by format, then site
  double bytes_per_second = 0;             // of one core's reads beyond its near cache
};
void Describe(auto& fields, DescribedAs<TimesStep> auto& step) {
  fields("sites", step.sites);
  fields("bytes_per_second", step.bytes_per_second, RangeCodec<double>{1, 1e15});
}

class FormatSearch {
 public:
  FormatSearch(CompileRequest request, std::vector<Sample> samples, const SearchSettings& settings)
      : request_(std::move(request)), samples_(std::move(samples)), settings_(settings) {}

  Result<SearchReport> Run(const std::string& library_path, CompiledModel& compiled) {
    TW_RETURN_IF_ERROR(Prepare());
    TW_RETURN_IF_ERROR(CheckFloat32());
    TW_RETURN_IF_ERROR(ChooseCalibration());
    for (const Format format : kFormats) TW_RETURN_IF_ERROR(Measure(network().Uniform(format)));
    TW_RETURN_IF_ERROR(MeasureTimes());
    TW_RETURN_IF_ERROR(MeasureNoise());
    TW_RETURN_IF_ERROR(TryCombinations());
    TW_RETURN_IF_ERROR(Decide());
    Explain();
    const Formats& formats = report_.combinations[report_.chosen].formats;
    TW_ASSIGN_OR_RETURN(compiled, candidates_->CompileTo(formats, library_path));
    report_.ranges = network().ranges();
    TW_RETURN_IF_ERROR(candidates_->journal().Put(kResultStep, StoredReport(report_)));
    TW_RETURN_IF_ERROR(candidates_->journal().Finish());
    return std::move(report_);
  }

 private:
  Status Prepare() {
    report_.bound = settings_.bound;
    report_.score = fmt::format("{}", fmt::join(settings_.score.words, " "));
    const Graph& graph = request_.graph;
    report_.network = graph.name;
    macs_ = quantize::MacsOf(graph);
    const bool scored = settings_.bound.metric == Metric::kScore;
    if (scored != settings_.score.given()) {
      return InvalidArgument(scored ? settings_.bound.ToString() + ": expected --score COMMAND"
                                    : "--score: expected --bound 'score>=NUMBER'");
    }
    const TensorType& output = graph.node(graph.outputs()[0]).type;
    TW_ASSIGN_OR_RETURN(const std::int64_t rows, RowsOf(output, settings_.bound));
    TW_ASSIGN_OR_RETURN(report_.split, SplitSamples(samples_.size(), settings_.bound, rows));
    Note("{} samples: {} calibrate, {} search, {} held out", samples_.size(),
         report_.split.calibration.size(), report_.split.search.size(),
         report_.split.held_out.size());
    Journal journal;
    if (!settings_.store.empty()) {
      const CompileOptions& options = request_.options;
      TW_ASSIGN_OR_RETURN(journal, Journal::Open(settings_.store, JobKeyOf(request_, samples_),
                                                 DumpJson({{"graph", graph.name},
                                                           {"target", options.target.ToString()},
                                                           {"device", options.device.model},
                                                           {"samples", samples_.size()}})));
      report_.steps_found = journal.found();
      if (journal.found() > 0) Note("resumes: {} steps are done", journal.found());
    }
    TW_RETURN_IF_ERROR(ReadPrevious(journal));
    TW_ASSIGN_OR_RETURN(
        auto candidates,
        Candidates::Create(std::move(request_), std::move(samples_), report_.split, settings_.score,
                           std::move(journal), settings_.reference_threads));
    candidates_.emplace(std::move(candidates));
    noise_limit_ = candidates_->NoiseLimit(settings_.bound);
    return {};
  }

  /// Reads the result of an earlier complete run, perhaps with another bound.
  Status ReadPrevious(const Journal& journal) {
    const std::string* stored = journal.Find(kResultStep);
    if (stored == nullptr) return {};
    TW_ASSIGN_OR_RETURN(previous_, ParseStoredReport(*stored));
    return {};
  }

  NetworkFormats& network() { return candidates_->network(); }

  template <typename T, typename Work>
  Result<T> Step(const std::string& step, const Work& work) {
    return RunStep<T>(candidates_->journal(), step, work);
  }

  /// Returns true if a combination keeps the bound on the search part.
  bool Keeps(const Combination& combination) const {
    return settings_.bound.Keeps(settings_.bound.ValueOf(combination.search));
  }

  /// Builds, runs and times a combination, unless that is done.
  Status Measure(const Formats& formats) {
    if (Find(formats) != nullptr) return {};
    Combination combination;
    combination.formats = formats;
    TW_ASSIGN_OR_RETURN(combination.kernels, candidates_->TagOf(formats));
    TW_ASSIGN_OR_RETURN(const auto error, candidates_->ErrorOn(Part::kSearch, formats));
    combination.search = error.error;
    combination.refused = error.refused;
    if (!candidates_->IsFloat32(formats)) {
      TW_ASSIGN_OR_RETURN(const auto race,
                          candidates_->RaceOf("time", {formats}, settings_.quick_seconds));
      combination.ratio = race.ratios[1];
      combination.spread = race.spreads[1];
      Note("{}: {:.1f} dB{}, {:.3f} of float32's time", CountsText(formats),
           combination.search.SqnrDb(), ScoreText(combination), combination.ratio);
    }
    report_.combinations.push_back(std::move(combination));
    return {};
  }

  std::string ScoreText(const Combination& combination) const {
    if (!settings_.score.given()) return "";
    return combination.refused.empty() ? fmt::format(", score {:.6g}", combination.search.score)
                                       : ", refused: " + combination.refused;
  }

  /// Nothing is promised by a bound that float32 does not keep.
  Status CheckFloat32() {
    if (!settings_.score.given()) return {};
    const Formats float32 = network().Uniform(Format::kFloat32);
    for (const Part part : {Part::kSearch, Part::kHeldOut}) {
      TW_ASSIGN_OR_RETURN(const auto error, candidates_->ErrorOn(part, float32));
      const double score = settings_.bound.ValueOf(error.error);
      if (settings_.bound.Keeps(score)) continue;
      return InvalidArgument(fmt::format("{}: the float32 library has a score of {:.6g} ({} part)",
                                         settings_.bound.ToString(), score,
                                         part == Part::kSearch ? "search" : "held-out"));
    }
    return {};
  }

  Combination* Find(const Formats& formats) {
    const auto found = std::ranges::find(report_.combinations, formats, &Combination::formats);
    return found == report_.combinations.end() ? nullptr : &*found;
  }

  // Sensitivity.

  /// Chooses how the ranges of int8 are calibrated: the calibration that leaves the least error if
  /// every site is int8.
  Status ChooseCalibration() {
    const Formats int8 = network().Uniform(Format::kInt8);
    if (candidates_->IsFloat32(int8)) return {};
    constexpr CalibrateMode kModes[] = {CalibrateMode::kPercentile, CalibrateMode::kMse,
                                        CalibrateMode::kKlDivergence};
    for (const CalibrateMode mode : kModes) TW_RETURN_IF_ERROR(TryCalibration({mode}, int8));
    const CalibrateMode best = BestCalibration().mode;
    TW_RETURN_IF_ERROR(TryCalibration({best, /*per_channel=*/false, true}, int8));
    TW_RETURN_IF_ERROR(TryCalibration({best, true, /*unsigned_inputs=*/false}, int8));
    report_.calibration = BestCalibration();
    const bool same = previous_ && previous_->calibration == report_.calibration;
    network().SetCalibration(report_.calibration, same ? previous_->ranges : quantize::RangeMap());
    return {};
  }

  Status TryCalibration(const Calibration& calibration, const Formats& int8) {
    const std::string name = calibration.ToString();
    TW_ASSIGN_OR_RETURN(const auto step,
                        Step<NoiseStep>("calibration/" + name, [&]() -> Result<NoiseStep> {
                          network().SetCalibration(calibration);
                          TW_ASSIGN_OR_RETURN(const double noise, NoiseOf(int8));
                          return NoiseStep{noise};
                        }));
    Note("int8 by {}: {:.1f} dB", name, DecibelsOf(step.noise));
    report_.calibrations.push_back({calibration, step.noise});
    return {};
  }

  const Calibration& BestCalibration() const {
    const auto noise = [](const CalibrationError& error) {
      return std::isnan(error.noise) ? std::numeric_limits<double>::infinity() : error.noise;
    };
    return std::ranges::min_element(report_.calibrations, {}, noise)->calibration;
  }

  /// Computes the noise of a combination by the reference evaluator on a few samples of the search
  /// part.
  Result<double> NoiseOf(const Formats& formats) {
    TW_ASSIGN_OR_RETURN(const auto graph, network().BuildToEvaluate(formats));
    OutputErrorSum sum;
    for (const std::size_t i : SensitivitySamples()) {
      TW_ASSIGN_OR_RETURN(const auto outputs,
                          quantize::OutputsFor(graph, std::span(&candidates_->SampleAt(i), 1),
                                               settings_.reference_threads));
      sum.Add(candidates_->ExpectedAt(i), outputs[0]);
    }
    return sum.Get().relative_noise;
  }

  std::span<const std::size_t> SensitivitySamples() {
    // One combination for each format of each site.
    constexpr double kMaxMacs = 3e10;
    constexpr std::size_t kMaxSamples = 2;
    const double macs = macs_ * 2 * static_cast<double>(network().sites().size());
    const std::size_t count = kMaxSamples * macs <= kMaxMacs ? kMaxSamples : 1;
    return std::span(report_.split.search).first(std::min(count, report_.split.search.size()));
  }

  Status MeasureNoise() {
    const auto& sites = network().sites();
    std::size_t done = 0, total = 0;
    for (const Site& site : sites) total += site.formats.size() - 1;
    SystemClock clock;
    double told = clock.MonotonicSeconds();
    for (std::size_t i = 0; i < sites.size(); ++i) {
      for (std::size_t k = 1; k < sites[i].formats.size(); ++k, ++done) {
        Formats formats = network().Uniform(Format::kFloat32);
        formats[i] = sites[i].formats[k];
        const std::string name = fmt::format("noise/{}/{}", i, FormatName(formats[i]));
        TW_ASSIGN_OR_RETURN(const auto step, Step<NoiseStep>(name, [&]() -> Result<NoiseStep> {
                              TW_ASSIGN_OR_RETURN(const double noise, NoiseOf(formats));
                              return NoiseStep{noise};
                            }));
        report_.sites[i].noise[k] = step.noise;
        constexpr double kPause = 10;
        if (clock.MonotonicSeconds() - told < kPause) continue;
        told = clock.MonotonicSeconds();
        Note("sensitivity: {} of {}", done + 1, total);
      }
    }
    return {};
  }

  /// Measures the time of each site in libraries that have one format throughout.
  Status MeasureTimes() {
    const std::size_t count = network().sites().size();
    std::string name = "times";
    for (const Format format : kFormats) {
      TW_ASSIGN_OR_RETURN(const std::string tag, candidates_->TagOf(network().Uniform(format)));
      name += "@" + tag;
    }
    TW_ASSIGN_OR_RETURN(const auto step, Step<TimesStep>(name, [&] { return UniformTimes(); }));
    const bool fits =
        step.sites.size() == std::size(kFormats) &&
        std::ranges::all_of(step.sites, [&](const auto& row) { return row.size() == count; });
    if (!fits) return Corrupt("step of optimize: times of another number of sites");
    bytes_per_second_ = step.bytes_per_second;
    for (std::size_t i = 0; i < count; ++i) {
      SiteReport site;
      site.site = network().sites()[i];
      for (const Format format : site.site.formats) {
        site.seconds.push_back(step.sites[static_cast<std::size_t>(format)][i]);
        site.noise.push_back(0);
      }
      report_.sites.push_back(std::move(site));
    }
    return {};
  }

  Result<TimesStep> UniformTimes() {
    std::vector<Formats> uniform;
    for (const Format format : kFormats) uniform.push_back(network().Uniform(format));
    TW_ASSIGN_OR_RETURN(const auto libraries, candidates_->LibrariesOf(uniform));
    RaceLimits limits;
    limits.seconds = settings_.times_seconds;
    TW_ASSIGN_OR_RETURN(const auto seconds,
                        OperatorSeconds(libraries, candidates_->TimedSample(), limits));
    TimesStep step;
    step.bytes_per_second = MeasurePeaks().far_bytes_per_second;
    for (std::size_t i = 0; i < libraries.size(); ++i) {
      TW_ASSIGN_OR_RETURN(const auto parts, network().PartitionOf(uniform[i]));
      step.sites.push_back(AttributeSeconds(
          parts, *libraries[i], seconds[i],
          [&](std::string_view name) { return network().SiteOf(name); }, network().sites().size()));
    }
    return step;
  }

  // Choice.

  Status TryCombinations() {
    SystemClock clock;
    const double end = clock.MonotonicSeconds() + settings_.budget_seconds;
    Proposal proposal(report_.sites, settings_.bound, noise_limit_,
                      bytes_per_second_ * candidates_->request().options.target.num_threads());
    for (Combination& combination : report_.combinations) proposal.Predict(combination);
    for (int i = 0; i < settings_.max_combinations; ++i) {
      const Choice choice = proposal.Next();
      const Formats formats = proposal.FormatsOf(choice);
      const bool known = Find(formats) != nullptr;
      if (!known && clock.MonotonicSeconds() > end) {
        Note("the budget is over");
        break;
      }
      TW_RETURN_IF_ERROR(Measure(formats));
      Combination& combination = *Find(formats);
      proposal.Predict(combination);
      if (!proposal.Correct(choice, combination) || known) break;
    }
    TW_RETURN_IF_ERROR(TakePrevious(proposal, end));
    report_.predicted_front = proposal.Front();
    return {};
  }

  /// Adds the combinations of earlier runs that would still have the same kernels. A score program
  /// may have to rate them again, which ends with the budget.
  Status TakePrevious(const Proposal& proposal, double end) {
    if (!previous_) return {};
    SystemClock clock;
    for (const Combination& earlier : previous_->combinations) {
      if (Find(earlier.formats) != nullptr || !network().CanHave(earlier.formats)) continue;
      TW_ASSIGN_OR_RETURN(const std::string tag, candidates_->TagOf(earlier.formats));
      if (tag != earlier.kernels) continue;
      if (settings_.score.given() && clock.MonotonicSeconds() > end) {
        Note("the budget is over: some combinations of earlier runs have no score");
        break;
      }
      TW_RETURN_IF_ERROR(Measure(earlier.formats));
      proposal.Predict(report_.combinations.back());
    }
    return {};
  }

  // Decision.

  /// Races the best combinations, and takes the fastest that keeps the bound on the held-out part.
  Status Decide() {
    std::vector<Formats> contenders;
    std::vector<Combination>& all = report_.combinations;
    std::ranges::sort(all, {}, &Combination::ratio);
    for (const Combination& combination : all) {
      if (Keeps(combination) && !candidates_->IsFloat32(combination.formats) &&
          contenders.size() < kContenders) {
        contenders.push_back(combination.formats);
      }
    }
    TW_ASSIGN_OR_RETURN(const auto race,
                        candidates_->RaceOf("race", contenders, settings_.race_seconds));
    report_.float32_seconds = race.seconds[0];
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      Combination& combination = *Find(contenders[i]);
      combination.ratio = race.ratios[i + 1];
      combination.spread = race.spreads[i + 1];
    }
    std::ranges::sort(all, {}, &Combination::ratio);
    TW_RETURN_IF_ERROR(TakeKept(contenders));
    const Combination& chosen = all[report_.chosen];
    report_.seconds = chosen.ratio * report_.float32_seconds;
    MarkFront(all);
    return MeasureHeldOut();
  }

  /// Measures the held-out errors of the other combinations too, so that a later choice with
  /// another bound needs no measurement.
  Status MeasureHeldOut() {
    for (std::size_t i = 0; i < report_.combinations.size(); ++i) {
      if (!NeedsHeldOut(report_, i)) continue;
      TW_RETURN_IF_ERROR(MeasureHeldOut(report_.combinations[i]));
    }
    return {};
  }

  Status MeasureHeldOut(Combination& combination) {
    TW_ASSIGN_OR_RETURN(const auto error,
                        candidates_->ErrorOn(Part::kHeldOut, combination.formats));
    combination.held_out = error.error;
    combination.refused = error.refused;
    return {};
  }

  Status TakeKept(const std::vector<Formats>& contenders) {
    std::vector<Combination>& all = report_.combinations;
    int stepped_back = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      Combination& combination = all[i];
      const bool raced = std::ranges::find(contenders, combination.formats) != contenders.end();
      if (!raced) continue;
      if (!IsFaster({0, combination.ratio, combination.spread})) continue;
      TW_RETURN_IF_ERROR(MeasureHeldOut(combination));
      const double value = settings_.bound.ValueOf(*combination.held_out);
      if (settings_.bound.Keeps(value)) {
        report_.chosen = i;
        report_.reason = fmt::format(
            "the fastest that keeps {} on the held-out part ({:.4g}){}", settings_.bound.ToString(),
            value, stepped_back == 0 ? "" : fmt::format(", after {} that did not", stepped_back));
        return {};
      }
      ++stepped_back;
    }
    const auto place = std::ranges::find_if(all, [&](const Combination& combination) {
      return candidates_->IsFloat32(combination.formats);
    });
    report_.chosen = static_cast<std::size_t>(place - all.begin());
    report_.reason =
        stepped_back > 0
            ? fmt::format("float32: none of {} faster combinations keeps {} on the held-out part",
                          stepped_back, settings_.bound.ToString())
            : fmt::format("float32: no combination that keeps {} is faster beyond noise",
                          settings_.bound.ToString());
    return {};
  }

  /// States why each site has its format.
  void Explain() {
    const Formats& formats = report_.combinations[report_.chosen].formats;
    for (std::size_t i = 0; i < formats.size(); ++i) {
      SiteReport& site = report_.sites[i];
      site.chosen = formats[i];
      const std::size_t chosen = site.site.PositionOf(formats[i]);
      const auto fastest =
          static_cast<std::size_t>(std::ranges::min_element(site.seconds) - site.seconds.begin());
      if (site.site.formats.size() == 1) {
        site.why = "only float32: " + site.site.why_not_int8;
      } else if (fastest == chosen) {
        site.why = "fastest";
      } else {
        site.why = fmt::format("{} takes {:.2f} of the time, but alone leaves {:.1f} dB",
                               FormatName(site.site.formats[fastest]),
                               site.seconds[fastest] / site.seconds[chosen],
                               DecibelsOf(site.noise[fastest]));
      }
    }
  }

  template <typename... Args>
  void Note(fmt::format_string<CheckedArgument<Args>...> format, Args&&... args) {
    settings_.note(FormatPrintable<Args...>(format, std::forward<Args>(args)...));
  }

  static constexpr std::size_t kContenders = 4;

  CompileRequest request_;       // until candidates_ has it
  std::vector<Sample> samples_;  // until candidates_ has them
  const SearchSettings& settings_;
  std::optional<Candidates> candidates_;
  std::optional<SearchReport> previous_;  // result of an earlier run of the job
  double macs_ = 0;                       // of one sample
  double noise_limit_ = 0;                // estimate for outputs that may just keep the bound
  double bytes_per_second_ = 1;           // of one core
  SearchReport report_;
};

}  // namespace

Result<SearchReport> SearchFormats(CompileRequest request, std::vector<Sample> samples,
                                   const SearchSettings& settings, const std::string& library_path,
                                   CompiledModel& compiled) {
  return FormatSearch(std::move(request), std::move(samples), settings).Run(library_path, compiled);
}

}  // namespace tilewright::optimize
