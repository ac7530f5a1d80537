#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "records/package/catalog.h"
#include "src/base/status.h"
#include "src/graph/ir/graph.h"
#include "src/graph/passes/passes.h"
#include "src/target/cpu.h"
#include "src/target/target.h"

namespace tilewright {

/// What to do about an operator that no record serves.
enum class OnMiss : std::uint8_t { kWarn, kFail };

/// What is done with a library before anybody gets it. That the sizes of all memory follow from
/// shapes and layouts is looked at always.
enum class CheckLevel : std::uint8_t {
  kNone,
  /// Run once on poisoned memory, and sampled elements of each kernel compared with the reference,
  /// in about a second; where it cannot run here, that its code writes all of its results.
  kSample,
  kAll,  ///< every element of every operator as well
};

/// What was seen of a library that was checked.
struct CompileCheck {
  bool ran = false;
  std::string not_run;  ///< why
  std::int64_t operators = 0, compared = 0, elements = 0;
  double seconds = 0;
  /// An operator of each kernel of which no element was compared, and why.
  std::vector<std::pair<std::string, std::string>> not_compared;
  /// Operators of which nobody can say whether all of their result is written.
  std::vector<std::string> not_proved;
};

struct Plan;
class TemplateRegistry;

struct CompileOptions {
  /// What kernels are made by; outlives the call. Null only where streams are given to the plan.
  const TemplateRegistry* templates = nullptr;
  /// Of kind llvm: its num_threads is how many threads the model starts with. Or of kind cuda.
  /// Plans (plan.h) are made for a VTA too: its -model is the design.
  Target target;
  /// Asked for each operator. Not owned; null: everything gets its default config.
  records::Catalog* catalog = nullptr;
  /// How far down an answer may be. With kHit, kNearMatch or kModel an operator for which there is
  /// none still gets its default config, which is then a miss (see on_miss).
  records::AnswerLevel accept = records::AnswerLevel::kDefault;
  /// Not none: configs of imported records, by AutoTVM's rule. Nobody has verified them: see
  /// CompileImported. For a VTA only records of boards of its design, and only operators that
  /// AutoTVM has templates for.
  std::optional<records::AutotvmLookup> autotvm;
  /// What is wanted of records that know several metrics; none: the fastest. With shares, the
  /// limit is of all operators together.
  std::optional<records::Preference> prefer;
  /// Workloads whose imported record is not to be used, and why.
  std::map<std::string, std::string> refused_imports;
  DeviceFingerprint device;  ///< what the records must have been measured on; DeviceFor(target)
  /// Where a device leaves operators to the host: sums with a residual are behind their
  /// convolutions.
  bool fuse_residuals = false;
  OnMiss on_miss = OnMiss::kWarn;
  int build_threads = 1;
  /// Prefix of the C functions, [A-Za-z_][A-Za-z0-9_]*; empty: made from the graph's name.
  std::string name;
  /// File for the constants, which the library then has to be given; empty: they are part of it.
  std::string parameter_path;
  /// What src/runtime/*.c was compiled to for the target, an object or an archive; empty: what this
  /// program has for it.
  std::string runtime_path;
  CheckLevel check = CheckLevel::kSample;
  double check_seconds = 1;  ///< of comparing samples
  /// How long one operator may run while the library is checked; longer if it has much to do.
  double check_operator_seconds = 60;
  /// Told how far it is: a stage ("build", "link", "check"), and how many of how many kernels are
  /// done; "check" comes before anything is forked. Called from the threads that build, also at
  /// once. May be null.
  std::function<void(std::string_view stage, std::size_t done, std::size_t total)> progress;
  /// For tests of the checks: changes the plan before code is made of it.
  std::function<void(Plan&)> change_plan;
};

/// How the layouts of a model were chosen, in estimated seconds (src/compiler/plan/layouts.h).
struct LayoutReport {
  int choices = 0;          ///< groups of operators that can work in several layouts
  int changed = 0;          ///< those for which another one was chosen than by the rule
  double rule_seconds = 0;  ///< of the network if each group follows the one before it
  double seconds = 0;       ///< as chosen
  bool exact = false;       ///< nothing is cheaper; else the search was bounded
};

/// One operator of a compiled model, in the order in which they run.
struct OperatorReport {
  std::string value;         ///< name of the result in the source
  std::string op;            ///< "conv2d + bias, relu", "max_pool2d", "layout_transform", "copy"
  std::string kernel;        ///< symbol; equal kernels share one; empty for "copy"
  std::string workload_key;  ///< empty if it is no anchor
  std::string template_key;
  std::string config;     ///< Config::ToString
  bool tuned = false;     ///< the config comes from a record
  bool imported = false;  ///< of another program, which nobody verified
  bool verified = false;  ///< imported, and its result here was the reference's
  /// Of the record: how far floats were from the reference when it was measured. Nothing without
  /// one.
  std::optional<double> max_abs_error = std::nullopt;
  records::AnswerLevel answer = records::AnswerLevel::kMiss;
  std::string source;            ///< store or package the record came from; empty without one
  double expected_slowdown = 1;  ///< of a near hit
  std::string explanation;       ///< why this config; never empty for an anchor
  std::string skipped_record;    ///< as records::Answer has it
  std::string layout;            ///< of the result in memory
  /// Of a hit's record: the metric that CompileOptions::prefer limits. Nothing if it is not known.
  std::optional<double> limited = std::nullopt;
  std::int64_t macs = 0;
  std::int64_t bytes = 0;  ///< of inputs, constants and the result, each once
};

struct CompiledModel {
  std::string name;  ///< prefix of the C functions
  std::string library_path;
  std::string header;      ///< text of the C header
  std::string graph_json;  ///< of a bundle: what the library does, step by step (docs/deploy.md)
  std::vector<OperatorReport> operators;
  int kernels = 0;     ///< distinct ones
  int transforms = 0;  ///< layout changes at run time
  LayoutReport layouts;
  std::int64_t arena_bytes = 0, constant_bytes = 0;
  double plan_seconds = 0, build_seconds = 0, link_seconds = 0;
  CompileCheck check;
  /// Of a library for several sets of sizes: the model of each. Then the numbers here are sums, but
  /// that of the constants is what they take together, and the memory the largest.
  std::vector<CompiledModel> variants;
  std::vector<std::string> binding_options;  ///< Graph::bound
  /// Anchors without a record.
  std::vector<std::string> untuned() const;
};

/// options.name, or what stands for it: "resnet18_v1" for a graph "resnet18-v1".
std::string ModelName(const Graph& graph, const CompileOptions& options);

/// Compiles a graph (as imported; its constants must have contents) into one shared library with
/// the C interface of the header, its constants and its runtime inside; it needs libc and libm
/// only. Inputs and outputs keep the layouts the graph gives them. For a GPU the library is one of
/// this machine that has the kernels as PTX and loads the driver when it is used.
///
/// The library gets its name when it was checked (options.check), in a process of its own. One that
/// cannot be run here is checked by its code; with kAll that is an error.
///
/// Errors: kInvalidArgument for a constant without contents or a bad name; kUnsupported for a
/// target that has no code generator, or none of whose runtimes is here; kNotFound naming
/// untuned operators if on_miss is kFail; kUnavailable if the library cannot be written; kInternal
/// for a kernel that does not build, or an operator that does not do what it should, crashes or
/// does not end.
Result<CompiledModel> Compile(Graph graph, const CompileOptions& options,
                              const std::string& library_path);

/// Whether a network would compile, as far as its plan says it: everything but making code and
/// running it. For a VTA, too.
///
/// Errors: those of Compile (for a VTA of MakePlan) that come before there is code.
Status CheckCompiles(Graph graph, const CompileOptions& options);

/// As Compile for several sets of sizes of one network: one library with a model for each, named
/// NAME_1, NAME_2, …, which share every constant that is the same in memory, and functions that
/// choose by the shapes of the inputs.
///
/// graphs: of inputs of the same names, element types and numbers of dimensions, in one order.
/// Errors: also kInvalidArgument for other graphs, or two of the same shapes; kUnsupported for a
/// parameter file and for GPUs.
Result<CompiledModel> CompileShapeVariants(std::vector<Graph> graphs, const CompileOptions& options,
                                           const std::string& library_path);

/// As Compile with options.autotvm, but the library is run on made-up inputs and compared with the
/// reference, operator by operator, before it is written where it was asked for. An operator that
/// differs, crashes or does not end with the config of an imported record is compiled again without
/// that.
///
/// Errors: also kUnsupported if this machine cannot run the library, so that nothing can be
/// verified; kInternal if an operator without such a config differs.
Result<CompiledModel> CompileImported(const Graph& graph, const CompileOptions& options,
                                      const std::string& library_path);

}  // namespace tilewright
