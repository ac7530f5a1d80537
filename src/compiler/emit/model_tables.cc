// LLVM IR of the tables that src/runtime/model.c interprets. The struct types below repeat those of
// src/runtime/model.h field by field.

#include "src/compiler/emit/model_tables.h"

#include <fmt/format.h>

#include <map>

#include "src/compiler/emit/constant_object.h"
#include "src/graph/ir/quantization_map.h"
#include "src/runtime/cuda_functions.h"
#include "src/runtime/loaded_model.h"
#include "src/runtime/model.h"
#include "src/runtime/opencl/functions.h"
#include "src/schedule/intrinsics.h"
#include "src/target/device.h"

namespace tilewright {
namespace {

constexpr std::string_view kTypes =
    "%Place = type { i32, i32, i64 }\n"
    "%Value = type { ptr, ptr, ptr, i64, i64 }\n"
    "%Step = type { ptr, ptr, ptr, i64, ptr, ptr, ptr, ptr, i64, i64, i64, i64 }\n"
    "%Model = type { i64, ptr, ptr, ptr, i64, ptr, i64, ptr, i64, ptr, i64, i64, i64, i64, ptr, "
    "ptr }\n"
    "%OpenValue = type { ptr, ptr, i64, i64, ptr }\n"
    "%OpenStep = type { ptr, ptr, i64, ptr, i64, i64, i64, i64, i64, i64, ptr, i64, i64, i64 }\n"
    "%Functions = type { ptr, ptr, ptr, ptr, ptr }\n"
    "@tw_state = internal global ptr null\n";
// Runtime functions of CPUs and of GPUs, by the prefix of their names.
constexpr std::string_view kRuntime =
    "declare i32 @{0}Run(ptr, ptr, ptr, ptr, ptr)\n"
    "declare i32 @{0}SetThreads(ptr, i32)\n"
    "declare void @{0}Release(ptr)\n"
    "declare void @{0}Unload(ptr)\n"
    "declare i32 @{0}Load(ptr, ptr)\n"
    "@tilewright_model{1} = constant %Functions {{ ptr @model, ptr @{0}Run, ptr @{0}SetThreads, "
    "ptr "
    "@{0}Release, ptr @{0}Load }}\n";
constexpr std::string_view kGpuFunctions =
    "declare i32 @TwGpuOpen(ptr, ptr, i32)\n"
    "declare ptr @TwGpuMessage(ptr)\n"
    "@tilewright_gpu_model = constant {{ ptr, ptr, ptr }} {{ ptr @TwGpuOpen, ptr {2}, ptr "
    "@TwGpuMessage }}\n"
    "@driver = internal constant {1}\n"
    "define i32 @{0}_set_device(i32 %n) {{\n"
    "  %r = call i32 @TwGpuOpen(ptr @model, ptr @driver, i32 %n)\n  ret i32 %r\n}}\n"
    "define ptr @{0}_message() {{\n"
    "  %r = call ptr @TwGpuMessage(ptr @model)\n  ret ptr %r\n}}\n";
// CUDA has addresses.
constexpr std::string_view kRunOnDevice =
    "declare i32 @TwGpuRunOnDevice(ptr, ptr, ptr, ptr)\n"
    "define i32 @{0}_run_on_device(ptr %i, ptr %o, ptr %s) {{\n"
    "  %r = call i32 @TwGpuRunOnDevice(ptr @model, ptr %i, ptr %o, ptr %s)\n  ret i32 %r\n}}\n";
static_assert(sizeof(TwPlace) == 16 && sizeof(TwValue) == 40 && sizeof(TwStep) == 96 &&
              sizeof(TwModel) == 128 && sizeof(TwOpenValue) == 40 && sizeof(TwOpenStep) == 112 &&
              sizeof(TwOpenDimension) == 64 && sizeof(TwModelFunctions) == 40);

/// Returns the number of a TwPlace's space.
int SpaceOf(BufferSpace space) {
  switch (space) {
    case BufferSpace::kArena:
      return TW_ARENA;
    case BufferSpace::kConstant:
      return TW_CONSTANT;
    case BufferSpace::kInput:
      return TW_INPUT;
    case BufferSpace::kOutput:
      return TW_OUTPUT;
  }
  return TW_ARENA;
}

class IrWriter {
 public:
  IrWriter(const Plan& plan, const CompileOptions& options, const std::string& features,
           const GpuTables* gpu, int set)
      : graph_(plan.graph),
        plan_(plan),
        options_(options),
        features_(features),
        suffix_(VariantSuffix(set)),
        gpu_(gpu) {}

  std::string Write() {
    text_ += kTypes;
    if (options_.parameter_path.empty()) {
      text_ += fmt::format("@{} = external hidden constant i8\n", kConstantsSymbol);
    }
    if (gpu_ != nullptr) text_ += gpu_->definitions;
    for (const Program& kernel : plan_.CalledKernels()) {
      if (gpu_ != nullptr) break;
      text_ += fmt::format("declare i32 @{0}(ptr, ptr, ptr)\n@{0}_info = external constant i8\n",
                           kernel.name);
    }
    WriteTable("inputs", "%Value", ValuesOf("inputs", graph_.inputs()));
    WriteTable("outputs", "%Value", ValuesOf("outputs", graph_.outputs()));
    WriteTable("steps", "%Step", Steps());
    if (plan_.open) WriteOpen();
    WriteLibraries();
    WriteQuantizationMap();
    WriteModel();
    WriteFunctions();
    return std::move(text_);
  }

 private:
  /// Returns the name of a string constant.
  std::string StringOf(const std::string& text) {
    const auto [known, added] = strings_.try_emplace(text, fmt::format("@s{}", strings_.size()));
    if (!added) return known->second;
    text_ += fmt::format("{} = internal constant {}\n", known->second, IrString(text));
    return known->second;
  }

  std::string ShapeOf(const TensorType& type) {
    std::string elements;
    for (std::int64_t size : type.shape) {
      elements += fmt::format("{}i64 {}", elements.empty() ? "" : ", ", size);
    }
    const auto [known, added] = shapes_.try_emplace(elements, fmt::format("@d{}", shapes_.size()));
    if (added) {
      text_ += fmt::format("{} = internal constant [{} x i64] [{}]\n", known->second,
                           type.shape.size(), elements);
    }
    return known->second;
  }

  /// Returns the number of entries that the tables have at first.
  /// Returns true if the multiply-adds of a step grow with the number of entries. Those of a mean
  /// of positions do not count.
  bool Grows(const OpenStep& open) const {
    return open.has_entries || (open.takes_count && !plan_.open->fixed_arena);
  }

  std::int64_t Entries() const { return plan_.open ? plan_.open->range.least : 1; }

  /// Returns the number of positions of a value; null if its entries are others.
  const PositionAxis* PositionsAt(int node) const {
    const PositionNetwork* positions = PositionsOf(options_);
    if (positions == nullptr) return nullptr;
    const auto& axis = positions->axes[static_cast<std::size_t>(node)];
    return axis ? &*axis : nullptr;
  }
  /// Returns the number of entries that a value with the open dimension has at first.
  std::int64_t EntriesOf(int node) const {
    const PositionAxis* axis = PositionsAt(node);
    return axis != nullptr ? axis->count.At(Entries()) : Entries();
  }
  /// Returns the name of the number of a value's positions; "null" if its entries are others.
  std::string CountOf(int node) {
    const PositionAxis* axis = PositionsAt(node);
    if (axis == nullptr) return "null";
    const PositionCount& count = axis->count;
    const std::string fields =
        fmt::format("{{ i64, i64, i64, i64, i64 }} {{ i64 {}, i64 {}, i64 {}, i64 {}, i64 {} }}",
                    count.times, count.plus, count.divide, count.factor, count.offset);
    const auto [known, added] = counts_.try_emplace(fields, fmt::format("@n{}", counts_.size()));
    if (added) text_ += fmt::format("{} = internal constant {}\n", known->second, fields);
    return known->second;
  }

  /// Returns the keyword of a table that is constant unless a dimension is open.
  const char* TableKind() const { return plan_.open ? "global" : "constant"; }

  /// Returns true if an input or output of the model has the open dimension.
  bool HasEntries(int node) const {
    return plan_.open && options_.open->axes.contains(graph_.node(node).name);
  }

  /// Returns the fields of a TwValue with the open dimension, whose shape is its own, and adds it
  /// to the list of these values. place: of the TwValue.
  std::string OpenValueOf(int node, const std::string& place) {
    const Node& value = graph_.node(node);
    TensorType type = value.type;
    const PositionAxis* positions = PositionsAt(node);
    if (positions != nullptr) type.shape[positions->axis] = 1;
    const std::int64_t entry_bytes = type.bytes();
    const auto known = options_.open->axes.find(value.name);
    const std::size_t axis = known != options_.open->axes.end() ? known->second : 0;
    const std::int64_t extent = type.shape[axis];
    type.shape[axis] *= EntriesOf(node);
    std::string elements;
    for (std::int64_t size : type.shape) {
      elements += fmt::format("{}i64 {}", elements.empty() ? "" : ", ", size);
    }
    const std::string shape = fmt::format("@e{}", open_values_.size());
    text_ +=
        fmt::format("{} = internal global [{} x i64] [{}]\n", shape, type.shape.size(), elements);
    open_values_.push_back(fmt::format(
        "%OpenValue {{ ptr {}, ptr getelementptr (i64, ptr {}, i64 {}), i64 {}, i64 {}, "
        "ptr {} }}",
        place, shape, axis, extent, entry_bytes, CountOf(node)));
    return fmt::format("%Value {{ ptr {}, ptr {}, ptr {}, i64 {}, i64 {} }}", StringOf(value.name),
                       StringOf(DataTypeName(type.dtype)), shape, type.shape.size(), type.bytes());
  }

  /// Returns the fields of a TwValue.
  std::string ValueOf(int node) {
    const TensorType& type = graph_.node(node).type;
    return fmt::format("%Value {{ ptr {}, ptr {}, ptr {}, i64 {}, i64 {} }}",
                       StringOf(graph_.node(node).name), StringOf(DataTypeName(type.dtype)),
                       ShapeOf(type), type.shape.size(), type.bytes());
  }

  std::vector<std::string> ValuesOf(const std::string& table, const std::vector<int>& nodes) {
    std::vector<std::string> values;
    for (int node : nodes) {
      const std::string place =
          fmt::format("getelementptr (%Value, ptr @{}, i64 {})", table, values.size());
      values.push_back(HasEntries(node) ? OpenValueOf(node, place) : ValueOf(node));
    }
    return values;
  }

  std::vector<std::string> Steps() {
    std::vector<std::string> steps;
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const PlanStep& step = plan_.steps[i];
      const OpenStep* open = plan_.open ? &plan_.open->steps[i] : nullptr;
      const bool entries = open != nullptr && open->has_entries;
      std::string places;
      std::size_t place_count = step.buffers.size();
      if (open != nullptr && open->takes_count) {
        places = fmt::format("%Place {{ i32 {}, i32 0, i64 0 }}", static_cast<int>(TW_ENTRIES));
        ++place_count;
      }
      for (int id : step.buffers) {
        const PlanBuffer& buffer = plan_.buffers[static_cast<std::size_t>(id)];
        const bool outside =
            buffer.space == BufferSpace::kInput || buffer.space == BufferSpace::kOutput;
        places += fmt::format("{}%Place {{ i32 {}, i32 {}, i64 {} }}", places.empty() ? "" : ", ",
                              SpaceOf(buffer.space), outside ? buffer.index : 0, buffer.offset);
      }
      text_ += fmt::format("@p{} = internal constant [{} x %Place] [{}]\n", i, place_count, places);
      const std::string value =
          entries ? OpenValueOf(step.node, fmt::format("@v{}", i)) : ValueOf(step.node);
      text_ += fmt::format("@v{} = internal {} {}\n", i, TableKind(), value);
      const KernelStep* call = step.kernel();
      const std::string kernel = call == nullptr || gpu_ != nullptr ? ""
                                 : open != nullptr                  ? "@" + OpenKernelAt(*open).name
                                                   : "@" + plan_.KernelOf(*call).name;
      const std::int64_t size = entries ? EntriesOf(step.node) : 1;
      const std::int64_t counted = entries || open == nullptr || !Grows(*open) ? size : Entries();
      const std::int64_t entry_bytes = open != nullptr ? open->bytes_of_entry : 0;
      const std::int64_t flags = call == nullptr
                                     ? 0
                                     : (call->int8 ? 1 : 0) | (call->bfloat16 ? 2 : 0) |
                                           call->winograd_tile << 8 | call->winograd_kernel << 16;
      steps.push_back(fmt::format(
          "%Step {{ ptr {}, ptr {}, ptr @p{}, i64 {}, ptr @v{}, ptr {}, ptr {}, ptr {}, i64 {}, "
          "i64 {}, i64 {}, i64 {} }}",
          kernel.empty() ? "null" : kernel, kernel.empty() ? "null" : kernel + "_info", i,
          place_count, i, StringOf(step.report.op), StringOf(step.layouts.logical_layout),
          StringOf(step.layouts.layout), size * step.result_bytes, counted * step.report.macs,
          step.report.bytes + (counted - 1) * entry_bytes, flags));
    }
    return steps;
  }

  /// Returns the step's kernel for the size that the tables have at first.
  const Program& OpenKernelAt(const OpenStep& open) const {
    const std::size_t choice =
        open.choice.empty() ? 0 : open.choice[static_cast<std::size_t>(Entries()) - 1];
    return plan_.open->kernels[static_cast<std::size_t>(open.kernels[choice])];
  }

  /// Returns the fields of the TwOpenStep of step `i`.
  std::string OpenStepOf(std::size_t i) {
    const PlanStep& step = plan_.steps[i];
    const OpenStep& open = plan_.open->steps[i];
    std::string kernels, infos, choice = "null";
    for (int number : open.kernels) {
      const std::string& name = plan_.open->kernels[static_cast<std::size_t>(number)].name;
      kernels += fmt::format("{}ptr @{}", kernels.empty() ? "" : ", ", name);
      infos += fmt::format("{}ptr @{}_info", infos.empty() ? "" : ", ", name);
    }
    const std::size_t count = open.kernels.size();
    text_ += fmt::format("@k{0} = internal constant [{1} x ptr] [{2}]\n", i, count, kernels);
    text_ += fmt::format("@i{0} = internal constant [{1} x ptr] [{2}]\n", i, count, infos);
    if (!open.choice.empty()) {
      choice = StringOf({reinterpret_cast<const char*>(open.choice.data()), open.choice.size()});
    }
    const std::int64_t grows = open.has_entries ? 1 : 0, stays = 1 - grows;
    const std::int64_t counts = Grows(open) ? 1 : 0;
    const PositionRows rows = open.rows.value_or(PositionRows());
    const std::int64_t element = plan_.graph.node(step.node).type.dtype.bytes();
    return fmt::format(
        "%OpenStep {{ ptr @k{0}, ptr @i{0}, i64 {1}, ptr {2}, i64 {3}, i64 {4}, i64 {5}, i64 {6}, "
        "i64 {7}, i64 {8}, ptr {9}, i64 {10}, i64 {11}, i64 {12} }}",
        i, count, choice, grows * step.result_bytes, counts * step.report.macs, open.bytes_of_entry,
        stays * step.result_bytes, (1 - counts) * step.report.macs,
        step.report.bytes - open.bytes_of_entry, open.rows ? CountOf(step.node) : "null", rows.rows,
        rows.pitch * element, rows.begin * element);
  }

  /// Writes the tables of the open dimension and the functions that change its size.
  void WriteOpen() {
    std::vector<std::string> steps;
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) steps.push_back(OpenStepOf(i));
    WriteTable("open_steps", "%OpenStep", steps);
    WriteTable("open_values", "%OpenValue", open_values_);
    const SizeRange& range = plan_.open->range;
    const std::string name = StringOf(range.name);
    text_ += fmt::format(
        "@open = internal constant {{ ptr, i64, i64, ptr, i64, ptr, ptr, i64 }} {{ ptr {0}, i64 "
        "{1}, "
        "i64 {2}, ptr @open_values, i64 {3}, ptr @steps, ptr @open_steps, i64 {5} }}\n"
        "declare i32 @TwModelSetSize(ptr, ptr, i64)\n"
        "declare i32 @TwModelResize(ptr, i64)\n"
        "@tilewright_open = constant {{ ptr, ptr, ptr }} {{ ptr @open, ptr @TwModelSetSize, ptr "
        "@TwModelResize }}\n"
        "define i32 @{4}_set_size(ptr %d, i64 %n) {{\n"
        "  %r = call i32 @TwModelSetSize(ptr @model, ptr %d, i64 %n)\n  ret i32 %r\n}}\n",
        name, range.least, range.most, open_values_.size(), options_.name,
        plan_.open->fixed_arena ? 0 : plan_.open->padded_to);
  }

  void WriteTable(const std::string& name, const std::string& type,
                  const std::vector<std::string>& rows) {
    std::string list;
    for (const std::string& row : rows) list += (list.empty() ? "\n  " : ",\n  ") + row;
    text_ += fmt::format("@{} = internal {} [{} x {}] [{}]\n", name, TableKind(), rows.size(), type,
                         list);
  }

  /// Writes the check that all libraries called by kernels, and tile registers, are present.
  void WriteLibraries() {
    std::string asked, last = "null";
    const std::vector<Program>& kernels = plan_.CalledKernels();
    for (const Program& kernel : kernels) {
      if (LibraryCallsOf(kernel.body).empty() && !MultipliesTiles(kernel.body)) continue;
      text_ += fmt::format("declare ptr @{}_prepare(ptr, ptr)\n", kernel.name);
      const std::size_t i = static_cast<std::size_t>(&kernel - kernels.data());
      asked += fmt::format(
          "  %r{0} = call ptr @{1}_prepare(ptr null, ptr null)\n"
          "  %n{0} = icmp eq ptr %r{0}, null\n"
          "  %p{0} = select i1 %n{0}, ptr {2}, ptr %r{0}\n",
          i, kernel.name, last);
      last = fmt::format("%p{}", i);
    }
    text_ += fmt::format(
        "define ptr @{0}_problem() {{\n{1}  ret ptr {2}\n}}\n"
        "@tilewright_problem{3} = alias ptr (), ptr @{0}_problem\n",
        options_.name, asked, last, suffix_);
  }

  /// Writes data that comparisons need, not runs.
  void WriteQuantizationMap() {
    const QuantizationMap all = InferQuantizationMap(graph_);
    QuantizationMap quantization_map;
    const auto add = [&](int id) {
      const auto known = all.find(graph_.node(id).name);
      if (known != all.end()) quantization_map.insert(*known);
    };
    for (int id : graph_.inputs()) add(id);
    for (const PlanStep& step : plan_.steps) add(step.node);
    text_ += fmt::format("@{0}{4} = constant {1}\n@{2}{4} = constant i64 {3}\n",
                         kQuantizationMapSymbol, IrString(QuantizationMapToJson(quantization_map)),
                         kSyntheticConstantsSymbol, graph_.synthetic_constants, suffix_);
  }

  void WriteModel() {
    const std::string name = StringOf(options_.name);
    const std::string target = StringOf(options_.target.ToString());
    const std::string constants =
        options_.parameter_path.empty() ? "@" + std::string(kConstantsSymbol) : "null";
    const std::string model = fmt::format(
        "%Model {{ i64 {}, ptr {}, ptr {}, ptr @inputs, i64 {}, ptr "
        "@outputs, i64 {}, ptr @steps, i64 {}, ptr {}, i64 {}, i64 {}, i64 {}, i64 {}, ptr "
        "@tw_state, ptr {} }}",
        plan_.open ? TW_OPEN_MODEL_VERSION : TW_MODEL_VERSION, name, target, graph_.inputs().size(),
        graph_.outputs().size(), plan_.steps.size(), constants, plan_.constant_bytes,
        static_cast<std::int64_t>(plan_.constant_hash), plan_.MostArenaBytes(),
        options_.target.num_threads(), plan_.open ? "@open" : "null");
    text_ += gpu_ == nullptr ? fmt::format("@model = internal constant {}\n", model)
                             : fmt::format(
                                   "@model = internal constant {{ %Model, ptr, i64, ptr, "
                                   "i64, i64, i64, ptr }} {{ {}{} }}\n",
                                   model, gpu_->fields);
  }

  void WriteFunctions() {
    const std::string& name = options_.name;
    const char* runtime = gpu_ != nullptr ? "TwGpu" : "TwModel";
    text_ += fmt::format(kRuntime, runtime, suffix_);
    // Read before any code here runs, which may use all of them.
    if (suffix_.empty()) {
      text_ += fmt::format("@tilewright_features = constant {}\n", IrString(features_));
    }
    if (gpu_ != nullptr) {
      const bool source = DeviceTraitsOf(options_.target).grids_are_source;
      text_ += fmt::format(kGpuFunctions, name, IrString(DriverLibraryOf(options_.target)),
                           source ? "null" : "@TwGpuRunOnDevice");
      if (!source) text_ += fmt::format(kRunOnDevice, name);
    }
    text_ += fmt::format(
        "define i32 @{0}_run(ptr %i, ptr %o) {{\n"
        "  %r = call i32 @{1}Run(ptr @model, ptr %i, ptr %o, ptr null, ptr null)\n"
        "  ret i32 %r\n}}\n"
        "define i32 @{0}_run_observed(ptr %i, ptr %o, ptr %f, ptr %c) {{\n"
        "  %r = call i32 @{1}Run(ptr @model, ptr %i, ptr %o, ptr %f, ptr %c)\n"
        "  ret i32 %r\n}}\n"
        "define i32 @{0}_set_threads(i32 %t) {{\n"
        "  %r = call i32 @{1}SetThreads(ptr @model, i32 %t)\n  ret i32 %r\n}}\n"
        "define void @{0}_release() {{\n"
        "  call void @{1}Release(ptr @model)\n  ret void\n}}\n",
        name, runtime);
    if (!options_.parameter_path.empty()) {
      text_ += fmt::format(
          "define i32 @{0}_load(ptr %p) {{\n"
          "  %r = call i32 @{1}Load(ptr @model, ptr %p)\n  ret i32 %r\n}}\n",
          name, runtime);
    }
    // Threads must end before their code is unloaded.
    text_ += fmt::format(
        "define internal void @unload() {{\n"
        "  call void @{0}Unload(ptr @model)\n  ret void\n}}\n"
        "@llvm.global_dtors = appending global [1 x {{ i32, ptr, ptr }}] "
        "[{{ i32, ptr, ptr }} {{ i32 65535, ptr @unload, ptr null }}]\n",
        runtime);
    WriteAccess("input", "inputs", "%Value", graph_.inputs().size());
    WriteAccess("output", "outputs", "%Value", graph_.outputs().size());
    WriteAccess("operator", "steps", "%Step", plan_.steps.size());
  }

  /// Writes <name>_<what>_count() and <name>_<what>(i), which returns null if i is out of range.
  void WriteAccess(const std::string& what, const std::string& table, const std::string& type,
                   std::size_t count) {
    text_ += fmt::format(
        "define i64 @{0}_{1}_count() {{\n  ret i64 {4}\n}}\n"
        "define ptr @{0}_{1}(i64 %i) {{\n"
        "  %inside = icmp ult i64 %i, {4}\n"
        "  %p = getelementptr {3}, ptr @{2}, i64 %i\n"
        "  %r = select i1 %inside, ptr %p, ptr null\n  ret ptr %r\n}}\n",
        options_.name, what, table, type, count);
  }

  const Graph& graph_;
  const Plan& plan_;
  const CompileOptions& options_;
  const std::string& features_;
  std::string suffix_;  // of symbols that do not begin with the model's name
  const GpuTables* gpu_;
  std::string text_;
  std::map<std::string, std::string> strings_, shapes_, counts_;
  std::vector<std::string> open_values_;
};

}  // namespace

std::string ModelTablesIr(const Plan& plan, const CompileOptions& options,
                          const std::string& features, const GpuTables* gpu, int set) {
  return IrWriter(plan, options, features, gpu, set).Write();
}

std::string VariantTablesIr(const std::string& name, int variants) {
  std::string text =
      "declare i64 @TwModelSetOf(ptr, i64, ptr)\n"
      "declare i32 @TwModelRunSet(ptr, i64, ptr, ptr, ptr)\n"
      "declare i32 @TwModelSetThreadsOfSets(ptr, i64, i32)\n"
      "declare void @TwModelReleaseSets(ptr, i64)\n";
  std::string list;
  for (int set = 0; set < variants; ++set) {
    text += fmt::format("@tilewright_model{} = external constant i8\n", VariantSuffix(set));
    list += fmt::format("{}ptr @tilewright_model{}", set == 0 ? "" : ", ", VariantSuffix(set));
  }
  return text + fmt::format(
                    "@sets = internal constant [{1} x ptr] [{2}]\n"
                    "@tilewright_sets = constant i64 {1}\n"
                    "define i64 @{0}_set(ptr %s) {{\n"
                    "  %r = call i64 @TwModelSetOf(ptr @sets, i64 {1}, ptr %s)\n  ret i64 %r\n}}\n"
                    "define i32 @{0}_run(ptr %s, ptr %i, ptr %o) {{\n"
                    "  %r = call i32 @TwModelRunSet(ptr @sets, i64 {1}, ptr %s, ptr %i, ptr %o)\n"
                    "  ret i32 %r\n}}\n"
                    "define i32 @{0}_set_threads(i32 %t) {{\n"
                    "  %r = call i32 @TwModelSetThreadsOfSets(ptr @sets, i64 {1}, i32 %t)\n"
                    "  ret i32 %r\n}}\n"
                    "define void @{0}_release() {{\n"
                    "  call void @TwModelReleaseSets(ptr @sets, i64 {1})\n  ret void\n}}\n",
                    name, variants, list);
}

}  // namespace tilewright
