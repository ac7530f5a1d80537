#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"
#include "src/runtime/loaded_model.h"
#include "src/runtime/roofline.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// An input, an output or the result of an operator.
struct ModelValue {
  std::string name;
  TensorType type;
};
/// Those of a graph's nodes.
std::vector<ModelValue> ValuesOf(const Graph& graph, const std::vector<int>& nodes);

/// One operator of a network in a form that runs.
struct ModelOperator {
  ModelValue result;  ///< as the source has it
  std::string op;     ///< "conv2d + add, relu"
  std::string
      logical_layout;  ///< layout of `result` in the source, such as "NCHW"; empty if unknown
  std::string layout;  ///< of the result in memory; empty: as in the source
  std::int64_t macs = 0;
  std::int64_t bytes = 0;
  bool int8 = false;  ///< its products are of 8-bit integers
  /// Of floats, where its kernel needs more than Compare allows for their type.
  std::optional<double> tolerance = std::nullopt;
  /// The reference evaluator made it: there is nothing to compare.
  bool is_reference = false;
  std::string kernel = {};           ///< symbol, where it is known
  std::int64_t winograd_tile = 0;    ///< as KernelLayouts has it
  std::int64_t winograd_kernel = 0;  ///< rows of the convolution's kernel, with tiles; 0: not known

  /// Products that its kernel computes for each of `macs`; see WinogradProductShare.
  double ProductShare() const;
  /// `op`, and the algorithm where that is not what the operator says.
  std::string Description() const;
};

/// A network in a form that runs: a library, or the steps of a plan (plan_run.h).
class RunnableNetwork {
 public:
  /// Called before each operator with its number, and once with the number of operators when the
  /// last is done.
  using OnBegin = std::function<void(std::size_t index)>;
  /// Called after each operator with its number and its result as the source has it (layout
  /// undone). An error stops the run and is returned.
  using OnResult = std::function<Status(std::size_t index, Tensor result)>;

  virtual ~RunnableNetwork() = default;

  const std::string& name() const { return name_; }
  const std::vector<ModelValue>& inputs() const { return inputs_; }
  const std::vector<ModelValue>& outputs() const { return outputs_; }
  const std::vector<ModelOperator>& operators() const { return operators_; }
  /// Whether the operators run on a GPU, where to look on makes a run wait after each.
  virtual bool on_gpu() const { return false; }
  /// Whether the operators are machine code, see PartitionLike (verify.h).
  virtual bool machine_code() const { return true; }

  /// inputs: in order, of the types of inputs(). begin: may be null.
  /// Errors: kInvalidArgument naming the input; those of an operator, with its name.
  Result<std::vector<Tensor>> Run(std::span<const Tensor> inputs,
                                  const OnBegin& begin = nullptr) const {
    return RunWithHooks(inputs, begin, nullptr);
  }
  Result<std::vector<Tensor>> RunObserved(std::span<const Tensor> inputs,
                                          const OnResult& observe) const {
    return RunWithHooks(inputs, nullptr, observe);
  }

 protected:
  RunnableNetwork() = default;
  RunnableNetwork(RunnableNetwork&&) = default;
  RunnableNetwork& operator=(RunnableNetwork&&) = default;
  /// One of begin and observe is null.
  virtual Result<std::vector<Tensor>> RunWithHooks(std::span<const Tensor> inputs,
                                                   const OnBegin& begin,
                                                   const OnResult& observe) const = 0;
  /// Errors: kInvalidArgument unless they are what Run takes.
  Status CheckInputs(std::span<const Tensor> inputs) const;

  std::string name_;
  std::vector<ModelValue> inputs_, outputs_;
  std::vector<ModelOperator> operators_;
};

/// A library made by Compile, loaded. One run at a time; runs of several threads wait for each
/// other.
class ModelLibrary final : public RunnableNetwork {
 public:
  /// Errors: kNotFound; kInvalidArgument if it is no compiled model; kUnsupported if it was made by
  /// another version of the interface, for a CPU with more features, or needs too much memory.
  /// set: of several sets of sizes.
  static Result<ModelLibrary> Open(const std::string& path, int set = 0);
  /// Of several sets of sizes, of which this is one: how many there are.
  int variants() const { return VariantCount(loaded_.library); }

  const std::string& target() const { return target_; }
  /// Of inputs and results of operators, as far as the graph said it that the library was made of.
  const QuantizationMap& quantization_map() const { return quantization_map_; }
  /// Of that graph.
  std::int64_t synthetic_constants() const { return synthetic_constants_; }
  /// Errors: kInvalidArgument if threads is not positive; kUnavailable if they cannot be started.
  Status SetThreads(int threads);
  int threads() const { return threads_; }
  bool on_gpu() const override { return loaded_.gpu.open != nullptr; }
  bool machine_code() const override { return !on_gpu(); }
  /// Opens the device that the runs to come use; otherwise the first run opens device 0.
  /// Errors: kInvalidArgument if the model is not for a GPU; kNotFound, kUnsupported, kUnavailable
  /// with the driver's words.
  Status UseDevice(const std::string& driver, int ordinal);

  /// As Run; adds each operator's seconds to `seconds` (one per operator).
  Status RunTimed(std::span<const Tensor> inputs, std::span<double> seconds) const;
  /// What an observer of RunRaw returns to stop the run, which then succeeds.
  static constexpr std::int32_t kStopped = 200;
  /// As Run, into `outputs`, which are of the types of outputs() and keep what no operator writes;
  /// `observer` (see TwModelRun) gets results where they lie.
  Status RunRaw(std::span<const Tensor> inputs, std::vector<Tensor>& outputs, TwObserver observer,
                void* context) const;

 private:
  ModelLibrary(LoadedModel loaded, int set)
      : loaded_(std::move(loaded)), model_(loaded_.functions.model), set_(set) {}
  Status Load();
  Status LoadQuantizationMap();
  Result<std::vector<Tensor>> RunWithHooks(std::span<const Tensor> inputs, const OnBegin& begin,
                                           const OnResult& observe) const override;

  LoadedModel loaded_;
  const TwModel* model_ = nullptr;
  int set_ = 0;
  std::string target_;
  QuantizationMap quantization_map_;
  std::int64_t synthetic_constants_ = 0;
  int threads_ = 1;
};

/// Where the time of a model goes.
struct BenchReport {
  struct Row {
    std::string value, op, layout;
    double seconds = 0;  ///< median of the rounds
    std::int64_t macs = 0, bytes = 0;
    double roofline_share = 0;  ///< least possible time / seconds; 0 for a GPU, whose is not known
  };
  std::vector<Row> rows;
  /// Sum of the rows. Their runs also read a clock after each operator.
  double operators_seconds = 0;
  double total_seconds = 0;  ///< median of whole runs, with all that is between operators
  double min_seconds = 0;    ///< fastest whole run
  std::int64_t macs = 0;
  double roofline_share = 0;
  int rounds = 0, threads = 0;
  double gflops() const { return 2e-9 * static_cast<double>(macs) / total_seconds; }
};

struct BenchOptions {
  double seconds = 2;  ///< of measuring, after a warm-up
  int min_rounds = 5;
  MachinePeaks peaks;  ///< MeasurePeaks()
};
/// Runs the model on the given inputs until the time is over.
Result<BenchReport> Bench(const ModelLibrary& model, std::span<const Tensor> inputs,
                          const BenchOptions& options);

}  // namespace tilewright
