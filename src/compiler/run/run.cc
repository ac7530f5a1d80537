// Loading and running of a compiled model, and observation of its steps: results for comparisons,
// seconds for benchmarks.

#include "src/compiler/run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/base/clock.h"
#include "src/base/memory.h"
#include "src/base/text/plural.h"
#include "src/compiler/emit/model_tables.h"
#include "src/compiler/plan/physical_layout.h"
#include "src/graph/ir/quantization_map.h"
#include "src/schedule/tolerance.h"
#include "src/target/gpu.h"
#include "src/tensor/compute/winograd.h"

namespace tilewright {
namespace {

Result<ModelValue> ValueOf(const TwValue& value) {
  TW_ASSIGN_OR_RETURN(auto dtype, ParseDataType(value.dtype));
  if (value.rank < 0 || value.rank > 16) return Corrupt("value of a wrong rank");
  TensorType type{{value.shape, value.shape + value.rank}, dtype};
  if (type.bytes() != value.bytes) return Corrupt(std::string(value.name) + " has a wrong size");
  return ModelValue{value.name, std::move(type)};
}

Result<std::vector<ModelValue>> ValuesOf(const TwValue* values, std::int64_t count) {
  std::vector<ModelValue> list;
  for (std::int64_t i = 0; i < count; ++i) {
    TW_ASSIGN_OR_RETURN(auto value, ValueOf(values[i]));
    list.push_back(std::move(value));
  }
  return list;
}

std::int64_t BytesOfValues(const std::vector<ModelValue>& values) {
  std::int64_t bytes = 0;
  for (const ModelValue& value : values) bytes += value.type.bytes();
  return bytes;
}

struct ObserveContext {
  const std::vector<ModelOperator>* operators;
  const std::function<Status(std::size_t, Tensor)>* observe;
  Status status;
};

std::int32_t Observe(void* context, std::int64_t step, const void* result, double) {
  auto* observation = static_cast<ObserveContext*>(context);
  const auto index = static_cast<std::size_t>(step);
  const ModelOperator& op = (*observation->operators)[index];
  std::vector<std::byte> copy;
  auto tensor =
      ToLogical(op.result.type, {op.logical_layout, op.layout}, CompactResult(op, result, copy));
  observation->status =
      tensor.ok() ? (*observation->observe)(index, *std::move(tensor)) : tensor.status();
  return observation->status.ok() ? 0 : ModelLibrary::kStopped;  // kernels return other codes
}

std::int32_t BeginNext(void* context, std::int64_t step, const void*, double) {
  (*static_cast<std::function<void(std::size_t)>*>(context))(static_cast<std::size_t>(step) + 1);
  return 0;
}

std::int32_t AddSeconds(void* context, std::int64_t step, const void*, double seconds) {
  (*static_cast<std::span<double>*>(context))[static_cast<std::size_t>(step)] += seconds;
  return 0;
}

std::vector<Tensor> MakeOutputs(const std::vector<ModelValue>& values) {
  std::vector<Tensor> outputs;
  for (const ModelValue& value : values) outputs.emplace_back(value.type);
  return outputs;
}

double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::vector<ModelValue> ValuesOf(const Graph& graph, const std::vector<int>& nodes) {
  std::vector<ModelValue> values;
  for (int id : nodes) values.push_back({graph.node(id).name, graph.node(id).type});
  return values;
}

Status RunnableNetwork::CheckInputs(std::span<const Tensor> inputs) const {
  if (inputs.size() != inputs_.size()) {
    return InvalidArgument(
        fmt::format("{}, expected {}", Counted(std::ssize(inputs), "input"), inputs_.size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].type() == inputs_[i].type) continue;
    return InvalidArgument(fmt::format("input {} is {}, expected {}", inputs_[i].name,
                                       inputs[i].type().ToString(), inputs_[i].type.ToString()));
  }
  return Status();
}

Result<ModelLibrary> ModelLibrary::Open(const std::string& path, int set) {
  TW_ASSIGN_OR_RETURN(auto loaded, LoadModel(path, set));
  ModelLibrary model(std::move(loaded), set);
  if (Status status = model.Load(); !status.ok()) return status.WithContext(path);
  return model;
}

const void* CompactResult(const ModelOperator& op, const void* result,
                          std::vector<std::byte>& copy) {
  if (op.open_rows == nullptr) return result;
  const auto rows = static_cast<std::size_t>(op.open_rows->rows);
  const std::size_t bytes = static_cast<std::size_t>(op.result_bytes) / rows;
  copy.resize(rows * bytes);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t at = row * static_cast<std::size_t>(op.open_rows->row_bytes) +
                           static_cast<std::size_t>(op.open_rows->begin_bytes);
    std::memcpy(copy.data() + row * bytes, static_cast<const std::byte*>(result) + at, bytes);
  }
  return copy.data();
}

std::string ModelOperator::Description() const {
  if (winograd_tile == 0) return op;
  return fmt::format("{}, Winograd {}x{}", op, winograd_tile, winograd_tile);
}

double ModelOperator::ProductShare() const {
  if (bfloat16) return 0.5;  // two take the time of one of float32
  // Libraries of 1.1 and earlier do not store the kernel; nearly all of them have 3 x 3.
  constexpr std::int64_t kUsualKernel = 3;
  return WinogradProductShare(winograd_tile, winograd_kernel > 0 ? winograd_kernel : kUsualKernel);
}

Status ModelLibrary::Load() {
  name_ = model_->name;
  target_ = model_->target;
  threads_ = static_cast<int>(model_->threads);
  TW_RETURN_IF_ERROR(LoadTables());
  return LoadQuantizationMap();
}

Status ModelLibrary::LoadTables() {
  operators_.clear();
  TW_ASSIGN_OR_RETURN(inputs_, ValuesOf(model_->inputs, model_->input_count));
  TW_ASSIGN_OR_RETURN(outputs_, ValuesOf(model_->outputs, model_->output_count));
  const std::int64_t arena_bytes = on_gpu() ? 0 : model_->arena_bytes;
  TW_RETURN_IF_ERROR(CheckMemory("running the model",
                                 arena_bytes + BytesOfValues(inputs_) + BytesOfValues(outputs_)));
  const auto target = Target::Parse(target_);
  const std::optional<double> tolerance =
      target.ok() && AllowsTf32(*target) ? std::optional(kToleranceOfTf32) : std::nullopt;
  for (std::int64_t i = 0; i < model_->step_count; ++i) {
    const TwStep& step = model_->steps[i];
    TW_ASSIGN_OR_RETURN(auto result, ValueOf(*step.result));
    operators_.push_back({std::move(result), step.op, step.logical_layout, step.layout, step.macs,
                          step.bytes, (step.flags & 1) != 0, tolerance});
    operators_.back().bfloat16 = (step.flags & 2) != 0;
    operators_.back().winograd_tile = step.flags >> 8 & 0xff;
    operators_.back().winograd_kernel = step.flags >> 16 & 0xff;
    operators_.back().result_bytes = step.result_bytes;
    if (open_dimension() != nullptr && open_dimension()->open_steps[i].count != nullptr) {
      operators_.back().open_rows = &open_dimension()->open_steps[i];
    }
  }
  return Status();
}

Status ModelLibrary::SetSize(const std::string& dimension, std::int64_t size) {
  TW_RETURN_IF_ERROR(SetModelSize(loaded_, dimension, size));
  return LoadTables();
}

bool ModelLibrary::open_positions() const {
  const TwOpenDimension* open = open_dimension();
  // Entries have no recurrences, and no blocks of their memory.
  return open != nullptr &&
         (open->padded_to > 1 || std::ranges::any_of(operators_, [](const ModelOperator& each) {
            return each.op == "recurrence";
          }));
}

Status ModelLibrary::Resize(std::int64_t size) {
  if (open_dimension() == nullptr) return InvalidArgument(name_ + " has no open dimension");
  TW_RETURN_IF_ERROR(ModelStatus(loaded_, loaded_.open.resize(model_, size)));
  return LoadTables();
}

Status ModelLibrary::FitSize(std::span<const ModelValue> inputs) {
  const TwOpenDimension* open = open_dimension();
  if (open == nullptr || inputs.size() != inputs_.size()) return Status();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorType &wanted = inputs[i].type, &now = inputs_[i].type;
    if (wanted == now || wanted.shape.size() != now.shape.size()) continue;
    for (std::int64_t v = 0; v < open->value_count; ++v) {
      const TwOpenValue& value = open->values[v];
      if (value.value != &model_->inputs[i] || value.extent == nullptr) continue;
      const auto axis = static_cast<std::size_t>(value.extent - value.value->shape);
      return SetSize(open->name, wanted.shape[axis] / value.entry_extent);
    }
  }
  return Status();
}

// Older libraries have neither symbol.
Status ModelLibrary::LoadQuantizationMap() {
  if (const void* count =
          loaded_.library.Symbol((kSyntheticConstantsSymbol + VariantSuffix(set_)).c_str());
      count != nullptr) {
    synthetic_constants_ = *static_cast<const std::int64_t*>(count);
  }
  const auto* text = static_cast<const char*>(
      loaded_.library.Symbol((kQuantizationMapSymbol + VariantSuffix(set_)).c_str()));
  if (text == nullptr) return Status();
  auto quantization_map = ParseQuantizationMap(text);
  if (!quantization_map.ok()) return quantization_map.status().WithContext(kQuantizationMapSymbol);
  quantization_map_ = *std::move(quantization_map);
  return Status();
}

Status ModelLibrary::SetThreads(int threads) {
  if (threads < 1) {
    return InvalidArgument(fmt::format("{} threads, expected at least 1", threads));
  }
  TW_RETURN_IF_ERROR(ModelStatus(loaded_, loaded_.functions.set_threads(model_, threads)));
  threads_ = threads;
  return Status();
}

Status ModelLibrary::UseDevice(const std::string& driver, int ordinal) {
  if (!on_gpu()) return InvalidArgument(name_ + " was compiled for a CPU, it uses no device");
  return ModelStatus(loaded_, loaded_.gpu.open(model_, driver.c_str(), ordinal));
}

Status ModelLibrary::RunRaw(std::span<const Tensor> inputs, std::vector<Tensor>& outputs,
                            TwObserver observer, void* context) const {
  TW_RETURN_IF_ERROR(CheckInputs(inputs));
  std::vector<const void*> input_pointers;
  for (const Tensor& input : inputs) input_pointers.push_back(input.data());
  std::vector<void*> output_pointers;
  for (Tensor& output : outputs) output_pointers.push_back(output.data());
  input_pointers.push_back(nullptr);  // so that data() is not null for a model without any
  output_pointers.push_back(nullptr);
  const std::int32_t code = loaded_.functions.run(model_, input_pointers.data(),
                                                  output_pointers.data(), observer, context);
  return code == kStopped ? Status() : ModelStatus(loaded_, code);
}

Result<std::vector<Tensor>> ModelLibrary::RunWithHooks(std::span<const Tensor> inputs,
                                                       const OnBegin& begin,
                                                       const OnResult& observe) const {
  std::vector<Tensor> outputs = MakeOutputs(outputs_);
  ObserveContext observation{&operators_, &observe, Status()};
  if (observe != nullptr) {
    TW_RETURN_IF_ERROR(RunRaw(inputs, outputs, Observe, &observation));
  } else if (begin != nullptr) {
    OnBegin next = begin;
    begin(0);
    TW_RETURN_IF_ERROR(RunRaw(inputs, outputs, BeginNext, &next));
  } else {
    TW_RETURN_IF_ERROR(RunRaw(inputs, outputs, nullptr, nullptr));
  }
  TW_RETURN_IF_ERROR(observation.status);
  return outputs;
}

Status ModelLibrary::RunTimed(std::span<const Tensor> inputs, std::span<double> seconds) const {
  if (seconds.size() != operators_.size()) {
    return InvalidArgument("seconds for another number of operators");
  }
  std::vector<Tensor> outputs = MakeOutputs(outputs_);
  return RunRaw(inputs, outputs, AddSeconds, &seconds);
}

Result<BenchReport> Bench(const ModelLibrary& model, std::span<const Tensor> inputs,
                          const BenchOptions& options) {
  SystemClock clock;
  const std::size_t count = model.operators().size();
  TW_RETURN_IF_ERROR(model.Run(inputs));  // warm-up: memory, threads, caches
  std::vector<std::vector<double>> samples(count);
  std::vector<double> totals;
  const double end = clock.MonotonicSeconds() + options.seconds;
  while (clock.MonotonicSeconds() < end ||
         totals.size() < static_cast<std::size_t>(options.min_rounds)) {
    // Rounds with and without observation of each operator alternate; the total is of the latter.
    const double start = clock.MonotonicSeconds();
    TW_RETURN_IF_ERROR(model.Run(inputs));
    totals.push_back(clock.MonotonicSeconds() - start);
    std::vector<double> seconds(count, 0.0);
    TW_RETURN_IF_ERROR(model.RunTimed(inputs, seconds));
    for (std::size_t i = 0; i < count; ++i) samples[i].push_back(seconds[i]);
  }
  BenchReport report;
  report.threads = model.threads();
  report.rounds = static_cast<int>(totals.size());
  report.min_seconds = *std::ranges::min_element(totals);
  report.total_seconds = MedianOf(totals);
  double least = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const ModelOperator& op = model.operators()[i];
    BenchReport::Row row{op.result.name,       op.Description(), op.layout,
                         MedianOf(samples[i]), op.macs,          op.bytes};
    const double bound =
        model.on_gpu() ? 0
                       : RooflineOf(options.peaks, op.macs, op.bytes, op.int8, model.threads())
                             .LowerBound(op.ProductShare());
    row.roofline_share = row.seconds > 0 ? bound / row.seconds : 0;
    least += bound;
    report.macs += op.macs;
    report.operators_seconds += row.seconds;
    report.rows.push_back(std::move(row));
  }
  report.roofline_share = least / report.total_seconds;
  return report;
}

}  // namespace tilewright
