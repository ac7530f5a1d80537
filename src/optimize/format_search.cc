// One run of the search. Every measurement is a step of the journal, so a killed run resumes, and
// the same steps give the same front.

#include "src/optimize/format_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "src/base/clock.h"
#include "src/base/files/locked_temp_dir.h"
#include "src/base/format_printable.h"
#include "src/base/json_fields.h"
#include "src/graph/quantize/quality.h"
#include "src/optimize/choice.h"
#include "src/optimize/job_key.h"
#include "src/optimize/journal.h"
#include "src/optimize/proposal.h"
#include "src/optimize/race.h"
#include "src/optimize/site_times.h"
#include "src/runtime/roofline.h"

namespace tilewright::optimize {
namespace {

using quantize::CalibrateMode;
using session::CompileRequest;

/// Codec of numbers that JSON cannot have: null, read as NaN, for which no bound holds.
struct AnyNumber {
  static Json Write(double value) { return std::isfinite(value) ? Json(value) : Json(); }
  static void Read(JsonReader& reader, const char* name, const Json& json, double& value) {
    if (json.is_null()) {
      value = std::numeric_limits<double>::quiet_NaN();
    } else if (reader.Expect(name, json.is_number())) {
      value = json.get<double>();
    }
  }
};

struct ModeStep {
  std::string mode;
};
void Describe(auto& fields, DescribedAs<ModeStep> auto& step) { fields("mode", step.mode); }

struct NoiseStep {
  double noise = 0;
};
void Describe(auto& fields, DescribedAs<NoiseStep> auto& step) {
  fields("noise", step.noise, AnyNumber());
}

struct TimesStep {
  std::vector<std::vector<double>> sites;  // by format, then site
  double bytes_per_second = 0;             // of one core's reads beyond its near cache
};
void Describe(auto& fields, DescribedAs<TimesStep> auto& step) {
  fields("sites", step.sites);
  fields("bytes_per_second", step.bytes_per_second, RangeCodec<double>{1, 1e15});
}

struct ErrorStep {
  OutputError error;
};
void Describe(auto& fields, DescribedAs<ErrorStep> auto& step) {
  fields("noise", step.error.relative_noise, AnyNumber());
  fields("agreement", step.error.agreement, AnyNumber());
  fields("max_error", step.error.max_error, AnyNumber());
  fields("cosine", step.error.cosine, AnyNumber());
}

struct RaceStep {
  std::vector<double> seconds, ratios, spreads;
};
void Describe(auto& fields, DescribedAs<RaceStep> auto& step) {
  fields("seconds", step.seconds);
  fields("ratios", step.ratios);
  fields("spreads", step.spreads);
}

class FormatSearch {
 public:
  FormatSearch(CompileRequest request, std::vector<Sample> samples, const SearchSettings& settings)
      : request_(std::move(request)), samples_(std::move(samples)), settings_(settings) {}

  Result<SearchReport> Run(const std::string& library_path, CompiledModel& compiled) {
    TW_RETURN_IF_ERROR(Prepare());
    TW_RETURN_IF_ERROR(ChooseMode());
    for (const Format format : kFormats) TW_RETURN_IF_ERROR(Measure(network_->Uniform(format)));
    TW_RETURN_IF_ERROR(MeasureTimes());
    TW_RETURN_IF_ERROR(MeasureNoise());
    TW_RETURN_IF_ERROR(TryCombinations());
    TW_RETURN_IF_ERROR(Decide());
    Explain();
    const Formats& formats = report_.combinations[report_.chosen].formats;
    TW_ASSIGN_OR_RETURN(compiled, CompileFormats(formats, library_path));
    TW_RETURN_IF_ERROR(journal_.Finish());
    return std::move(report_);
  }

 private:
  Status Prepare() {
    report_.bound = settings_.bound;
    const Graph& graph = request_.graph;
    macs_ = quantize::MacsOf(graph);
    const TensorType& output = graph.node(graph.outputs()[0]).type;
    const std::int64_t classes = ClassesOf(output);
    if (settings_.bound.metric == Metric::kAgreement && classes < 2) {
      return InvalidArgument("agreement: the first output is " + output.ToString() +
                             ", expected rows of several classes");
    }
    const std::int64_t rows = output.elements() / classes;
    TW_ASSIGN_OR_RETURN(report_.split, SplitSamples(samples_.size(), settings_.bound, rows));
    Note("{} samples: {} calibrate, {} search, {} held out", samples_.size(),
         report_.split.calibration.size(), report_.split.search.size(),
         report_.split.held_out.size());
    if (!settings_.store.empty()) {
      TW_ASSIGN_OR_RETURN(journal_, Journal::Open(settings_.store, JobKeyOf(request_, samples_),
                                                  DumpJson({{"graph", graph.name}})));
      report_.steps_found = journal_.found();
      if (journal_.found() > 0) Note("resumes: {} steps are done", journal_.found());
    }
    std::vector<Sample> calibration;
    for (const std::size_t i : report_.split.calibration)
      calibration.push_back(std::move(samples_[i]));
    TW_ASSIGN_OR_RETURN(
        auto network, NetworkFormats::Create(std::move(request_.graph), request_.options.target,
                                             std::move(calibration), settings_.reference_threads));
    network_.emplace(std::move(network));
    TW_ASSIGN_OR_RETURN(auto folder, LockedTempDir::Create("tilewright-optimize"));
    folder_.emplace(std::move(folder));
    return MeasureReference();
  }

  /// Runs the float32 library on the search part and on the held-out part.
  Status MeasureReference() {
    TW_ASSIGN_OR_RETURN(ModelLibrary * library, LibraryOf(network_->Uniform(Format::kFloat32)));
    expected_.resize(samples_.size());
    double squares = 0, elements = 0;
    for (const auto* part : {&report_.split.search, &report_.split.held_out}) {
      for (const std::size_t i : *part) {
        TW_ASSIGN_OR_RETURN(expected_[i], library->Run(samples_[i]));
        for (const Tensor& output : expected_[i]) {
          elements += static_cast<double>(output.elements());
          for (std::int64_t k = 0; k < output.elements(); ++k)
            squares += output.At(k) * output.At(k);
        }
      }
    }
    noise_limit_ = settings_.bound.RelativeNoise(elements, elements > 0 ? squares / elements : 0);
    return {};
  }

  // Steps of the journal.

  /// Returns the result of a step, which is run unless it is stored.
  template <typename T, typename Work>
  Result<T> Step(const std::string& step, const Work& work) {
    if (const std::string* stored = journal_.Find(step)) {
      TW_ASSIGN_OR_RETURN(const auto json, ParseJson(*stored));
      return ReadJson<T>(json, "step of optimize");
    }
    TW_ASSIGN_OR_RETURN(T value, work());
    TW_RETURN_IF_ERROR(journal_.Put(step, WriteJson(value)));
    return value;
  }

  // Libraries.

  Result<CompiledModel> CompileFormats(const Formats& formats, const std::string& path) {
    TW_ASSIGN_OR_RETURN(auto graph, network_->Build(formats));
    return Compile(std::move(graph), request_.options, path);
  }

  /// Returns the library of a combination, built at the first call.
  Result<ModelLibrary*> LibraryOf(const Formats& formats) {
    const std::string code = CodeOf(formats);
    const auto known = libraries_.find(code);
    if (known != libraries_.end()) return &known->second;
    const std::string path = fmt::format("{}/{}.so", folder_->path(), libraries_.size());
    TW_RETURN_IF_ERROR(CompileFormats(formats, path));
    TW_ASSIGN_OR_RETURN(auto library, ModelLibrary::Open(path));
    return &libraries_.emplace(code, std::move(library)).first->second;
  }

  Result<std::vector<const ModelLibrary*>> LibrariesOf(const std::vector<Formats>& combinations) {
    std::vector<const ModelLibrary*> libraries;
    for (const Formats& formats : combinations) {
      TW_ASSIGN_OR_RETURN(const ModelLibrary* library, LibraryOf(formats));
      libraries.push_back(library);
    }
    return libraries;
  }

  /// Returns the error on a part, the step PREFIX/CODE.
  Result<OutputError> ErrorStepOn(const std::string& prefix, const std::vector<std::size_t>& part,
                                  const Formats& formats) {
    const auto measure = [&]() -> Result<ErrorStep> {
      TW_ASSIGN_OR_RETURN(const ModelLibrary* library, LibraryOf(formats));
      OutputErrorSum sum;
      for (const std::size_t i : part) {
        TW_ASSIGN_OR_RETURN(const auto outputs, library->Run(samples_[i]));
        sum.Add(expected_[i], outputs);
      }
      return ErrorStep{sum.Get()};
    };
    TW_ASSIGN_OR_RETURN(const auto step, Step<ErrorStep>(prefix + "/" + CodeOf(formats), measure));
    return step.error;
  }

  /// Returns the first sample of the search part, which is run to measure times.
  const Sample& TimedSample() const { return samples_[report_.split.search.front()]; }

  /// Races combinations with the float32 library.
  Result<RaceStep> RaceOf(const std::vector<Formats>& contenders, double seconds) {
    std::vector<Formats> all = {network_->Uniform(Format::kFloat32)};
    all.insert(all.end(), contenders.begin(), contenders.end());
    TW_ASSIGN_OR_RETURN(const auto libraries, LibrariesOf(all));
    RaceLimits limits;
    limits.seconds = seconds * static_cast<double>(libraries.size() + 1);
    TW_ASSIGN_OR_RETURN(const auto results, Race(libraries, TimedSample(), limits));
    RaceStep step;
    for (const RaceResult& result : results) {
      step.seconds.push_back(result.seconds);
      step.ratios.push_back(result.ratio);
      step.spreads.push_back(result.spread);
    }
    return step;
  }

  /// Returns true if a combination keeps the bound on the search part.
  bool Keeps(const Combination& combination) const {
    return settings_.bound.Keeps(settings_.bound.ValueOf(combination.search));
  }

  bool IsFloat32(const Formats& formats) const {
    return formats == network_->Uniform(Format::kFloat32);
  }

  /// Builds, runs and times a combination, unless that is done.
  Status Measure(const Formats& formats) {
    if (Find(formats) != nullptr) return {};
    Combination combination;
    combination.formats = formats;
    if (!IsFloat32(formats)) {
      TW_ASSIGN_OR_RETURN(combination.search, ErrorStepOn("error", report_.split.search, formats));
      TW_ASSIGN_OR_RETURN(const auto race, Step<RaceStep>("time/" + CodeOf(formats), [&] {
                            return RaceOf({formats}, kQuickSeconds);
                          }));
      TW_RETURN_IF_ERROR(CheckSizes(race, 2));
      combination.ratio = race.ratios[1];
      combination.spread = race.spreads[1];
      Note("{}: {:.1f} dB, {:.3f} of float32's time", CountsText(formats),
           combination.search.SqnrDb(), combination.ratio);
    }
    report_.combinations.push_back(std::move(combination));
    return {};
  }

  static Status CheckSizes(const RaceStep& race, std::size_t count) {
    if (race.seconds.size() == count && race.ratios.size() == count &&
        race.spreads.size() == count) {
      return {};
    }
    return Corrupt("step of optimize: a race of another number of libraries");
  }

  Combination* Find(const Formats& formats) {
    const auto found = std::ranges::find(report_.combinations, formats, &Combination::formats);
    return found == report_.combinations.end() ? nullptr : &*found;
  }

  static std::string CountsText(const Formats& formats) {
    std::string text;
    for (const Format format : kFormats) {
      const auto count = std::ranges::count(formats, format);
      if (count == 0) continue;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, FormatName(format));
    }
    return text;
  }

  // Sensitivity.

  /// Chooses how the ranges of int8 are calibrated: the mode that leaves the least error if every
  /// site is int8.
  Status ChooseMode() {
    const Formats int8 = network_->Uniform(Format::kInt8);
    if (IsFloat32(int8)) return {};
    constexpr CalibrateMode kModes[] = {CalibrateMode::kPercentile, CalibrateMode::kMse,
                                        CalibrateMode::kKlDivergence};
    TW_ASSIGN_OR_RETURN(const auto step, Step<ModeStep>("mode", [&]() -> Result<ModeStep> {
                          double least = std::numeric_limits<double>::infinity();
                          ModeStep best{std::string(quantize::CalibrateModeName(kModes[0]))};
                          for (const CalibrateMode mode : kModes) {
                            network_->SetMode(mode);
                            TW_ASSIGN_OR_RETURN(const double noise, NoiseOf(int8));
                            const std::string name(quantize::CalibrateModeName(mode));
                            Note("int8 by {}: {:.1f} dB", name, DecibelsOf(noise));
                            if (noise < least) best.mode = name;
                            least = std::min(least, noise);
                          }
                          return best;
                        }));
    for (const CalibrateMode mode : kModes) {
      if (quantize::CalibrateModeName(mode) == step.mode) network_->SetMode(mode);
    }
    report_.calibrate_mode = step.mode;
    return {};
  }

  /// Computes the noise of a combination by the reference evaluator on a few samples of the search
  /// part.
  Result<double> NoiseOf(const Formats& formats) {
    TW_ASSIGN_OR_RETURN(const auto graph, network_->BuildToEvaluate(formats));
    OutputErrorSum sum;
    for (const std::size_t i : SensitivitySamples()) {
      TW_ASSIGN_OR_RETURN(
          const auto outputs,
          quantize::OutputsFor(graph, std::span(&samples_[i], 1), settings_.reference_threads));
      sum.Add(expected_[i], outputs[0]);
    }
    return sum.Get().relative_noise;
  }

  std::span<const std::size_t> SensitivitySamples() const {
    // One combination for each format of each site.
    constexpr double kMaxMacs = 3e10;
    constexpr std::size_t kMaxSamples = 2;
    const double macs = macs_ * 2 * static_cast<double>(network_->sites().size());
    const std::size_t count = kMaxSamples * macs <= kMaxMacs ? kMaxSamples : 1;
    return std::span(report_.split.search).first(std::min(count, report_.split.search.size()));
  }

  Status MeasureNoise() {
    const auto& sites = network_->sites();
    std::size_t done = 0, total = 0;
    for (const Site& site : sites) total += site.formats.size() - 1;
    SystemClock clock;
    double told = clock.MonotonicSeconds();
    for (std::size_t i = 0; i < sites.size(); ++i) {
      for (std::size_t k = 1; k < sites[i].formats.size(); ++k, ++done) {
        Formats formats = network_->Uniform(Format::kFloat32);
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
    const std::size_t count = network_->sites().size();
    TW_ASSIGN_OR_RETURN(const auto step, Step<TimesStep>("times", [&] { return UniformTimes(); }));
    const bool fits =
        step.sites.size() == std::size(kFormats) &&
        std::ranges::all_of(step.sites, [&](const auto& row) { return row.size() == count; });
    if (!fits) return Corrupt("step of optimize: times of another number of sites");
    bytes_per_second_ = step.bytes_per_second;
    for (std::size_t i = 0; i < count; ++i) {
      SiteReport site;
      site.site = network_->sites()[i];
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
    for (const Format format : kFormats) uniform.push_back(network_->Uniform(format));
    TW_ASSIGN_OR_RETURN(const auto libraries, LibrariesOf(uniform));
    RaceLimits limits;
    limits.seconds = kTimesSeconds;
    TW_ASSIGN_OR_RETURN(const auto seconds, OperatorSeconds(libraries, TimedSample(), limits));
    TimesStep step;
    step.bytes_per_second = MeasurePeaks().far_bytes_per_second;
    for (std::size_t i = 0; i < libraries.size(); ++i) {
      TW_ASSIGN_OR_RETURN(const auto parts, network_->PartitionOf(uniform[i]));
      step.sites.push_back(AttributeSeconds(
          parts, *libraries[i], seconds[i],
          [&](std::string_view name) { return network_->SiteOf(name); }, network_->sites().size()));
    }
    return step;
  }

  // Choice.

  Status TryCombinations() {
    SystemClock clock;
    const double end = clock.MonotonicSeconds() + settings_.budget_seconds;
    Proposal proposal(report_.sites, settings_.bound, noise_limit_,
                      bytes_per_second_ * request_.options.target.num_threads());
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
    report_.predicted_front = proposal.Front();
    return {};
  }

  // Decision.

  /// Races the best combinations, and takes the fastest that keeps the bound on the held-out part.
  Status Decide() {
    std::vector<Formats> contenders;
    std::vector<Combination>& all = report_.combinations;
    std::ranges::sort(all, {}, &Combination::ratio);
    for (const Combination& combination : all) {
      if (Keeps(combination) && !IsFloat32(combination.formats) &&
          contenders.size() < kContenders) {
        contenders.push_back(combination.formats);
      }
    }
    std::string key = "race";
    for (const Formats& formats : contenders) key += "/" + CodeOf(formats);
    TW_ASSIGN_OR_RETURN(const auto race,
                        Step<RaceStep>(key, [&] { return RaceOf(contenders, kRaceSeconds); }));
    TW_RETURN_IF_ERROR(CheckSizes(race, contenders.size() + 1));
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
    MarkFront();
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
      TW_ASSIGN_OR_RETURN(combination.held_out,
                          ErrorStepOn("held_out", report_.split.held_out, combination.formats));
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
    const auto place = std::ranges::find_if(
        all, [&](const Combination& combination) { return IsFloat32(combination.formats); });
    report_.chosen = static_cast<std::size_t>(place - all.begin());
    report_.reason =
        stepped_back > 0
            ? fmt::format("float32: none of {} faster combinations keeps {} on the held-out part",
                          stepped_back, settings_.bound.ToString())
            : fmt::format("float32: no combination that keeps {} is faster beyond noise",
                          settings_.bound.ToString());
    return {};
  }

  void MarkFront() {
    double least = std::numeric_limits<double>::infinity();
    for (Combination& combination : report_.combinations) {  // by time
      combination.on_front = combination.search.relative_noise < least;
      if (combination.on_front) least = combination.search.relative_noise;
    }
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

  static constexpr double kQuickSeconds = 0.5, kTimesSeconds = 3, kRaceSeconds = 1.5;
  static constexpr std::size_t kContenders = 4;

  CompileRequest request_;
  std::vector<Sample> samples_;  // those of the calibration part are in network_
  const SearchSettings& settings_;
  std::optional<NetworkFormats> network_;
  std::optional<LockedTempDir> folder_;
  std::map<std::string, ModelLibrary> libraries_;  // by CodeOf
  Journal journal_;
  std::vector<Sample> expected_;  // float32 outputs of the search part and the held-out part
  double macs_ = 0;               // of one sample
  double noise_limit_ = 0;        // estimate for outputs that may just keep the bound
  double bytes_per_second_ = 1;   // of one core
  SearchReport report_;
};

}  // namespace

Result<SearchReport> SearchFormats(CompileRequest request, std::vector<Sample> samples,
                                   const SearchSettings& settings, const std::string& library_path,
                                   CompiledModel& compiled) {
  return FormatSearch(std::move(request), std::move(samples), settings).Run(library_path, compiled);
}

}  // namespace tilewright::optimize
