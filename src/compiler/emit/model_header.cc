// C headers of compiled models, as text.

#include "src/compiler/emit/model_header.h"

#include <fmt/format.h>

#include <cctype>
#include <string_view>
#include <vector>

#include "src/compiler/plan/open_positions.h"
#include "src/target/device.h"

namespace tilewright {
namespace {

/// Returns a name for a C comment, without characters that end the comment or the line.
std::string InComment(std::string_view name) {
  std::string text(name);
  for (char& c : text) {
    if (c == '*' || std::iscntrl(static_cast<unsigned char>(c)) != 0) c = '_';
  }
  return text;
}

std::string DescribeValues(const Graph& graph, const CompileOptions& options,
                           const std::vector<int>& nodes, const char* what) {
  std::string text;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = graph.node(nodes[i]);
    // Of entries, the type of one; of positions, that of the most.
    const TensorType type = PositionsOf(options) == nullptr
                                ? node.type
                                : OpenTypeOf(graph, options, nodes[i], options.open->range.most);
    text += fmt::format(" *   {} {}: {} {}, {} bytes\n", what, i, InComment(node.name),
                        type.ToString(), type.bytes());
  }
  return text;
}

/// Returns the sizes of tensors as macros: NET_INPUT_0_BYTES, NET_INPUT_0_ELEMENTS.
std::string SizeMacros(const CompileOptions& options, const Graph& graph) {
  const std::string& name = options.name;
  std::string prefix = name;
  for (char& c : prefix) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string text = "/* Sizes of the tensors, for memory that is allocated before a run. */\n";
  if (options.open) {
    const SizeRange& range = options.open->range;
    text = fmt::format(
        "/* Sizes of the tensors with the largest size of the open dimension. */\n"
        "#define {0}_LEAST_SIZE {1}\n#define {0}_MOST_SIZE {2}\n",
        prefix, range.least, range.most);
  }
  const auto add = [&](const char* what, const std::vector<int>& nodes) {
    text += fmt::format("#define {}_{}S {}\n", prefix, what, nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const TensorType type = options.open
                                  ? OpenTypeOf(graph, options, nodes[i], options.open->range.most)
                                  : graph.node(nodes[i]).type;
      text += fmt::format("#define {0}_{1}_{2}_BYTES {3}\n#define {0}_{1}_{2}_ELEMENTS {4}\n",
                          prefix, what, i, type.bytes(), type.elements());
    }
  };
  add("INPUT", graph.inputs());
  add("OUTPUT", graph.outputs());
  return text + "\n";
}

constexpr std::string_view kHeaderTypes = R"(#ifndef TILEWRIGHT_MODEL_TYPES
#define TILEWRIGHT_MODEL_TYPES
/** A tensor of a model: dense, row-major. */
typedef struct TilewrightValue {
  const char* name;
  const char* dtype; /* "float32", "int8", ... */
  const int64_t* shape;
  int64_t rank;
  int64_t bytes;
} TilewrightValue;

/** One operator, in the order of execution. */
typedef struct TilewrightOperator {
  const void* internal[3];
  int64_t internal_count;
  const TilewrightValue* result; /* as the source has it */
  const char* op;
  const char* native;   /* layout of the result in the source, "" if unknown */
  const char* layout;   /* of the result in memory, "" if as in the source */
  int64_t result_bytes; /* in memory */
  int64_t macs;
  int64_t bytes; /* read and written, each tensor once */
  int64_t flags;
} TilewrightOperator;

/** Called after operator `index` with its result in memory and the seconds it took; a value other
 *  than 0 ends the run, which returns it. It may not call the model's own functions
 *  that change or run it: they return 113, and a release does nothing. */
typedef int32_t (*TilewrightObserver)(void* context, int64_t index, const void* result,
                                      double seconds);
#endif
)";

constexpr std::string_view kGpuHeader = R"(
/** Opens a device (0 is the first): loads the kernels and uploads the constants. The first run does
 *  that for device 0 if nobody has; a run after {0}_release for the one that was open last. Besides
 *  the codes below: 106 no driver, 107 no such device, 108 the device cannot run the code, 109 not
 *  enough memory there, 110 the driver or a kernel failed. */
int32_t {0}_set_device(int32_t ordinal);
/** Why the last call that returned a code from 106 to 110 did; valid until the next call or
 *  {0}_release. */
const char* {0}_message(void);
)";

constexpr std::string_view kCudaHeader =
    R"(/** Puts a run on a stream (a CUstream, cudaStream_t or hipStream_t of that device; null: the default
 *  stream) and returns without waiting. inputs, outputs: addresses on the device, aligned to 64 bytes (else it
 *  returns 112). One run at a time: the next one may be put on the same stream, or after the stream
 *  is done. */
int32_t {0}_run_on_device(const uint64_t* inputs, const uint64_t* outputs, void* stream);
)";

constexpr std::string_view kOpenHeader = R"(
/** Sets the size of dimension "{1}" for the runs to come, from {2} to {3}; {2} at first. {0}_input and
 *  {0}_output then describe tensors of this size; above they are described for a size of 1. Memory
 *  for the largest size is allocated at the first run, and none later. Returns 0, 115 if there is no
 *  such dimension, 116 for a size outside of the range. No other thread may be in a function here. */
int32_t {0}_set_size(const char* dimension, int64_t size);
)";

// Describes how the model file was read.
std::string DescribeBound(const Graph& graph) {
  std::string text;
  for (const std::string& option : graph.binding_options)
    text += " * Read with " + InComment(option) + "\n";
  return text;
}

}  // namespace

std::string VariantHeader(const std::string& name, std::span<const std::string> models,
                          std::span<const Graph* const> graphs) {
  std::string text = fmt::format(
      "\n/* {0}: the models above are one network for {1} sets of sizes; they share their "
      "constants.\n",
      name, models.size());
  for (std::size_t i = 0; i < models.size(); ++i) {
    text += fmt::format(" * Set {}, {}_run:\n{}", i, models[i],
                        DescribeValues(*graphs[i], CompileOptions(), graphs[i]->inputs(), "input"));
  }
  return text + fmt::format(R"( */

#ifdef __cplusplus
extern "C" {{
#endif

/** The set of these sizes, or -1 if there is none. shapes: for each input its sizes, as many as it
 *  has dimensions. */
int64_t {0}_set(const int64_t* const* shapes);
/** Runs the model of the set of these sizes. Returns 114 if there is none, else what that one
 *  returns. */
int32_t {0}_run(const int64_t* const* shapes, const void* const* inputs, void* const* outputs);
/** As those of every model, for all of them. */
int32_t {0}_set_threads(int32_t threads);
void {0}_release(void);

#ifdef __cplusplus
}}
#endif
)",
                            name);
}

std::string ModelHeader(const Plan& plan, const CompileOptions& options) {
  const Graph& graph = plan.graph;
  std::string text = fmt::format(
      "#pragma once\n\n/* Model {0}, compiled by Tilewright for {1}.\n{5}{2}{3} * Working memory: "
      "{4} "
      "bytes. */\n\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n",
      InComment(graph.name), InComment(options.target.ToString()),
      DescribeValues(graph, options, graph.inputs(), "input"),
      DescribeValues(graph, options, graph.outputs(), "output"), plan.MostArenaBytes(),
      DescribeBound(graph));
  text += SizeMacros(options, graph);
  text += kHeaderTypes;
  if (!options.parameter_path.empty()) {
    text += fmt::format(R"(
/** Maps the parameter file that was made with this library; before the first run, and again after a
 *  release. Returns 0, 104 if the file cannot be read, 105 if it belongs to another model. */
int32_t {}_load(const char* parameter_file);
)",
                        options.name);
  }
  if (options.open) {
    text += fmt::format(kOpenHeader, options.name, InComment(options.open->range.name),
                        options.open->range.least, options.open->range.most);
  }
  const DeviceTraits& device = DeviceTraitsOf(options.target);
  if (device.launches_grids) text += fmt::format(kGpuHeader, options.name);
  if (device.launches_grids && !device.grids_are_source) {
    text += fmt::format(kCudaHeader, options.name);
  }
  text += fmt::format(R"(
/** Null, or what the model cannot run without: a library that an operator calls and that is not on
 *  this machine. Ask before the first run; the words are there until {0}_release. */
const char* {0}_problem(void);
/** Runs the model. inputs, outputs: one pointer per tensor, best aligned to 64 bytes. Returns 0, or
 *  a code: 101 no memory, 102 no threads, 103 null pointer, 104 no parameters loaded, 111 see
 *  {0}_problem. Calls of several threads wait for each other. A process that
 *  was forked gets threads of its own; no other thread may be in a function here while it forks. */
int32_t {0}_run(const void* const* inputs, void* const* outputs);
int32_t {0}_run_observed(const void* const* inputs, void* const* outputs,
                         TilewrightObserver observer, void* context);
/** Threads of the runs to come; {1} at first. Each but the caller's is bound to a CPU of those that the
 *  caller may use, if there are enough. Returns 0 or a code; then the number is what it was. */
int32_t {0}_set_threads(int32_t threads);
/** Frees working memory and threads; the next run makes them again, as many as were set. */
void {0}_release(void);

int64_t {0}_input_count(void);
int64_t {0}_output_count(void);
int64_t {0}_operator_count(void);
/** Name, type and shape of a tensor; null if there is none of this number. */
const TilewrightValue* {0}_input(int64_t index);
const TilewrightValue* {0}_output(int64_t index);
const TilewrightOperator* {0}_operator(int64_t index);

#ifdef __cplusplus
}}
#endif
)",
                      options.name, options.target.num_threads());
  return text;
}

}  // namespace tilewright
