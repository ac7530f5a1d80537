#include "src/optimize/candidates.h"

#include <fmt/format.h>

#include <utility>

#include "src/optimize/kernel_key.h"
#include "src/optimize/race.h"
#include "src/optimize/step.h"

namespace tilewright::optimize {
namespace {

struct ErrorStep {
  OutputError error;
};
void Describe(auto& fields, DescribedAs<ErrorStep> auto& step) {
  fields("noise", step.error.relative_noise, AnyNumberCodec());
  fields("agreement", step.error.agreement, AnyNumberCodec());
  fields("max_error", step.error.max_error, AnyNumberCodec());
  fields("cosine", step.error.cosine, AnyNumberCodec());
}

const char* NameOf(Part part) { return part == Part::kSearch ? "search" : "held_out"; }

}  // namespace

static void Describe(auto& fields, DescribedAs<Score> auto& score) {
  fields("score", score.value, AnyNumberCodec());
  fields("refused", score.refused);
}

static void Describe(auto& fields, DescribedAs<RaceTimes> auto& times) {
  fields("seconds", times.seconds);
  fields("ratios", times.ratios);
  fields("spreads", times.spreads);
}

Result<Candidates> Candidates::Create(session::CompileRequest request, std::vector<Sample> samples,
                                      DataSplit split, ScoreProgram score, Journal journal,
                                      int threads) {
  Candidates candidates;
  candidates.split_ = std::move(split);
  candidates.score_ = std::move(score);
  if (candidates.score_.given()) {
    TW_ASSIGN_OR_RETURN(candidates.score_key_, candidates.score_.Key());
  }
  candidates.journal_ = std::move(journal);
  std::vector<Sample> calibration;
  for (const std::size_t i : candidates.split_.calibration) {
    calibration.push_back(std::move(samples[i]));
  }
  candidates.samples_ = std::move(samples);
  TW_ASSIGN_OR_RETURN(auto network,
                      NetworkFormats::Create(std::move(request.graph), request.options.target,
                                             std::move(calibration), threads));
  candidates.network_.emplace(std::move(network));
  candidates.request_ = std::move(request);
  TW_ASSIGN_OR_RETURN(auto folder, LockedTempDir::Create("tilewright-optimize"));
  candidates.folder_.emplace(std::move(folder));
  TW_RETURN_IF_ERROR(candidates.MeasureReference());
  return candidates;
}

Status Candidates::MeasureReference() {
  TW_ASSIGN_OR_RETURN(const Built* built, LibraryOf(network_->Uniform(Format::kFloat32)));
  expected_.resize(samples_.size());
  for (const Part part : {Part::kSearch, Part::kHeldOut}) {
    for (const std::size_t i : SamplesOf(part)) {
      TW_ASSIGN_OR_RETURN(expected_[i], built->library.Run(samples_[i]));
      if (part != Part::kSearch) continue;
      for (const Tensor& output : expected_[i]) {
        elements_ += static_cast<double>(output.elements());
        for (std::int64_t k = 0; k < output.elements(); ++k) {
          squares_ += output.At(k) * output.At(k);
        }
      }
    }
  }
  return {};
}

double Candidates::NoiseLimit(const Bound& bound) const {
  return bound.RelativeNoise(elements_, elements_ > 0 ? squares_ / elements_ : 0);
}

Result<std::uint64_t> Candidates::KernelsOf(const Formats& formats) {
  const std::string code = CodeOf(formats);
  const auto known = kernels_.find(code);
  if (known != kernels_.end()) return known->second;
  TW_ASSIGN_OR_RETURN(auto graph, network_->Build(formats));
  TW_ASSIGN_OR_RETURN(const auto key, KernelKeyOf(std::move(graph), request_.options));
  kernels_.emplace(code, key);
  return key;
}

Result<std::string> Candidates::TagOf(const Formats& formats) {
  TW_ASSIGN_OR_RETURN(const auto float32, KernelsOf(network_->Uniform(Format::kFloat32)));
  TW_ASSIGN_OR_RETURN(const auto combination, KernelsOf(formats));
  return KernelTag(float32, combination);
}

Result<CompiledModel> Candidates::CompileTo(const Formats& formats, const std::string& path) {
  TW_ASSIGN_OR_RETURN(auto graph, network_->Build(formats));
  return Compile(std::move(graph), request_.options, path);
}

Result<const Candidates::Built*> Candidates::LibraryOf(const Formats& formats) {
  const std::string code = CodeOf(formats);
  const auto known = libraries_.find(code);
  if (known != libraries_.end()) return &known->second;
  const std::string path = fmt::format("{}/{}.so", folder_->path(), libraries_.size());
  TW_RETURN_IF_ERROR(CompileTo(formats, path));
  TW_ASSIGN_OR_RETURN(auto library, ModelLibrary::Open(path));
  return &libraries_.emplace(code, Built{path, std::move(library)}).first->second;
}

Result<std::vector<const ModelLibrary*>> Candidates::LibrariesOf(
    const std::vector<Formats>& combinations) {
  std::vector<const ModelLibrary*> libraries;
  for (const Formats& formats : combinations) {
    TW_ASSIGN_OR_RETURN(const Built* built, LibraryOf(formats));
    libraries.push_back(&built->library);
  }
  return libraries;
}

Result<PartError> Candidates::ErrorOn(Part part, const Formats& formats) {
  PartError result;
  if (!IsFloat32(formats)) {
    TW_ASSIGN_OR_RETURN(const std::string tag, TagOf(formats));
    const auto measure = [&]() -> Result<ErrorStep> {
      TW_ASSIGN_OR_RETURN(const Built* built, LibraryOf(formats));
      OutputErrorSum sum;
      for (const std::size_t i : SamplesOf(part)) {
        TW_ASSIGN_OR_RETURN(const auto outputs, built->library.Run(samples_[i]));
        sum.Add(expected_[i], outputs);
      }
      return ErrorStep{sum.Get()};
    };
    TW_ASSIGN_OR_RETURN(
        const auto step,
        RunStep<ErrorStep>(journal_, fmt::format("{}/{}@{}", NameOf(part), CodeOf(formats), tag),
                           measure));
    result.error = step.error;
  }
  if (!score_.given()) return result;
  TW_ASSIGN_OR_RETURN(const Score score, ScoreOf(part, formats));
  result.error.score = score.value;
  result.refused = score.refused;
  return result;
}

Result<Score> Candidates::ScoreOf(Part part, const Formats& formats) {
  TW_ASSIGN_OR_RETURN(const std::string tag, TagOf(formats));
  const std::string step =
      fmt::format("score/{}/{}@{}#{}", NameOf(part), CodeOf(formats), tag, score_key_);
  if (const auto known = refused_.find(step); known != refused_.end()) return known->second;
  const auto measure = [&]() -> Result<Score> {
    TW_ASSIGN_OR_RETURN(const Built* built, LibraryOf(formats));
    TW_ASSIGN_OR_RETURN(auto score, RunScore(score_, built->path,
                                             {"TILEWRIGHT_LIBRARY=" + built->path,
                                              "TILEWRIGHT_NAME=" + built->library.name(),
                                              "TILEWRIGHT_FORMATS=" + CodeOf(formats),
                                              std::string("TILEWRIGHT_PART=") + NameOf(part)},
                                             folder_->path()));
    if (score.refused.empty()) return score;
    const Status refused = InvalidArgument("--score: the float32 library: " + score.refused);
    if (!IsFloat32(formats)) refused_.emplace(step, std::move(score));
    return refused;
  };
  auto score = RunStep<Score>(journal_, step, measure);
  const auto refused = refused_.find(step);
  if (refused != refused_.end()) return refused->second;
  return score;
}

Result<RaceTimes> Candidates::RaceOf(const std::string& name,
                                     const std::vector<Formats>& contenders, double seconds) {
  std::string step = name;
  for (const Formats& formats : contenders) {
    TW_ASSIGN_OR_RETURN(const std::string tag, TagOf(formats));
    step += fmt::format("/{}@{}", CodeOf(formats), tag);
  }
  if (contenders.empty()) {
    TW_ASSIGN_OR_RETURN(const std::string tag, TagOf(network_->Uniform(Format::kFloat32)));
    step += "@" + tag;
  }
  const auto measure = [&]() -> Result<RaceTimes> {
    std::vector<Formats> all = {network_->Uniform(Format::kFloat32)};
    all.insert(all.end(), contenders.begin(), contenders.end());
    TW_ASSIGN_OR_RETURN(const auto libraries, LibrariesOf(all));
    RaceLimits limits;
    limits.seconds = seconds * static_cast<double>(libraries.size() + 1);
    TW_ASSIGN_OR_RETURN(const auto results, Race(libraries, TimedSample(), limits));
    RaceTimes times;
    for (const RaceResult& result : results) {
      times.seconds.push_back(result.seconds);
      times.ratios.push_back(result.ratio);
      times.spreads.push_back(result.spread);
    }
    return times;
  };
  TW_ASSIGN_OR_RETURN(auto times, RunStep<RaceTimes>(journal_, step, measure));
  const std::size_t count = contenders.size() + 1;
  if (times.seconds.size() != count || times.ratios.size() != count ||
      times.spreads.size() != count) {
    return Corrupt("step of optimize: a race of another number of libraries");
  }
  return times;
}

}  // namespace tilewright::optimize
