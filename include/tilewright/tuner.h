/* Tilewright's tuner as a C++ library: expressions, their search spaces, measurement, search,
 * queries of record stores, and compiled code that can be called. C++17; docs/tuner.md is the
 * manual, and docs/examples/expressions/program a complete program.
 *
 *   find_package(Tilewright 1.0 REQUIRED COMPONENTS tuner)
 *   target_link_libraries(program PRIVATE Tilewright::Tuner)
 *
 * Rules for every function:
 * - Functions that can fail return a Status or a Result. No function throws anything but
 *   std::bad_alloc, exits or prints.
 * - Expression, Space, Config, … are handles of immutable values: cheap to copy, and readable by
 *   any number of threads at once. A Tuner is for one thread at a time.
 * - Times are in seconds. Texts are UTF-8.
 * - The interface only grows (docs/versions.md): a program linked with one release runs with every
 *   later one of the same MAJOR. Structures that a caller fills begin with their size. */

#ifndef TILEWRIGHT_TUNER_H_
#define TILEWRIGHT_TUNER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if defined(__GNUC__)
#define TW_TUNER_API __attribute__((visibility("default")))
#else
#define TW_TUNER_API
#endif

namespace tilewright::tuner {
inline namespace v1 {

/// Error code by the caller's next action; the numbers are those of tilewright.h. Codes may be
/// added.
enum class Code : std::int32_t {
  kOk = 0,
  kInvalidArgument = 1,  ///< fix the input
  kNotFound = 2,         ///< fall back
  kUnsupported = 3,      ///< choose another way
  kCorrupt = 4,          ///< stop, keep the file
  kUnavailable = 5,      ///< retry
  kInternal = 6,         ///< report it
};

/// Outcome of a function that can fail.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}
  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  /// Returns one line: the item, the actual value, the expected value. Empty after success.
  const std::string& message() const { return message_; }

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

/// Value, or the Status of a failure.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: implicit by design
  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  /// These require ok().
  const T& operator*() const& { return *value_; }
  T& operator*() & { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  const T* operator->() const { return &*value_; }
  T* operator->() { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

/// Input or result tensor of an expression. Later releases add no members.
struct Tensor {
  std::string name;
  std::string dtype;  ///< "float32", "int8", …
  std::vector<std::int64_t> shape;
  std::int64_t bytes = 0;
  bool constant = false;  ///< of the model (docs/expressions.md)
};

/// Tensor computation (docs/expressions.md).
class Expression {
 public:
  /// Parses a text. name: of the text in messages.
  /// Errors: kInvalidArgument as "name:line:column: what was expected".
  TW_TUNER_API static Result<Expression> Parse(std::string_view text,
                                               std::string_view name = "expression");
  /// Reads a file.
  /// Errors: also kNotFound.
  TW_TUNER_API static Result<Expression> Read(const std::string& path);
  /// Parses a key as in records, queries and key(): "expression(…)".
  /// Errors: kInvalidArgument for any other text.
  TW_TUNER_API static Result<Expression> FromKey(std::string_view key);

  /// Returns the canonical text: equal for expressions that differ only in names and the order of
  /// axes.
  TW_TUNER_API const std::string& key() const;
  /// Returns the inputs in the order of the text, which is that of the arguments of compiled code.
  TW_TUNER_API const std::vector<Tensor>& inputs() const;
  TW_TUNER_API const Tensor& result() const;
  /// Returns the arithmetic operations of one run; a multiply-add is two.
  TW_TUNER_API double operations() const;

  struct Data;
  /// For internal use by the library.
  explicit Expression(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  const Data& data() const { return *data_; }

 private:
  std::shared_ptr<const Data> data_;
};

/// Knob of a space. Later releases add no members.
struct Knob {
  std::string name;
  std::vector<std::string> values;  ///< as JSON
};

/// Point of a space.
class Config {
 public:
  /// Returns the key of its template, such as "auto.cpu/tiles".
  TW_TUNER_API const std::string& template_key() const;
  TW_TUNER_API int template_version() const;
  TW_TUNER_API std::int64_t index() const;
  /// Returns {"index":188,"values":{"tile":[4,2],…}}. The values define the config; the index is a
  /// short form.
  TW_TUNER_API const std::string& json() const;

  struct Data;
  /// For internal use by the library.
  explicit Config(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  const Data& data() const { return *data_; }

 private:
  std::shared_ptr<const Data> data_;
};

/// Search space of one template for one expression on one target.
class Space {
 public:
  TW_TUNER_API const std::string& template_key() const;
  TW_TUNER_API int template_version() const;
  /// Returns the number of configs; spaces may have 10^12 of them.
  TW_TUNER_API std::int64_t size() const;
  TW_TUNER_API const std::vector<Knob>& knobs() const;
  /// Returns a config by index.
  /// Errors: kInvalidArgument unless 0 <= index < size().
  TW_TUNER_API Result<Config> At(std::int64_t index) const;
  /// Returns the config used without tuning.
  TW_TUNER_API Result<Config> Default() const;
  /// Looks up a config by its values in the form of Config::json(), or by the "values" object
  /// alone.
  /// Errors: kInvalidArgument, kNotFound naming the knob and the value that the space lacks.
  TW_TUNER_API Result<Config> Locate(std::string_view json) const;
  /// Checks that a config of this space is legal: its schedule can be lowered. Compiles nothing.
  /// Errors: kInvalidArgument with the reason.
  TW_TUNER_API Status Check(const Config& config) const;
  /// Returns a config as the text of a schedule (docs/schedules.md) for editing. name: up to 22
  /// letters.
  /// Errors: also kUnsupported.
  TW_TUNER_API Result<std::string> ScheduleText(const Config& config, std::string_view name) const;

  struct Data;
  /// For internal use by the library.
  explicit Space(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  const Data& data() const { return *data_; }

 private:
  std::shared_ptr<const Data> data_;
};

/// Result of building, verifying and timing a config.
class Measurement {
 public:
  /// Returns "ok", "invalid", "build_failed", "wrong_result", …: see docs/measuring.md.
  TW_TUNER_API const std::string& outcome() const;
  TW_TUNER_API bool ok() const;
  /// Returns the reason of a failure, one line.
  TW_TUNER_API const std::string& reason() const;
  /// Returns the time of one run; 0 after a failure.
  TW_TUNER_API double seconds() const;
  /// Returns the relative half-width of the 95 % interval of seconds().
  TW_TUNER_API double noise() const;
  /// Returns true if the result was compared with the reference and is correct.
  TW_TUNER_API bool verified() const;
  TW_TUNER_API double max_abs_error() const;

  struct Data;
  /// For internal use by the library.
  explicit Measurement(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<const Data> data_;
};

/// Progress of a search. Later releases add members at the end.
struct Progress {
  std::int64_t trials = 0;    ///< trials so far, including earlier searches with the same options
  double best_seconds = 0;    ///< 0: no correct result yet
  double newest_seconds = 0;  ///< of the newest trial; 0: it failed
  double eta_seconds = 0;     ///< until the search ends; 0: unknown
};

/// Options of a search. Later releases add members at the end.
struct TuneOptions {
  /// Set by the initializer; do not change it. A newer library reads only this many bytes.
  std::uint32_t struct_size = sizeof(TuneOptions);
  /// Record store of every trial, from which the same search resumes; created if it is missing.
  std::string store;
  std::int64_t trials = 0;         ///< 0: no limit; then `seconds` is required
  double seconds = 0;              ///< wall-clock time; 0: no limit
  std::string strategy = "model";  ///< or "genetic", "random", "grid"
  std::uint64_t seed = 1;
  /// Keys of the templates to search; empty: all that serve the expression.
  std::vector<std::string> templates;
  /// Called after every trial, on the thread that called Tune; returning false ends the search
  /// soon. May be empty.
  std::function<bool(const Progress&)> progress;
};

/// Result of a search.
class TuneReport {
 public:
  /// Returns the number of trials in the store, of this search and of the earlier ones that it
  /// resumed.
  TW_TUNER_API std::int64_t trials() const;
  /// Returns the number of trials of this call.
  TW_TUNER_API std::int64_t new_trials() const;
  TW_TUNER_API std::int64_t failures() const;
  /// Returns 0 if no result is correct.
  TW_TUNER_API double best_seconds() const;
  /// Returns the time of the default config of the preferred template; 0 if it was not measured.
  TW_TUNER_API double default_seconds() const;
  TW_TUNER_API const std::string& best_template() const;
  /// Returns the config in the form of Config::json(); empty if no result is correct.
  TW_TUNER_API const std::string& best_config() const;
  /// Returns "trials", "budget", "exhausted", "no improvement" or "stopped".
  TW_TUNER_API const std::string& finish_reason() const;

  struct Data;
  /// For internal use by the library.
  explicit TuneReport(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<const Data> data_;
};

/// Query result of a store for an expression.
class Answer {
 public:
  /// Returns "hit": measured on this device, "near": on another device or for a similar expression,
  /// "default": not measured, or "miss".
  TW_TUNER_API const std::string& kind() const;
  /// Returns the config to build; none for a miss.
  TW_TUNER_API const std::optional<Config>& config() const;
  /// Returns the measured time; NaN if it was not measured.
  TW_TUNER_API double seconds() const;
  /// Returns one line of text. Never empty.
  TW_TUNER_API const std::string& explanation() const;

  struct Data;
  /// For internal use by the library.
  explicit Answer(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<const Data> data_;
};

/// Code of an expression, loaded into this process and unloaded with the last handle.
class Kernel {
 public:
  /// inputs: one pointer for each of Expression::inputs(); outputs: one, for the result. Row-major,
  /// preferably aligned to 64 bytes. Returns 0, or a code of the compiled library's header.
  /// Concurrent calls are serialized.
  using Function = std::int32_t (*)(const void* const* inputs, void* const* outputs);

  /// Returns the function; valid while a handle of this kernel exists.
  TW_TUNER_API Function function() const;
  /// Calls the function and converts its code to a Status.
  /// Errors: kInvalidArgument for a wrong number of inputs or a null pointer; kUnavailable for lack
  /// of memory or threads.
  TW_TUNER_API Status Run(const std::vector<const void*>& inputs, void* result) const;
  TW_TUNER_API const std::string& template_key() const;
  /// Returns the config in the form of Config::json().
  TW_TUNER_API const std::string& config() const;
  /// Returns true if the config was measured or given, false for the default config.
  TW_TUNER_API bool tuned() const;
  /// Returns the reason for this config.
  TW_TUNER_API const std::string& explanation() const;

  struct Data;
  /// For internal use by the library.
  explicit Kernel(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<const Data> data_;
};

/// Options of compilation. Later releases add members at the end.
struct CompileOptions {
  /// Set by the initializer; do not change it.
  std::uint32_t struct_size = sizeof(CompileOptions);
  /// Store whose best record is used; empty: none.
  std::string store;
  /// If set: this config, independent of the store.
  std::optional<Config> config;
  /// Prefix of the C functions of a library: letters, digits and '_'.
  std::string name = "expression";
  /// Runs the compiled code and compares samples of its result with the reference before it is
  /// returned, in a forked process.
  bool verify = true;
  /// Reserved for later members; do not set it.
  std::uint8_t reserved[7] = {};
};

/// Options of a Tuner. Later releases add members at the end.
struct TunerOptions {
  /// Set by the initializer; do not change it.
  std::uint32_t struct_size = sizeof(TunerOptions);
  /// As in `tilewright tune --target`: "native", or "llvm -mcpu=znver4".
  std::string target = "native";
  int threads = 1;  ///< threads that a kernel may use
  /// Program that builds and runs candidates in subprocesses; empty: the one installed with the
  /// library ("tilewright/tuner-worker").
  std::string worker;
};

/// Options for reading a model file. Later releases add members at the end.
struct ModelOptions {
  /// Set by the initializer: leave it.
  std::uint32_t struct_size = sizeof(ModelOptions);
  std::vector<std::string> shapes;  ///< of inputs: "x=1x3x224x224"
  std::vector<std::string> dims;    ///< of symbolic dimensions: "batch=1"
};

/// Network in a model file (ONNX, Relay text). Keeps the path: each function that takes a Model
/// reads the file again.
class Model {
 public:
  /// Reads a model file. Errors: kNotFound; kInvalidArgument with file and reason for a file that
  /// is no model, and for sizes that it leaves open; kUnsupported naming operators that cannot be
  /// compiled.
  TW_TUNER_API static Result<Model> Read(const std::string& path, const ModelOptions& options = {});

  TW_TUNER_API const std::string& name() const;
  /// Inputs and outputs in the order of the arguments of compiled code.
  TW_TUNER_API const std::vector<Tensor>& inputs() const;
  TW_TUNER_API const std::vector<Tensor>& outputs() const;

  struct Data;
  /// For internal use by the library.
  explicit Model(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  const Data& data() const { return *data_; }

 private:
  std::shared_ptr<const Data> data_;
};

/// Workload of a network. Never gets another member.
struct ModelTask {
  std::string key;               ///< as in records and queries
  std::int64_t occurrences = 0;  ///< operators of the network with this workload
  double operations = 0;         ///< of one occurrence; a multiply-add is two
};

/// Result of a search for all tasks of a network.
class NetworkReport {
 public:
  TW_TUNER_API std::int64_t tasks() const;
  /// Trials in the store, including those of earlier searches that this one resumed.
  TW_TUNER_API std::int64_t trials() const;
  /// Trials of this call.
  TW_TUNER_API std::int64_t new_trials() const;
  TW_TUNER_API std::int64_t failures() const;
  /// Seconds of all occurrences of the tasks that have both times: with default configs, and with
  /// the best configs.
  TW_TUNER_API double default_seconds() const;
  TW_TUNER_API double best_seconds() const;

  struct Data;
  /// For internal use by the library.
  explicit NetworkReport(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<const Data> data_;
};

/// Compiled code of a network, loaded into this process. The last handle unloads it.
class Network {
 public:
  TW_TUNER_API const std::vector<Tensor>& inputs() const;
  TW_TUNER_API const std::vector<Tensor>& outputs() const;
  /// Number of operators after fusion, and of those that have a task but no record.
  TW_TUNER_API std::int64_t operators() const;
  TW_TUNER_API std::int64_t untuned() const;
  /// Runs the network once. One pointer for each tensor, row-major, best aligned to 64 bytes.
  /// Concurrent calls wait for each other. Errors: kInvalidArgument for a wrong number of tensors
  /// or a null pointer; kUnavailable for no memory or threads.
  TW_TUNER_API Status Run(const std::vector<const void*>& inputs,
                          const std::vector<void*>& outputs) const;

  struct Data;
  /// For internal use by the library.
  explicit Network(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<const Data> data_;
};

/// Target and its templates; entry point of all other operations. Movable; for one thread at a
/// time.
class Tuner {
 public:
  /// Creates a tuner.
  /// Errors: kInvalidArgument for an invalid target, or threads below 1; kUnsupported for a target
  /// whose kernels are not machine code.
  TW_TUNER_API static Result<Tuner> Create(const TunerOptions& options = {});
  TW_TUNER_API Tuner(Tuner&&) noexcept;
  TW_TUNER_API Tuner& operator=(Tuner&&) noexcept;
  TW_TUNER_API ~Tuner();

  /// Returns the canonical text of the target.
  TW_TUNER_API const std::string& target() const;
  /// Adds a text schedule (docs/schedules.md) as a template. name: of the text in messages. Returns
  /// its key: "schedule/…". Adding the same text again is not an error.
  /// Errors: kInvalidArgument as "name:line:column: what was expected".
  TW_TUNER_API Result<std::string> AddSchedule(std::string_view text,
                                               std::string_view name = "schedule");
  /// Reads a file; see AddSchedule.
  /// Errors: also kNotFound.
  TW_TUNER_API Result<std::string> AddScheduleFile(const std::string& path);
  /// Returns the keys of the templates that serve the expression, the preferred one first.
  TW_TUNER_API std::vector<std::string> Templates(const Expression& expression) const;
  /// Returns the space of a template. template_key: empty for the preferred one.
  /// Errors: kNotFound for an unknown template; kUnsupported for one that does not serve the
  /// expression, with the reason.
  TW_TUNER_API Result<Space> SpaceOf(const Expression& expression,
                                     std::string_view template_key = {}) const;
  /// Builds, verifies and times a config in subprocesses, on an otherwise idle core. A failed
  /// config also gives a Measurement.
  /// Errors: kUnavailable if no worker can be started.
  TW_TUNER_API Result<Measurement> Measure(const Config& config);
  /// Runs a search. Every trial is stored before it counts; a search with the same options resumes.
  /// Texts of added schedules are stored with the records.
  /// Errors: kInvalidArgument for invalid options, naming templates that do not serve the
  /// expression; kCorrupt, kUnavailable of the store.
  TW_TUNER_API Result<TuneReport> Tune(const Expression& expression, const TuneOptions& options);
  /// Returns the best config of a store, else the default config. Text schedules of the store are
  /// used too.
  /// Errors: those of opening the store.
  TW_TUNER_API Result<Answer> Query(const Expression& expression, const std::string& store) const;
  /// Compiles an expression and loads the code into this process.
  /// Errors: kUnsupported for a target that this machine cannot run; kInternal for code with wrong
  /// results.
  TW_TUNER_API Result<Kernel> Compile(const Expression& expression,
                                      const CompileOptions& options = {}) const;
  /// Compiles into a shared library with a C interface, which needs no part of Tilewright, and
  /// writes its header next to it (path with .h for .so).
  TW_TUNER_API Status CompileLibrary(const Expression& expression, const std::string& path,
                                     const CompileOptions& options = {}) const;

  /// Lists the tasks of a network, as Tune searches them.
  TW_TUNER_API Result<std::vector<ModelTask>> Tasks(const Model& model) const;
  /// Searches for all tasks of a network as one job. TuneOptions::templates limits the search to
  /// the tasks that these templates serve. Errors: as for an expression; kUnsupported naming tasks
  /// that no template serves.
  TW_TUNER_API Result<NetworkReport> Tune(const Model& model, const TuneOptions& options);
  /// Compiles a network with the best records of CompileOptions::store into this process. Operators
  /// without a record get their default configs (Network::untuned). CompileOptions::config must be
  /// empty. With the default name the functions are named after the model.
  TW_TUNER_API Result<Network> Compile(const Model& model,
                                       const CompileOptions& options = {}) const;
  /// As Compile, into a shared library with a C interface, and its header (path with .h for .so).
  TW_TUNER_API Status CompileLibrary(const Model& model, const std::string& path,
                                     const CompileOptions& options = {}) const;
  /// Compiles a network, runs it on random inputs and compares every operator with the reference.
  /// Errors: kInternal naming the first operator that differs; those of Compile.
  TW_TUNER_API Status Verify(const Model& model, const CompileOptions& options = {}) const;

  struct Data;
  /// For internal use by the library.
  explicit Tuner(std::unique_ptr<Data> data);

 private:
  std::unique_ptr<Data> data_;
};

}  // namespace v1
}  // namespace tilewright::tuner

#endif  // TILEWRIGHT_TUNER_H_
