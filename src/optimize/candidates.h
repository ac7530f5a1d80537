#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/base/files/locked_temp_dir.h"
#include "src/base/status.h"
#include "src/compiler/run/run.h"
#include "src/optimize/bound.h"
#include "src/optimize/journal.h"
#include "src/optimize/network_formats.h"
#include "src/optimize/score.h"
#include "src/optimize/split.h"
#include "src/session/session.h"

namespace tilewright::optimize {

enum class Part : std::uint8_t { kSearch, kHeldOut };

/// Times of a race, by library; the first one is float32's.
struct RaceTimes {
  std::vector<double> seconds, ratios, spreads;
};

/// Error of a library on a part of the samples.
struct PartError {
  OutputError error;    ///< with the score, if there is a program
  std::string refused;  ///< why the program gave no score
};

/// Libraries of the combinations of formats of one network, and what is measured of them. Each
/// library is built when it is first needed. Each measurement is a step of the journal, named by
/// the formats and by the library's kernels, so other records make other steps.
class Candidates {
 public:
  /// samples: of all parts; those of the calibration are used up. Runs the float32 library on the
  /// other parts. threads: of the reference evaluator.
  /// Errors: those of NetworkFormats::Create, Compile and of the runs.
  static Result<Candidates> Create(session::CompileRequest request, std::vector<Sample> samples,
                                   DataSplit split, ScoreProgram score, Journal journal,
                                   int threads);

  NetworkFormats& network() { return *network_; }
  Journal& journal() { return journal_; }
  const session::CompileRequest& request() const { return request_; }
  const Sample& SampleAt(std::size_t i) const { return samples_[i]; }
  const Sample& ExpectedAt(std::size_t i) const { return expected_[i]; }  ///< float32 outputs
  /// Returns the first sample of the search part, which is run to measure times.
  const Sample& TimedSample() const { return samples_[split_.search.front()]; }
  bool IsFloat32(const Formats& formats) const {
    return formats == network_->Uniform(Format::kFloat32);
  }
  /// Returns an estimate of the noise of outputs that may just keep a bound, by the outputs of the
  /// search part.
  double NoiseLimit(const Bound& bound) const;

  /// Returns the identity of the kernels of a combination and of float32's.
  Result<std::string> TagOf(const Formats& formats);
  /// Measures the error on a part, unless that is done.
  /// Errors: those of Compile and of the runs; of RunScore; kInvalidArgument if the program gives
  /// no score of the float32 library.
  Result<PartError> ErrorOn(Part part, const Formats& formats);
  /// Runs combinations in turns with the float32 library, unless that is done.
  /// name: of the step, before the formats. seconds: of each library.
  Result<RaceTimes> RaceOf(const std::string& name, const std::vector<Formats>& contenders,
                           double seconds);
  Result<std::vector<const ModelLibrary*>> LibrariesOf(const std::vector<Formats>& combinations);
  /// Compiles a combination to a file.
  Result<CompiledModel> CompileTo(const Formats& formats, const std::string& path);

 private:
  struct Built {
    std::string path;
    ModelLibrary library;
  };
  Candidates() = default;
  Status MeasureReference();
  Result<std::uint64_t> KernelsOf(const Formats& formats);
  Result<const Built*> LibraryOf(const Formats& formats);
  Result<Score> ScoreOf(Part part, const Formats& formats);
  const std::vector<std::size_t>& SamplesOf(Part part) const {
    return part == Part::kSearch ? split_.search : split_.held_out;
  }

  session::CompileRequest request_;  // without its graph
  std::vector<Sample> samples_;      // those of the calibration part are in network_
  DataSplit split_;
  ScoreProgram score_;
  std::string score_key_;
  Journal journal_;
  std::optional<NetworkFormats> network_;
  std::optional<LockedTempDir> folder_;
  std::map<std::string, Built> libraries_;        // by CodeOf
  std::map<std::string, std::uint64_t> kernels_;  // KernelKeyOf, by CodeOf
  std::map<std::string, Score> refused_;          // by step; not kept, as the cause may pass
  std::vector<Sample> expected_;
  double elements_ = 0, squares_ = 0;  // of the float32 outputs of the search part
};

}  // namespace tilewright::optimize
