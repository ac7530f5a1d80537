/* Tilewright's tuner as a C++ library: an expression, its spaces, a measurement, a search, what is
 * known of it, and code that can be called. C++17; docs/tuner.md is the manual, and
 * docs/examples/expressions/program a whole program.
 *
 *   find_package(Tilewright 1.0 REQUIRED COMPONENTS tuner)
 *   target_link_libraries(program PRIVATE Tilewright::Tuner)
 *
 * Rules that hold for every function:
 *  - What can fail returns a Status or a Result. Nothing throws but std::bad_alloc, exits or
 * prints.
 *  - Expression, Space, Config, … are handles of values that never change: cheap to copy, and any
 *    number of threads may read one. A Tuner is for one thread at a time.
 *  - Times are seconds. Texts are UTF-8.
 *  - The interface only grows (docs/versions.md): a program that was linked with one release runs
 *    with every later one of the same MAJOR. Structures that a caller fills begin with their size.
 */

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

/// What the caller of a failed function does next; the numbers are those of tilewright.h. Expect
/// codes to be added.
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
  /// One line: the thing, the value seen, the value expected. Empty after success.
  const std::string& message() const { return message_; }

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

/// A value, or the reason there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: implicit by design
  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  /// These require that it is ok.
  const T& operator*() const& { return *value_; }
  T& operator*() & { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  const T* operator->() const { return &*value_; }
  T* operator->() { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

/// A tensor that an expression takes or makes. Never gets another member.
struct Tensor {
  std::string name;
  std::string dtype;  ///< "float32", "int8", …
  std::vector<std::int64_t> shape;
  std::int64_t bytes = 0;
  bool constant = false;  ///< of the model (docs/expressions.md)
};

/// What is computed (docs/expressions.md).
class Expression {
 public:
  /// name: of the text in messages.
  /// Errors: kInvalidArgument as "name:line:column: what was expected".
  TW_TUNER_API static Result<Expression> Parse(std::string_view text,
                                               std::string_view name = "expression");
  /// Of a file. Errors: also kNotFound.
  TW_TUNER_API static Result<Expression> Read(const std::string& path);
  /// Of a key as records, queries and key() have it: "expression(…)".
  /// Errors: kInvalidArgument for anything else.
  TW_TUNER_API static Result<Expression> FromKey(std::string_view key);

  /// The canonical text: equal for expressions that differ in names and the order of axes only.
  TW_TUNER_API const std::string& key() const;
  /// In the order of the text, which is that of the arguments of compiled code.
  TW_TUNER_API const std::vector<Tensor>& inputs() const;
  TW_TUNER_API const Tensor& result() const;
  /// Arithmetic of one run; a multiply-add is two.
  TW_TUNER_API double operations() const;

  struct Data;
  /// For the library.
  explicit Expression(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  const Data& data() const { return *data_; }

 private:
  std::shared_ptr<const Data> data_;
};

/// A choice that a space has. Never gets another member.
struct Knob {
  std::string name;
  std::vector<std::string> values;  ///< as JSON
};

/// A point of a space.
class Config {
 public:
  /// Template that it is of, such as "auto.cpu/tiles".
  TW_TUNER_API const std::string& template_key() const;
  TW_TUNER_API int template_version() const;
  TW_TUNER_API std::int64_t index() const;
  /// {"index":188,"values":{"tile":[4,2],…}}: a config is its values, the index a shorthand.
  TW_TUNER_API const std::string& json() const;

  struct Data;
  /// For the library.
  explicit Config(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  const Data& data() const { return *data_; }

 private:
  std::shared_ptr<const Data> data_;
};

/// What one template leaves open for one expression on one target.
class Space {
 public:
  TW_TUNER_API const std::string& template_key() const;
  TW_TUNER_API int template_version() const;
  /// How many configs; spaces may have 10^12 of them.
  TW_TUNER_API std::int64_t size() const;
  TW_TUNER_API const std::vector<Knob>& knobs() const;
  /// Errors: kInvalidArgument unless 0 <= index < size().
  TW_TUNER_API Result<Config> At(std::int64_t index) const;
  /// The config that is used when nothing is known.
  TW_TUNER_API Result<Config> Default() const;
  /// Of values as Config::json() has them, or their object alone.
  /// Errors: kInvalidArgument, kNotFound naming the knob and the value the space lacks.
  TW_TUNER_API Result<Config> Locate(std::string_view json) const;
  /// Whether a config of this space is legal: it makes a schedule that can be lowered. Nothing is
  /// compiled. Errors: kInvalidArgument with the reason.
  TW_TUNER_API Status Check(const Config& config) const;
  /// A config as the text of a schedule (docs/schedules.md), ready to be edited. name: up to 22
  /// letters. Errors: also kUnsupported.
  TW_TUNER_API Result<std::string> ScheduleText(const Config& config, std::string_view name) const;

  struct Data;
  /// For the library.
  explicit Space(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  const Data& data() const { return *data_; }

 private:
  std::shared_ptr<const Data> data_;
};

/// What came of a config that was built, compared with the reference and timed.
class Measurement {
 public:
  /// "ok", "invalid", "build_failed", "wrong_result", …: docs/measuring.md.
  TW_TUNER_API const std::string& outcome() const;
  TW_TUNER_API bool ok() const;
  /// Of a failure, one line.
  TW_TUNER_API const std::string& reason() const;
  /// Of one run; 0 after a failure.
  TW_TUNER_API double seconds() const;
  /// Relative half-width of the 95 % interval of seconds().
  TW_TUNER_API double noise() const;
  /// Whether the result was compared with the reference, and is right.
  TW_TUNER_API bool verified() const;
  TW_TUNER_API double max_abs_error() const;

  struct Data;
  /// For the library.
  explicit Measurement(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<const Data> data_;
};

/// How far a search is. Later releases add members at the end.
struct Progress {
  std::int64_t trials = 0;    ///< done so far, earlier searches of the same kind included
  double best_seconds = 0;    ///< 0: none is right yet
  double newest_seconds = 0;  ///< of the newest trial; 0: it failed
  double eta_seconds = 0;     ///< until the search is over; 0: not known
};

/// How to search. Later releases add members at the end.
struct TuneOptions {
  /// Set by the initializer: leave it. A library that is newer reads no more than this.
  std::uint32_t struct_size = sizeof(TuneOptions);
  /// Record store that keeps every trial, and where the same search goes on; made if it is missing.
  std::string store;
  std::int64_t trials = 0;         ///< 0: no limit; then `seconds` has to be one
  double seconds = 0;              ///< of the clock; 0: no limit
  std::string strategy = "model";  ///< or "genetic", "random", "grid"
  std::uint64_t seed = 1;
  /// Keys of the templates to be searched; empty: all that serve the expression.
  std::vector<std::string> templates;
  /// Called after every trial, on the thread that called Tune; false ends the search soon. May be
  /// empty.
  std::function<bool(const Progress&)> progress;
};

/// What a search came to.
class TuneReport {
 public:
  /// In the store now, of this search and of earlier ones that it went on from.
  TW_TUNER_API std::int64_t trials() const;
  /// Of this call.
  TW_TUNER_API std::int64_t new_trials() const;
  TW_TUNER_API std::int64_t failures() const;
  /// 0 if none is right.
  TW_TUNER_API double best_seconds() const;
  /// Of the default config of the preferred template; 0 if it was not measured.
  TW_TUNER_API double default_seconds() const;
  TW_TUNER_API const std::string& best_template() const;
  /// As Config::json(); empty if none is right.
  TW_TUNER_API const std::string& best_config() const;
  /// "trials", "budget", "exhausted", "no improvement", "stopped".
  TW_TUNER_API const std::string& finish_reason() const;

  struct Data;
  /// For the library.
  explicit TuneReport(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<const Data> data_;
};

/// What a store knows of an expression.
class Answer {
 public:
  /// "hit": measured here, "near": on another device or of something similar, "default": not
  /// measured, "miss".
  TW_TUNER_API const std::string& kind() const;
  /// What to build; none for a miss.
  TW_TUNER_API const std::optional<Config>& config() const;
  /// As measured; not a number where it was not.
  TW_TUNER_API double seconds() const;
  /// One line for people. Never empty.
  TW_TUNER_API const std::string& explanation() const;

  struct Data;
  /// For the library.
  explicit Answer(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<const Data> data_;
};

/// Code of an expression, loaded into this process; it goes with the last handle.
class Kernel {
 public:
  /// inputs: one pointer for each of Expression::inputs(), outputs: one, for the result; row-major,
  /// best aligned to 64 bytes. Returns 0, or a code of the compiled library's header. Calls of
  /// several threads wait for each other.
  using Function = std::int32_t (*)(const void* const* inputs, void* const* outputs);

  /// Valid as long as a handle of this kernel.
  TW_TUNER_API Function function() const;
  /// As the function, with its codes as a Status. Errors: kInvalidArgument for a wrong number of
  /// inputs or a null pointer; kUnavailable for no memory or threads.
  TW_TUNER_API Status Run(const std::vector<const void*>& inputs, void* result) const;
  TW_TUNER_API const std::string& template_key() const;
  /// As Config::json().
  TW_TUNER_API const std::string& config() const;
  /// Whether the config is one that was measured or given; false: the default one.
  TW_TUNER_API bool tuned() const;
  /// Why it is this config.
  TW_TUNER_API const std::string& explanation() const;

  struct Data;
  /// For the library.
  explicit Kernel(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<const Data> data_;
};

/// How to compile. Later releases add members at the end.
struct CompileOptions {
  /// Set by the initializer: leave it.
  std::uint32_t struct_size = sizeof(CompileOptions);
  /// Whose best record is taken; empty: none is asked.
  std::string store;
  /// Not none: this config, whatever the store has.
  std::optional<Config> config;
  /// Prefix of the C functions of a library: letters, digits and '_'.
  std::string name = "expression";
  /// Run what was compiled and compare samples of its result with the reference before it is given
  /// out, in a process that is forked from this one.
  bool verify = true;
  /// Room for later members: leave it.
  std::uint8_t reserved[7] = {};
};

/// What a Tuner is made for. Later releases add members at the end.
struct TunerOptions {
  /// Set by the initializer: leave it.
  std::uint32_t struct_size = sizeof(TunerOptions);
  /// As in `tilewright tune --target`: "native", or "llvm -mcpu=znver4".
  std::string target = "native";
  int threads = 1;  ///< that a kernel may use
  /// Program that builds and runs candidates in processes of their own; empty: the one installed
  /// beside the library ("tilewright/tuner-worker").
  std::string worker;
};

/// Where everything else is asked for: a target, and the templates there are. Movable; for one
/// thread at a time.
class Tuner {
 public:
  /// Errors: kInvalidArgument for a target that is not understood, threads below 1; kUnsupported
  /// for one whose kernels are no machine code.
  TW_TUNER_API static Result<Tuner> Create(const TunerOptions& options = {});
  TW_TUNER_API Tuner(Tuner&&) noexcept;
  TW_TUNER_API Tuner& operator=(Tuner&&) noexcept;
  TW_TUNER_API ~Tuner();

  /// Canonical text of the target.
  TW_TUNER_API const std::string& target() const;
  /// Adds a template that is a text (docs/schedules.md). name: of the text in messages.
  /// returns its key: "schedule/…". The same text again is no error.
  /// Errors: kInvalidArgument as "name:line:column: what was expected".
  TW_TUNER_API Result<std::string> AddSchedule(std::string_view text,
                                               std::string_view name = "schedule");
  /// Of a file. Errors: also kNotFound.
  TW_TUNER_API Result<std::string> AddScheduleFile(const std::string& path);
  /// Keys of the templates that serve the expression, the preferred one first.
  TW_TUNER_API std::vector<std::string> Templates(const Expression& expression) const;
  /// template_key: empty for the preferred one.
  /// Errors: kNotFound for an unknown template; kUnsupported for one that does not serve the
  /// expression, with the reason.
  TW_TUNER_API Result<Space> SpaceOf(const Expression& expression,
                                     std::string_view template_key = {}) const;
  /// Builds, verifies and times a config in processes of their own, on an otherwise idle core. What
  /// fails is a Measurement, too. Errors: kUnavailable if no worker can be started.
  TW_TUNER_API Result<Measurement> Measure(const Config& config);
  /// Searches. Every trial is in the store before it counts; a search with the same options goes on
  /// where it was left. Texts of schedules that were added are kept in the store with the records.
  /// Errors: kInvalidArgument for bad options, naming templates that do not serve the expression;
  /// kCorrupt, kUnavailable of the store.
  TW_TUNER_API Result<TuneReport> Tune(const Expression& expression, const TuneOptions& options);
  /// The best that a store knows, else the default config. Templates that are texts come with the
  /// store. Errors: those of opening it.
  TW_TUNER_API Result<Answer> Query(const Expression& expression, const std::string& store) const;
  /// Code in this process. Errors: kUnsupported for a target that this machine cannot run;
  /// kInternal for code that is wrong.
  TW_TUNER_API Result<Kernel> Compile(const Expression& expression,
                                      const CompileOptions& options = {}) const;
  /// As Compile, into a shared library with a C interface, which needs nothing of Tilewright, and
  /// its header beside it (path with .h for .so).
  TW_TUNER_API Status CompileLibrary(const Expression& expression, const std::string& path,
                                     const CompileOptions& options = {}) const;

  struct Data;
  /// For the library.
  explicit Tuner(std::unique_ptr<Data> data);

 private:
  std::unique_ptr<Data> data_;
};

}  // namespace v1
}  // namespace tilewright::tuner

#endif  // TILEWRIGHT_TUNER_H_
