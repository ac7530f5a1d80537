#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/compiler/options/options.h"
#include "src/compiler/options/report.h"
#include "src/graph/ir/graph.h"
#include "src/graph/open/entries.h"

namespace tilewright {

struct StreamKernel;

struct CompiledModel {
  std::string name;  ///< prefix of the C functions
  std::string library_path;
  std::string header;  ///< text of the C header
  std::string
      graph_json;  ///< of a bundle: description of the library, step by step (docs/deploy.md)
  std::vector<OperatorReport> operators;
  int kernels = 0;     ///< number of distinct kernels
  int transforms = 0;  ///< layout changes at run time
  LayoutReport layouts;
  std::int64_t arena_bytes = 0, constant_bytes = 0;
  double plan_seconds = 0, build_seconds = 0, link_seconds = 0;
  CompileCheck check;
  /// Models of a library for several shape variants. The numbers here are then sums, except that
  /// constant_bytes counts shared constants once and arena_bytes is the largest.
  std::vector<CompiledModel> variants;
  std::vector<std::string> binding_options;  ///< Graph::binding_options
  /// Returns the values of anchors without a record.
  std::vector<std::string> untuned() const;
};

/// Returns options.name, or if that is empty a name made from the graph's: "resnet18_v1" for
/// "resnet18-v1".
std::string ModelName(const Graph& graph, const CompileOptions& options);

/// Compiles a graph (as imported; its constants must have contents) into one shared library. The
/// library has the C interface of the header, its constants and its runtime; it needs only libc and
/// libm. Inputs and outputs keep the layouts of the graph. For a GPU it is a library of this
/// machine that contains the kernels as PTX or OpenCL C and loads the driver on first use.
///
/// The library is checked (options.check) in a subprocess before it gets its name. If it cannot run
/// here, its code is checked instead; with kAll that is an error.
///
/// Errors: kInvalidArgument for a constant without contents or a bad name; kUnsupported for a
/// target without a code generator or a runtime; kNotFound naming untuned operators if on_miss is
/// kFail; kUnavailable if the library cannot be written; kInternal for a kernel that does not
/// build, or an operator whose result is wrong, that crashes or does not end.
Result<CompiledModel> Compile(Graph graph, const CompileOptions& options,
                              const std::string& library_path);

/// Partitions a graph (as imported, or optimized already; its constants must have contents) for
/// options.target, plans it and checks the plan (CheckPlan). streams: as MakePlan has it.
/// Errors: those of Partition, MakePlan and CheckPlan.
Result<Plan> MakeCheckedPlan(Graph graph, const CompileOptions& options,
                             const std::vector<StreamKernel>* streams = nullptr);

/// Checks whether a network compiles, as far as its plan tells: all steps except code generation
/// and the run. Also for a VTA.
///
/// Errors: those of Compile (for a VTA of MakeCheckedPlan) that precede code generation.
Status CheckCompiles(Graph graph, const CompileOptions& options);

/// Compiles several shape variants of one network into one library. It has a model for each, named
/// NAME_1, NAME_2, …, and functions that choose one by the shapes of the inputs. Constants with
/// equal bytes are shared.
///
/// graphs: with inputs of the same names, element types and ranks, in one order. Errors: those of
/// Compile; kInvalidArgument for other graphs, or two of the same shapes; kUnsupported for a
/// parameter file and for GPUs.
Result<CompiledModel> CompileShapeVariants(std::vector<Graph> graphs, const CompileOptions& options,
                                           const std::string& library_path);

/// Finds what the open dimension of a network is one of: entries (FindEntries), or positions of a
/// sequence with attention (FindSequence).
///
/// entry, read: as for CompileOpen. options: of the compilation. Errors: those of FindEntries and
/// FindSequence.
Result<OpenDimension> FindOpenDimension(const Graph& entry, const ReadAtSize& read,
                                        const SizeRange& range, const CompileOptions& options);

/// Compiles a network with an open dimension into one library for every size of a range. Each size
/// has the results of the network of one entry, for each entry, or those of the network of this
/// length (FindOpenDimension). The library also checks that: it runs with several sizes.
///
/// entry: read with size 1. read: reads the same file with another size.
/// Errors: those of Compile and FindOpenDimension; kUnsupported for a parameter file, imported
/// records and GPUs, and for an operator whose kernel cannot loop over entries, by name.
Result<CompiledModel> CompileOpen(Graph entry, const ReadAtSize& read, const SizeRange& range,
                                  const CompileOptions& options, const std::string& library_path);

/// Compiles with options.autotvm. Before the library is written to library_path, it runs on
/// synthetic inputs and is compared with the reference, operator by operator. An operator that
/// differs, crashes or does not end with the config of an imported record is compiled again without
/// that record.
///
/// Errors: those of Compile; kUnsupported if this machine cannot run the library, which leaves
/// nothing verified; kInternal if an operator without such a config differs.
Result<CompiledModel> CompileImported(const Graph& graph, const CompileOptions& options,
                                      const std::string& library_path);

}  // namespace tilewright
