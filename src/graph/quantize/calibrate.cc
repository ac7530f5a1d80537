// The ranges of weights come from their contents. The ranges of inputs and activations come from
// the configuration, or from the annotated values over a data set. Annotations are identities
// during evaluation, so the annotated graph computes the same values as the float graph.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "src/base/thread.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/ir/output_channels.h"
#include "src/graph/ir/rewrite.h"
#include "src/graph/quantize/passes.h"
#include "src/graph/quantize/threshold.h"

namespace tilewright::quantize {
namespace {

/// Returns the range of values whose largest magnitude is `largest`: that, or 1 if it is almost 0.
/// float32 could not represent the scales of such a range (for example, of a channel that training
/// switched off).
double RangeOf(double largest) {
  constexpr double kNothing = 0x1.0p-80;
  return largest < kNothing ? 1 : largest;
}

double RangeOfWeights(double largest, WeightScale rule) {
  const double range = RangeOf(largest);
  return rule == WeightScale::kMax ? range : std::exp2(std::ceil(std::log2(range)));
}

/// Returns the signal-to-noise ratio, in decibels, of rounding the values to `most` steps on each
/// side of 0.
double SqnrWithin(double step, double most, std::span<const float> values) {
  double signal = 0, noise = 0;
  for (float element : values) {
    const double value = std::abs(static_cast<double>(element));
    const double error = value - std::min(std::round(value / step), most) * step;
    signal += value * value;
    noise += error * error;
  }
  return noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal / noise);
}

class Calibrator {
 public:
  Calibrator(Graph graph, const Config& config, std::span<const Sample> samples, int threads,
             RangeMap* known)
      : graph_(std::move(graph)),
        config_(config),
        samples_(samples),
        threads_(threads),
        known_(known) {}

  Result<Graph> Run() {
    std::vector<int> measured;
    for (int id : PostOrder(graph_)) {
      const Annotation& annotation = graph_.node(id).annotation;
      if (annotation.kind != AnnotationKind::kQuantize) continue;
      if (annotation.value == ValueKind::kWeight) {
        weights_.push_back(id);
      } else if (config_.calibrate_mode == CalibrateMode::kGlobalScale) {
        SetRanges(id, {config_.global_scale});
      } else if (const double* range = KnownRange(id)) {
        SetRanges(id, {*range});
      } else {
        measured.push_back(id);
      }
    }
    TW_RETURN_IF_ERROR(Measure(measured));
    if (config_.rules >= kAccurateRules) AlignConcats();
    for (int id : weights_) TW_RETURN_IF_ERROR(CalibrateWeight(id));
    return std::move(graph_);
  }

 private:
  /// Returns the key of an annotated value in a RangeMap.
  std::string RangeKey(int id) const {
    const Node& node = graph_.node(id);
    return graph_.node(node.inputs[0]).name + " " + DataTypeName(node.annotation.dtype);
  }
  /// Returns null if the range was not measured before.
  const double* KnownRange(int id) const {
    if (known_ == nullptr) return nullptr;
    const auto found = known_->find(RangeKey(id));
    return found == known_->end() ? nullptr : &found->second;
  }

  void SetScales(int id, std::vector<double> scales, ValueKind value) {
    Annotation annotation = graph_.node(id).annotation;
    annotation.value = value;
    annotation.scales = std::move(scales);
    graph_.Annotate(id, graph_.node(id).source, std::move(annotation));
  }

  /// Returns the divisor of an annotation's range. TVM's rules exclude the last step, so the end of
  /// a range that is not a power of two is clipped.
  double StepsOf(const Annotation& annotation) const {
    const double most = config_.Bounds(annotation).second;
    const bool powers = annotation.value == ValueKind::kWeight
                            ? config_.weight_scale == WeightScale::kPower2
                            : config_.calibrate_mode == CalibrateMode::kGlobalScale;
    return config_.rules >= kAccurateRules && !powers ? most : most + 1;
  }

  void SetRanges(int id, std::vector<double> ranges) {
    const Annotation& annotation = graph_.node(id).annotation;
    const double steps = StepsOf(annotation);
    for (double& range : ranges) range /= steps;
    SetScales(id, std::move(ranges), annotation.value);
  }

  /// Gives the inputs of a concatenation the scale of its result if nothing else reads them, so
  /// that they are rounded once instead of twice.
  void AlignConcats() {
    const auto users = graph_.Users();
    for (int id = 0; id < graph_.size(); ++id) {
      if (graph_.node(id).op.kind != OpKind::kConcat) continue;
      const auto& readers = users[static_cast<std::size_t>(id)];
      if (readers.empty() || graph_.node(readers[0]).annotation.kind != AnnotationKind::kQuantize)
        continue;
      const Annotation joined = graph_.node(readers[0]).annotation;
      for (int input : graph_.node(id).inputs) {
        const Node& side = graph_.node(input);
        const bool alone = users[static_cast<std::size_t>(input)].size() == 1;
        if (alone && side.annotation.kind == AnnotationKind::kQuantize &&
            side.annotation.value == joined.value) {
          graph_.Annotate(input, side.source, joined);
        }
      }
    }
  }

  /// Walks over the data set, once for each chunk of the annotations.
  Status Measure(const std::vector<int>& marks) {
    if (marks.empty()) return Status();
    if (samples_.empty()) {
      return InvalidArgument("calibrate_mode needs a data set");
    }
    const std::vector<int> outputs = graph_.outputs();
    const std::size_t chunk = config_.calibrate_chunk_by < 0
                                  ? marks.size()
                                  : static_cast<std::size_t>(config_.calibrate_chunk_by);
    Status status;
    for (std::size_t begin = 0; begin < marks.size() && status.ok(); begin += chunk) {
      const std::size_t end = std::min(begin + chunk, marks.size());
      status = MeasurePart(std::span(marks).subspan(begin, end - begin));
    }
    graph_.SetOutputs(outputs);
    return status;
  }

  Status MeasurePart(std::span<const int> marks) {
    graph_.SetOutputs({marks.begin(), marks.end()});
    std::vector<std::vector<float>> values(marks.size());
    for (const Sample& sample : samples_) {
      TW_ASSIGN_OR_RETURN(auto results,
                          EvaluateGraph(graph_, sample, KeepValues::kOutputs, threads_));
      for (std::size_t i = 0; i < marks.size(); ++i) {
        const Tensor& result = results[i];
        if (result.dtype() != kFloat32) {
          return InvalidArgument(fmt::format("value {} is {}, expected float32",
                                             graph_.node(marks[i]).name, result.type().ToString()));
        }
        const auto elements = result.As<float>();
        TW_RETURN_IF_ERROR(CheckFinite(graph_.node(marks[i]).name, elements));
        values[i].insert(values[i].end(), elements.begin(), elements.end());
      }
    }
    std::vector<double> ranges(marks.size());
    RunInParallel(threads_, std::ssize(marks), [&](std::int64_t mark) {
      const auto i = static_cast<std::size_t>(mark);
      ranges[i] = RangeOf(ThresholdOf(marks[i], values[i]));
    });
    for (std::size_t i = 0; i < marks.size(); ++i) {
      SetRanges(marks[i], {ranges[i]});
      if (known_ != nullptr) known_->emplace(RangeKey(marks[i]), ranges[i]);
      NoteLoss(marks[i], ranges[i], values[i]);
    }
    return Status();
  }

  double ThresholdOf(int annotation, std::vector<float>& values) const {
    switch (config_.calibrate_mode) {
      case CalibrateMode::kPercentile:
        return PercentileThreshold(values);
      case CalibrateMode::kMse:
        return MseThreshold(values, StepsOf(graph_.node(annotation).annotation));
      default:
        return KlThreshold(values);
    }
  }

  /// Warns of useless ranges, which the rules of the modes can choose: kl_divergence does so for
  /// few values far from 0.
  void NoteLoss(int annotation, double range, const std::vector<float>& values) {
    constexpr double kMinSqnrDb = 10;  // with less, more than a third of the signal is error
    const Node& node = graph_.node(annotation);
    const double sqnr =
        SqnrWithin(node.annotation.scales[0], config_.Bounds(node.annotation).second, values);
    if (sqnr >= kMinSqnrDb) return;
    graph_.notes.push_back(fmt::format(
        "value {}: calibrated to a range of +-{:.3g}, and the data set reaches {:.3g}: rounding "
        "leaves {:.1f} dB of it; try another calibrate_mode, or more data",
        SourceName(node.name), range, LargestMagnitude(values), sqnr));
  }

  /// Returns the operator that reads an annotated value.
  int UserOf(int annotation) const {
    for (int id = annotation + 1; id < graph_.size(); ++id) {
      if (std::ranges::count(graph_.node(id).inputs, annotation) != 0) return id;
    }
    return -1;
  }

  static Status CheckFinite(const std::string& name, std::span<const float> elements) {
    if (std::ranges::all_of(elements, [](float element) { return std::isfinite(element); })) {
      return {};
    }
    return InvalidArgument(name + " has infinite or NaN elements, so it has no valid scale");
  }

  Status CalibrateWeight(int id) {
    const int weight = graph_.node(id).inputs[0];
    const Tensor* contents = graph_.Contents(weight);
    if (contents == nullptr || contents->dtype() != kFloat32) {
      const Node& node = graph_.node(weight);
      return InvalidArgument(fmt::format(
          "weight {} of type {}, expected contents of float32{}", node.name, node.type.ToString(),
          node.type.dtype.is_integer() ? ": the model is quantized already" : ""));
    }
    TW_RETURN_IF_ERROR(CheckFinite(graph_.node(weight).name, contents->As<float>()));
    const bool accurate = config_.rules >= kAccurateRules;
    const int user = config_.per_channel || accurate ? UserOf(id) : -1;
    const auto channels = config_.per_channel && user >= 0
                              ? OutputChannelsOf(graph_, graph_.node(user))
                              : std::nullopt;
    if (channels) {
      std::vector<double> ranges = ChannelRanges(*contents, channels->weight);
      WidenForSum(user, ranges);
      for (double& range : ranges) range = RangeOfWeights(range, config_.weight_scale);
      SetRanges(id, std::move(ranges));
    } else if (user >= 0 && IsBias(graph_, user, id)) {
      SetScales(id, ScalesOfSum(graph_.node(user).inputs[0]), ValueKind::kActivation);
    } else {
      const auto elements = contents->As<float>();
      std::vector<double> ranges = {LargestMagnitude({elements.begin(), elements.end()})};
      if (accurate && user >= 0 && IsAnchor(graph_.node(user).op.kind)) WidenForSum(user, ranges);
      SetRanges(id, {RangeOfWeights(ranges[0], config_.weight_scale)});
    }
    return Status();
  }

  static std::vector<double> ChannelRanges(const Tensor& weight, std::size_t dimension) {
    std::size_t inner = 1;
    for (std::size_t i = dimension + 1; i < weight.shape().size(); ++i) {
      inner *= static_cast<std::size_t>(weight.shape()[i]);
    }
    std::vector<double> ranges(static_cast<std::size_t>(weight.shape()[dimension]), 0);
    const auto elements = weight.As<float>();
    for (std::size_t i = 0; i < elements.size(); ++i) {
      double& range = ranges[i / inner % ranges.size()];
      range = std::max(range, static_cast<double>(std::abs(elements[i])));
    }
    return ranges;
  }

  /// Widens the ranges of channels whose weights are almost 0. A constant is added in units of the
  /// sums, and the units of such a channel are too small for the constant to fit. In the wider
  /// range it fits, and the weights become 0, as they are negligible relative to the constant.
  void WidenForSum(int anchor, std::vector<double>& ranges) const {
    const int sum = UserOf(anchor);
    const Tensor* constant = AddedBy(sum);
    if (constant == nullptr) return;
    const bool bias = IsBias(graph_, sum, graph_.node(sum).inputs[1]);
    const auto elements = constant->As<float>();
    const double largest = LargestMagnitude({elements.begin(), elements.end()});
    // Half of the range of the sums' type; the other half is for the products.
    const double most = config_.Valid(ValueKind::kActivation) / 2;
    const double step = DataStep(anchor) / config_.Valid(ValueKind::kWeight);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const double magnitude = bias && ranges.size() > 1 ? std::abs(elements[i]) : largest;
      ranges[i] = std::max(ranges[i], magnitude / most / step);
    }
  }

  /// Returns the annotated float32 constant on the right side of a sum; null if there is none.
  const Tensor* AddedBy(int sum) const {
    if (sum < 0 || graph_.node(sum).op.kind != OpKind::kAdd) return nullptr;
    const Node& annotation = graph_.node(graph_.node(sum).inputs[1]);
    if (annotation.annotation.kind != AnnotationKind::kQuantize ||
        annotation.annotation.value != ValueKind::kWeight) {
      return nullptr;
    }
    const Tensor* contents = graph_.Contents(annotation.inputs[0]);
    return contents != nullptr && contents->dtype() == kFloat32 ? contents : nullptr;
  }

  /// Returns the scales of the sums of an anchor whose annotations have scales. A bias with these
  /// scales and the same number of bits is added without a shift.
  std::vector<double> ScalesOfSum(int anchor) const {
    const Node& node = graph_.node(anchor);
    std::vector<double> scales = graph_.node(node.inputs[1]).annotation.scales;
    for (double& scale : scales) scale *= DataStep(anchor);
    return scales;
  }

  /// Returns the scale of an anchor's data. Annotations and pools keep the scale of their input.
  double DataStep(int anchor) const {
    int data = graph_.node(anchor).inputs[0];
    while (graph_.node(data).annotation.kind != AnnotationKind::kQuantize &&
           !graph_.node(data).inputs.empty()) {
      data = graph_.node(data).inputs[0];
    }
    const std::vector<double>& step = graph_.node(data).annotation.scales;
    return step.empty() ? 1 : step[0];
  }

  Graph graph_;
  const Config& config_;
  std::span<const Sample> samples_;
  int threads_;
  RangeMap* known_;
  std::vector<int> weights_;  // annotations of weights, in post-order: an anchor's before its bias'
};

}  // namespace

Result<Graph> Calibrate(Graph graph, const Config& config, std::span<const Sample> samples,
                        int threads, RangeMap* ranges) {
  return Calibrator(std::move(graph), config, samples, threads, ranges).Run();
}

}  // namespace tilewright::quantize
