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
/// Returns the names and types of a graph's nodes.
std::vector<ModelValue> ValuesOf(const Graph& graph, const std::vector<int>& nodes);

/// One operator of a runnable network.
struct ModelOperator {
  ModelValue result;  ///< as the source has it
  std::string op;     ///< "conv2d + add, relu"
  std::string
      logical_layout;  ///< layout of `result` in the source, such as "NCHW"; empty if unknown
  std::string layout;  ///< of the result in memory; empty: as in the source
  std::int64_t macs = 0;
  std::int64_t bytes = 0;
  bool int8 = false;  ///< its products are of 8-bit integers
  /// Tolerance of floats, if the kernel needs more than Compare allows for their type.
  std::optional<double> tolerance = std::nullopt;
  /// The reference evaluator computed it: nothing to compare.
  bool is_reference = false;
  bool bfloat16 = false;             ///< it multiplies pairs of bfloat16 at once
  std::string kernel = {};           ///< symbol, if known
  std::int64_t winograd_tile = 0;    ///< as KernelLayouts has it
  std::int64_t winograd_kernel = 0;  ///< rows of the convolution's kernel, with tiles; 0: unknown
  std::int64_t result_bytes = 0;     ///< in memory, without room between rows; of a library
  /// Of a result with open positions, whose rows are apart in memory; else null.
  const TwOpenStep* open_rows = nullptr;

  /// Returns the products that its kernel computes for each of `macs` (see WinogradProductShare),
  /// in the time that one of float32 takes.
  double ProductShare() const;
  /// Returns `op`, with the algorithm if the operator does not imply it.
  std::string Description() const;
};

/// Returns the result of an operator in memory, with its rows one after the other. result: where
/// the library has it. copy: gets the elements if they are elsewhere.
const void* CompactResult(const ModelOperator& op, const void* result,
                          std::vector<std::byte>& copy);

/// Network in a runnable form: a library, or the steps of a plan (plan_run.h).
class RunnableNetwork {
 public:
  /// Called with each operator's number before it, and with the number of operators after the last
  /// one.
  using OnBegin = std::function<void(std::size_t index)>;
  /// Called after each operator with its number and its result in the source's layout. An error
  /// stops the run and is returned.
  using OnResult = std::function<Status(std::size_t index, Tensor result)>;

  virtual ~RunnableNetwork() = default;

  const std::string& name() const { return name_; }
  const std::vector<ModelValue>& inputs() const { return inputs_; }
  const std::vector<ModelValue>& outputs() const { return outputs_; }
  const std::vector<ModelOperator>& operators() const { return operators_; }
  /// Whether the operators run on a GPU, where observing a result makes the run wait for it.
  virtual bool on_gpu() const { return false; }
  /// Whether the operators are machine code; see PartitionLike (verify.h).
  virtual bool machine_code() const { return true; }
  /// Whether the number of positions of a sequence is open; see PartitionLike.
  virtual bool open_positions() const { return false; }

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
  /// Errors: kNotFound; kInvalidArgument if the file is no compiled model; kUnsupported if it has
  /// another version of the interface, needs more CPU features, or needs too much memory. set:
  /// number of the shape variant.
  static Result<ModelLibrary> Open(const std::string& path, int set = 0);
  /// Returns the number of shape variants in the library.
  int variants() const { return VariantCount(loaded_.library); }

  const std::string& target() const { return target_; }
  /// Returns the open dimension; null if all sizes are fixed. The library begins with the least
  /// size.
  const TwOpenDimension* open_dimension() const { return loaded_.open.dimension; }
  /// Sets the size of the open dimension; inputs(), outputs() and operators() are then of this
  /// size. Errors: those of SetModelSize.
  Status SetSize(const std::string& dimension, std::int64_t size);
  /// As SetSize, with the size at which the inputs have these types. Does nothing without an open
  /// dimension, or if no size gives them. Errors: those of SetSize.
  Status FitSize(std::span<const ModelValue> inputs);
  /// As SetSize, from 1 to the largest size, for checks (TwModelResize).
  Status Resize(std::int64_t size);
  /// Returns the quantization parameters of inputs and results, as far as the source graph stated
  /// them.
  const QuantizationMap& quantization_map() const { return quantization_map_; }
  /// Returns Graph::synthetic_constants of the source graph.
  std::int64_t synthetic_constants() const { return synthetic_constants_; }
  /// Errors: kInvalidArgument if threads is not positive; kUnavailable if they cannot be started.
  Status SetThreads(int threads);
  int threads() const { return threads_; }
  bool on_gpu() const override { return loaded_.gpu.open != nullptr; }
  bool machine_code() const override { return !on_gpu(); }
  bool open_positions() const override;
  /// Opens the device for the next runs; otherwise the first run opens device 0.
  /// Errors: kInvalidArgument if the model is not for a GPU; kNotFound, kUnsupported, kUnavailable
  /// with the driver's text.
  Status UseDevice(const std::string& driver, int ordinal);

  /// Runs as Run and adds each operator's seconds to `seconds` (one per operator).
  Status RunTimed(std::span<const Tensor> inputs, std::span<double> seconds) const;
  /// Return value of a RunRaw observer that stops the run, which then succeeds.
  static constexpr std::int32_t kStopped = 200;
  /// Runs into `outputs`, which have the types of outputs(); elements that no operator writes keep
  /// their values. `observer` (see TwModelRun) gets results in place.
  Status RunRaw(std::span<const Tensor> inputs, std::vector<Tensor>& outputs, TwObserver observer,
                void* context) const;

 private:
  ModelLibrary(LoadedModel loaded, int set)
      : loaded_(std::move(loaded)), model_(loaded_.functions.model), set_(set) {}
  Status Load();
  Status LoadTables();
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

/// Times of a model's operators.
struct BenchReport {
  struct Row {
    std::string value, op, layout;
    double seconds = 0;  ///< median of the rounds
    std::int64_t macs = 0, bytes = 0;
    double roofline_share =
        0;  ///< least possible time / seconds; 0 for a GPU, whose peaks are unknown
  };
  std::vector<Row> rows;
  /// Sum of the rows. Their runs also read a clock after each operator.
  double operators_seconds = 0;
  double total_seconds = 0;  ///< median of whole runs, with the time between operators
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
