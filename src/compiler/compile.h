#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/compiler/options/options.h"
#include "src/compiler/options/report.h"
#include "src/graph/ir/graph.h"

namespace tilewright {

struct StreamKernel;

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

/// Partitions a graph (as imported, or optimized already; its constants must have contents) for
/// options.target, plans it and checks the plan (CheckPlan). streams: as MakePlan has it.
/// Errors: those of Partition, MakePlan and CheckPlan.
Result<Plan> MakeCheckedPlan(Graph graph, const CompileOptions& options,
                             const std::vector<StreamKernel>* streams = nullptr);

/// Whether a network would compile, as far as its plan says it: everything but making code and
/// running it. For a VTA, too.
///
/// Errors: those of Compile (for a VTA of MakeCheckedPlan) that come before there is code.
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
