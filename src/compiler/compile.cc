// Compilation of a graph into a checked library: plan, code of all kernels by several threads,
// tables, constants, link, check. Only then the library gets its name.

#include "src/compiler/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <span>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/files/temp_name.h"
#include "src/base/hash.h"
#include "src/base/json.h"
#include "src/base/text/plural.h"
#include "src/base/thread.h"
#include "src/codegen/assemble.h"
#include "src/codegen/code_traits.h"
#include "src/codegen/codegen.h"
#include "src/codegen/runtime_archive.h"
#include "src/compiler/check/check_library.h"
#include "src/compiler/check/check_plan.h"
#include "src/compiler/check/check_process.h"
#include "src/compiler/check/check_sizes.h"
#include "src/compiler/check/verify.h"
#include "src/compiler/emit/constant_object.h"
#include "src/compiler/emit/graph_json.h"
#include "src/compiler/emit/model_header.h"
#include "src/compiler/emit/model_tables.h"
#include "src/compiler/emit/unverified_library.h"
#include "src/compiler/plan/plan.h"
#include "src/runtime/model.h"
#include "src/schedule/launch.h"
#include "src/target/device.h"

namespace tilewright {
namespace {

/// Returns true for a valid prefix of functions: an identifier that differs from the prefix of
/// every model's functions.
bool IsPrefix(const std::string& name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9') || name == "tilewright") return false;
  for (char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  }
  return true;
}

/// Returns the target of the code around the kernels: the target itself, or this machine if it
/// launches grids.
Target HostOf(const Target& target) {
  return DeviceTraitsOf(target).launches_grids ? *Target::Parse("llvm") : target;
}

/// Describes the origin of a kernel in the file: the first of the steps that run it.
std::string KernelOrigin(const Plan& plan, int kernel) {
  const std::string& name = plan.kernels[static_cast<std::size_t>(kernel)].name;
  for (const PlanStep& step : plan.steps) {
    const KernelStep* call = step.kernel();
    if (call == nullptr || call->kernel != kernel || step.node < 0) continue;
    return fmt::format("{} ({}): kernel {}", plan.graph.DescribeOrigin(step.node), step.report.op,
                       name);
  }
  return "kernel " + name;
}

/// Machine code (for a GPU PTX, or OpenCL C) of all kernels, one object each, made by several
/// threads.
Result<std::vector<std::string>> BuildKernels(const Plan& plan, const CompileOptions& options) {
  const Target& target = options.target;
  const std::vector<Program>& kernels = plan.CalledKernels();
  std::vector<std::string> objects(kernels.size());
  std::vector<Status> failures(kernels.size());
  std::atomic<std::size_t> done = 0;
  RunInParallel(options.build_threads, std::ssize(objects), [&](std::int64_t kernel) {
    const auto i = static_cast<std::size_t>(kernel);
    if (options.progress) options.progress("build", done, objects.size());
    auto object = Generate({kernels[i]}, target, Emit::kObject);
    if (object.ok()) {
      objects[i] = *std::move(object);
    } else {
      failures[i] = object.status().WithContext(
          plan.open ? "kernel " + kernels[i].name : KernelOrigin(plan, static_cast<int>(kernel)));
    }
    ++done;
  });
  for (const Status& failure : failures) TW_RETURN_IF_ERROR(failure);
  return objects;
}

/// Errors: kUnsupported naming an operator with more tensors than the runtime can pass.
Status CheckArguments(const Plan& plan, const Target& target) {
  for (const PlanStep& step : plan.steps) {
    std::size_t count = step.buffers.size();
    const KernelStep* kernel = step.kernel();
    if (DeviceTraitsOf(target).launches_grids && kernel != nullptr) {
      count += PlanLaunches(plan.KernelOf(*kernel)).workspace.size();
    }
    if (plan.open) ++count;  // the number of entries
    if (count > TW_MODEL_MOST_PLACES) {
      return Unsupported(fmt::format("{} ({}): a kernel with {} tensors, expected at most {}",
                                     plan.graph.DescribeOrigin(step.node), step.report.op, count,
                                     static_cast<int>(TW_MODEL_MOST_PLACES)));
    }
  }
  return Status();
}

/// One of the models of a library: its plan and its report.
struct Emitted {
  CompileOptions options;
  Plan plan;
  CompiledModel model;
};

/// Adds the object of a model's tables after those of its kernels. The tables contain a GPU's
/// kernels.
Status AddTables(const Emitted& part, int set, const CodeTraits& traits,
                 std::vector<std::string>& objects) {
  const CompileOptions& options = part.options;
  const Target host = HostOf(options.target);
  std::optional<GpuTables> gpu;
  if (DeviceTraitsOf(options.target).launches_grids) {
    TW_ASSIGN_OR_RETURN(gpu, MakeGpuTables(part.plan, objects));
    objects.clear();
  }
  TW_ASSIGN_OR_RETURN(auto tables, AssembleIr(ModelTablesIr(part.plan, options, traits.features,
                                                            gpu ? &*gpu : nullptr, set),
                                              host));
  objects.push_back(std::move(tables));
  return Status();
}

std::string_view BytesOf(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.data()), static_cast<std::size_t>(tensor.bytes())};
}

/// Returns the constants of all models one after the other, equal ones once. The plans' buffers get
/// their offsets there.
std::vector<const Tensor*> ShareConstants(std::span<Emitted> parts) {
  std::vector<const Tensor*> shared;
  std::multimap<std::uint64_t, std::pair<const Tensor*, std::int64_t>> known;  // with their offset
  std::int64_t bytes = 0;
  for (Emitted& part : parts) {
    std::vector<std::int64_t> offsets;
    for (const Tensor& constant : part.plan.constants) {
      const std::uint64_t hash = Fnv1a64(BytesOf(constant));
      const auto [first, last] = known.equal_range(hash);
      const auto same = std::find_if(first, last, [&](const auto& entry) {
        return BytesOf(*entry.second.first) == BytesOf(constant);
      });
      if (same != last) {
        offsets.push_back(same->second.second);
        continue;
      }
      known.emplace(hash, std::pair(&constant, bytes));
      shared.push_back(&constant);
      offsets.push_back(bytes);
      bytes = RoundUp(bytes + constant.bytes(), kTensorAlignment);
    }
    for (PlanBuffer& buffer : part.plan.buffers) {
      if (buffer.space != BufferSpace::kConstant) continue;
      buffer.offset = offsets[static_cast<std::size_t>(buffer.index)];
    }
  }
  for (Emitted& part : parts) {
    part.plan.constant_bytes = bytes;
    part.model.constant_bytes = bytes;
  }
  return shared;
}

/// objects: the code of all models.
Status Link(const Emitted& first, std::span<const Tensor* const> all,
            const std::vector<std::string>& objects, const std::string& library_path) {
  const CompileOptions& options = first.options;
  const Plan& plan = first.plan;
  const Target host = HostOf(options.target);
  const ScopedTempPath constants(UniqueTempName(library_path, ".constants.o"));
  const ScopedTempPath runtime(UniqueTempName(library_path, ".runtime.a"));
  const bool bundle = !options.parameter_path.empty();
  ScopedTempPath parameters =
      bundle ? ScopedTempPath::NextTo(options.parameter_path) : ScopedTempPath();
  std::vector<std::string> files;
  if (!bundle) {
    TW_RETURN_IF_ERROR(WriteConstantObject(all, plan.constant_bytes, host, constants.path()));
    files.push_back(constants.path());
  } else {
    const TwParameterHeader header = {{'T', 'W', 'P', 'A', 'R', 'A', 'M', 'S'},
                                      TW_PARAMETER_VERSION,
                                      0,
                                      plan.constant_bytes,
                                      plan.constant_hash};
    TW_RETURN_IF_ERROR(WriteParameterFile(all, header, parameters.path()));
  }
  if (options.runtime_path.empty()) {
    TW_ASSIGN_OR_RETURN(auto code, RuntimeFor(host));
    TW_RETURN_IF_ERROR(WriteFile(runtime.path(), code));
    files.push_back(runtime.path());
  } else {
    files.push_back(options.runtime_path);
  }
  TW_RETURN_IF_ERROR(LinkShared(objects, files, library_path));
  // A new file: programs that run the old library have the old one mapped.
  return bundle ? parameters.MoveTo(options.parameter_path) : Status();
}

std::uint64_t HashOf(const std::vector<Tensor>& constants) {
  std::uint64_t hash = Fnv1a64("");
  for (const Tensor& constant : constants) {
    hash = Fnv1a64(BytesOf(constant), hash);
  }
  return hash;
}

/// Rejects early what would fail to link.
Status CheckRuntime(const CompileOptions& options) {
  if (options.runtime_path.empty()) return ToStatus(RuntimeFor(HostOf(options.target)));
  if (FileExists(options.runtime_path)) return Status();
  return InvalidArgument("no file " + options.runtime_path);
}

Status CheckMisses(const CompiledModel& model, OnMiss on_miss) {
  std::vector<std::string> untuned = model.untuned();
  if (on_miss == OnMiss::kWarn || untuned.empty()) return Status();
  for (std::string& value : untuned) value = SourceName(value);  // name in the file
  constexpr std::size_t kMaxNamed = 8;
  const std::size_t named = std::min(untuned.size(), kMaxNamed);
  std::string names = fmt::format("{}", fmt::join(std::span(untuned).first(named), ", "));
  if (untuned.size() > named) names += fmt::format(" and {} more", untuned.size() - named);
  return NotFound(Counted(std::ssize(untuned), "operator") + " without a record: " + names);
}

/// Prepares everything of a model that needs no code.
Result<Emitted> PlanModel(Graph graph, const CompileOptions& options, const CodeTraits& traits,
                          const std::string& library_path) {
  SystemClock clock;
  const double start = clock.MonotonicSeconds();
  CompiledModel model;
  model.binding_options = graph.binding_options;
  TW_ASSIGN_OR_RETURN(auto plan, MakeCheckedPlan(std::move(graph), options));
  if (options.change_plan) {
    options.change_plan(plan);
    TW_RETURN_IF_ERROR(CheckPlan(plan));
  }
  if (options.open) TW_RETURN_IF_ERROR(MakeOpenPlan(plan, options));
  TW_RETURN_IF_ERROR(CheckArguments(plan, options.target));
  TW_RETURN_IF_ERROR(CheckSizes(plan, options.target, traits));
  if (!options.parameter_path.empty()) plan.constant_hash = HashOf(plan.constants);
  model.name = options.name;
  model.library_path = library_path;
  model.header = ModelHeader(plan, options);
  if (!options.parameter_path.empty()) model.graph_json = GraphJson(plan, options);
  for (const PlanStep& step : plan.steps) model.operators.push_back(step.report);
  model.kernels = static_cast<int>(plan.CalledKernels().size());
  model.transforms = plan.transforms;
  model.layouts = plan.layouts;
  model.arena_bytes = plan.MostArenaBytes();
  model.constant_bytes = plan.constant_bytes;
  TW_RETURN_IF_ERROR(CheckMisses(model, options.on_miss));
  model.plan_seconds = clock.MonotonicSeconds() - start;
  return Emitted{options, std::move(plan), std::move(model)};
}

/// Writes a library of one model, or of several shape variants of `name`. place: its folder is
/// created before the first write; may be null.
Status EmitLibrary(std::span<Emitted> parts, const std::string& name, const CodeTraits& traits,
                   const std::string& library_path, const UnverifiedLibrary* place) {
  SystemClock clock;
  std::vector<const Tensor*> constants;
  if (parts.size() > 1) {
    constants = ShareConstants(parts);
  } else {
    for (const Tensor& constant : parts[0].plan.constants) constants.push_back(&constant);
  }
  std::vector<std::string> objects;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Emitted& part = parts[i];
    const double start = clock.MonotonicSeconds();
    TW_ASSIGN_OR_RETURN(auto code, BuildKernels(part.plan, part.options));
    part.model.build_seconds = clock.MonotonicSeconds() - start;
    TW_RETURN_IF_ERROR(AddTables(part, static_cast<int>(i), traits, code));
    std::ranges::move(code, std::back_inserter(objects));
  }
  const double built = clock.MonotonicSeconds();
  if (parts.size() > 1) {
    TW_ASSIGN_OR_RETURN(auto tables,
                        AssembleIr(VariantTablesIr(name, static_cast<int>(parts.size())),
                                   HostOf(parts[0].options.target)));
    objects.push_back(std::move(tables));
  }
  const CompileOptions& options = parts[0].options;
  if (options.progress) options.progress("link", 0, 0);
  if (place != nullptr) TW_RETURN_IF_ERROR(place->MakeFolder());
  TW_RETURN_IF_ERROR(Link(parts[0], constants, objects, library_path));
  parts[0].model.link_seconds = clock.MonotonicSeconds() - built;
  return Status();
}

/// Verifies the whole library, operator by operator. source: as imported.
Status VerifyAll(const Graph& source, const Plan& plan, const CompileOptions& options,
                 const std::string& library_path, int set, CheckProgress& progress,
                 CompileCheck& check) {
  const SequenceNetwork* sequence = SequenceOf(options);
  const PositionNetwork* positions = PositionsOf(options);
  TW_ASSIGN_OR_RETURN(const auto report,
                      sequence != nullptr    ? VerifyLength(*sequence, library_path, progress)
                      : positions != nullptr ? VerifyPositions(*positions, library_path, progress)
                                             : VerifyFile(source, library_path, set, progress));
  if (!report.ok()) return Internal(report.Summary());
  check.compared = static_cast<std::int64_t>(report.checks.size());
  check.elements = 0;
  for (const PlanStep& step : plan.steps) {
    check.elements += plan.graph.node(step.node).type.elements();
  }
  check.not_compared.clear();
  return Status();
}

Json JsonOf(const CompileCheck& check) {
  return {{"ran", check.ran},
          {"operators", check.operators},
          {"compared", check.compared},
          {"elements", check.elements},
          {"seconds", check.seconds},
          {"not_compared", check.not_compared},
          {"not_proved", check.not_proved}};
}

/// Parses a check from the result of JsonOf.
CompileCheck CheckOf(const Json& json) {
  CompileCheck check;
  json.at("ran").get_to(check.ran);
  json.at("operators").get_to(check.operators);
  json.at("compared").get_to(check.compared);
  json.at("elements").get_to(check.elements);
  json.at("seconds").get_to(check.seconds);
  json.at("not_compared").get_to(check.not_compared);
  json.at("not_proved").get_to(check.not_proved);
  return check;
}

/// Checks in a subprocess, which may crash or not end. source: as imported, for kAll only.
Result<CompileCheck> CheckByRunning(const Emitted& emitted, int set, const Graph* source,
                                    const std::string& library_path) {
  const CompileOptions& options = emitted.options;
  const auto check = [&](CheckProgress& progress) -> Result<Json> {
    TW_ASSIGN_OR_RETURN(auto seen,
                        CheckBySample(emitted.plan, options, library_path, set, progress));
    if (source != nullptr) {
      TW_RETURN_IF_ERROR(
          VerifyAll(*source, emitted.plan, options, library_path, set, progress, seen));
    }
    return JsonOf(seen);
  };
  const CheckProcessResult answer =
      RunCheckProcess(check, emitted.model.operators, options.check_operator_seconds);
  TW_RETURN_IF_ERROR(answer.status);
  TW_ASSIGN_OR_RETURN(const auto json, ParseJson(answer.json));
  return CheckOf(json);
}

/// source: as imported, for kAll only.
Result<CompileCheck> CheckEmitted(const Emitted& emitted, int set, const Graph* source,
                                  const std::string& library_path) {
  const CompileOptions& options = emitted.options;
  if (options.progress) options.progress("check", 0, 0);
  std::string not_run =
      "its kernels run on a GPU or another device of " + options.target.kind_name();
  if (DeviceTraitsOf(options.target).machine_code) {
    auto check = CheckByRunning(emitted, set, source, library_path);
    if (check.status().code() != StatusCode::kUnsupported) return check;
    not_run = check.status().message();
  }
  if (source != nullptr) {
    return Unsupported("the library cannot be verified here, expected sample or none: " + not_run);
  }
  TW_ASSIGN_OR_RETURN(auto check, CheckByCode(emitted.plan));
  check.not_run = not_run;
  return check;
}

/// Errors: kInvalidArgument unless the shapes of the inputs identify a graph.
Status CheckShapeVariants(std::span<const Graph> graphs) {
  std::vector<std::string> all;
  for (const Graph& graph : graphs) {
    std::string shapes;
    for (int id : graph.inputs()) {
      const Node& input = graph.node(id);
      shapes += (shapes.empty() ? "" : ", ") + input.name + "=" + ShapeToString(input.type.shape);
    }
    if (std::ranges::find(all, shapes) != all.end()) {
      return InvalidArgument("two shape variants have the same shapes: " + shapes);
    }
    all.push_back(shapes);
    bool same = graph.inputs().size() == graphs[0].inputs().size();
    for (std::size_t i = 0; same && i < graph.inputs().size(); ++i) {
      const Node& input = graph.node(graph.inputs()[i]);
      const Node& first = graphs[0].node(graphs[0].inputs()[i]);
      same = input.name == first.name && input.type.dtype == first.type.dtype &&
             input.type.shape.size() == first.type.shape.size();
    }
    if (!same) {
      return InvalidArgument("shape variants with other inputs: " + all.front() + " and " + shapes);
    }
  }
  return Status();
}

/// Returns the report of a library of several models.
CompiledModel MergeVariants(std::vector<CompiledModel> variants, const std::string& name,
                            std::string header) {
  CompiledModel all;
  all.name = name;
  all.library_path = variants[0].library_path;
  all.check.ran = true;
  all.layouts.exact = true;
  for (const CompiledModel& one : variants) {
    all.header += one.header;
    all.operators.insert(all.operators.end(), one.operators.begin(), one.operators.end());
    all.kernels += one.kernels;
    all.transforms += one.transforms;
    all.layouts.choices += one.layouts.choices;
    all.layouts.changed += one.layouts.changed;
    all.layouts.rule_seconds += one.layouts.rule_seconds;
    all.layouts.seconds += one.layouts.seconds;
    all.layouts.exact = all.layouts.exact && one.layouts.exact;
    all.arena_bytes = std::max(all.arena_bytes, one.arena_bytes);
    all.constant_bytes = one.constant_bytes;
    all.plan_seconds += one.plan_seconds;
    all.build_seconds += one.build_seconds;
    all.link_seconds += one.link_seconds;
    all.check.ran = all.check.ran && one.check.ran;
    all.check.not_run = one.check.not_run;
    all.check.operators += one.check.operators;
    all.check.compared += one.check.compared;
    all.check.elements += one.check.elements;
    all.check.seconds += one.check.seconds;
    std::ranges::copy(one.check.not_compared, std::back_inserter(all.check.not_compared));
    std::ranges::copy(one.check.not_proved, std::back_inserter(all.check.not_proved));
  }
  all.header += header;
  all.variants = std::move(variants);
  return all;
}

/// Partitions a graph; of a sequence, the network of one position, of windows that of a block.
Result<PartitionedGraph> PartitionFor(Graph graph, const CompileOptions& options) {
  const SequenceNetwork* sequence = SequenceOf(options);
  const PositionNetwork* positions = PositionsOf(options);
  if (sequence == nullptr && positions == nullptr) {
    return Partition(std::move(graph), options.target, options.fuse_residuals);
  }
  TW_ASSIGN_OR_RETURN(auto network, positions != nullptr ? positions->Block(positions->LargeUnit())
                                                         : sequence->At(1));
  network.graph.name = std::move(graph.name);
  network.graph.notes = std::move(graph.notes);
  network.graph.binding_options = std::move(graph.binding_options);
  return network;
}

/// Compiles and checks the models of a library.
Result<CompiledModel> CompileAll(std::vector<Graph> graphs, const CompileOptions& given,
                                 const std::string& library_path) {
  CompileOptions options = given;
  options.name = ModelName(graphs[0], options);
  if (!IsPrefix(options.name)) {
    return InvalidArgument("name '" + options.name +
                           "', expected letters, digits and _, and not tilewright");
  }
  const DeviceTraits& device = DeviceTraitsOf(options.target);
  if (!device.machine_code && !device.launches_grids) {
    return Unsupported("compiling for target kind " + options.target.kind_name() +
                       ", expected llvm, cuda, opencl or rocm");
  }
  TW_RETURN_IF_ERROR(CheckRuntime(options));
  TW_ASSIGN_OR_RETURN(const auto traits, TraitsOf(HostOf(options.target)));
  const bool checked = options.check != CheckLevel::kNone;
  std::optional<UnverifiedLibrary> place;
  if (checked) {
    place.emplace(library_path, options.parameter_path);
    options.parameter_path = place->parameter_path();
  }
  const std::string path = checked ? place->path() : library_path;
  std::vector<std::optional<Graph>> sources;  // as imported: input of PartitionLike
  std::vector<Emitted> parts;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    sources.emplace_back();
    if (options.check == CheckLevel::kAll) {
      sources.back() = graphs[i].Clone();
    }
    CompileOptions own = options;
    if (graphs.size() > 1) own.name += "_" + std::to_string(i + 1);
    TW_ASSIGN_OR_RETURN(auto part, PlanModel(std::move(graphs[i]), own, traits, library_path));
    names.push_back(own.name);
    parts.push_back(std::move(part));
  }
  TW_RETURN_IF_ERROR(EmitLibrary(parts, options.name, traits, path, place ? &*place : nullptr));
  for (std::size_t i = 0; checked && i < parts.size(); ++i) {
    TW_ASSIGN_OR_RETURN(
        parts[i].model.check,
        CheckEmitted(parts[i], static_cast<int>(i), sources[i] ? &*sources[i] : nullptr, path));
  }
  if (checked) TW_RETURN_IF_ERROR(place->Finish());
  if (parts.size() == 1) return std::move(parts[0].model);
  std::vector<const Graph*> planned;
  for (const Emitted& part : parts) planned.push_back(&part.plan.graph);
  std::string header = VariantHeader(options.name, names, planned);
  std::vector<CompiledModel> models;
  for (Emitted& part : parts) models.push_back(std::move(part.model));
  return MergeVariants(std::move(models), options.name, std::move(header));
}

}  // namespace

std::vector<std::string> CompiledModel::untuned() const {
  std::vector<std::string> values;
  for (const OperatorReport& report : operators) {
    if (!report.workload_key.empty() && !report.tuned) values.push_back(report.value);
  }
  return values;
}

std::string ModelName(const Graph& graph, const CompileOptions& options) {
  if (!options.name.empty()) return options.name;
  std::string name = graph.name;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return IsPrefix(name) ? name : "model_" + name;
}

Result<CompiledModel> Compile(Graph graph, const CompileOptions& options,
                              const std::string& library_path) {
  std::vector<Graph> graphs;
  graphs.push_back(std::move(graph));
  return CompileAll(std::move(graphs), options, library_path);
}

Result<Plan> MakeCheckedPlan(Graph graph, const CompileOptions& options,
                             const std::vector<StreamKernel>* streams) {
  TW_ASSIGN_OR_RETURN(auto network, PartitionFor(std::move(graph), options));
  TW_ASSIGN_OR_RETURN(auto plan, MakePlan(std::move(network), options, streams));
  TW_RETURN_IF_ERROR(CheckPlan(plan));
  return plan;
}

Status CheckCompiles(Graph graph, const CompileOptions& options) {
  if (DeviceTraitsOf(options.target).has_host_fallback) {
    return ToStatus(MakeCheckedPlan(std::move(graph), options));
  }
  TW_RETURN_IF_ERROR(CheckRuntime(options));
  TW_ASSIGN_OR_RETURN(const auto traits, TraitsOf(HostOf(options.target)));
  return ToStatus(PlanModel(std::move(graph), options, traits, {}));
}

Result<CompiledModel> CompileShapeVariants(std::vector<Graph> graphs, const CompileOptions& options,
                                           const std::string& library_path) {
  if (graphs.size() == 1) return Compile(std::move(graphs[0]), options, library_path);
  if (!options.parameter_path.empty()) {
    return Unsupported("several shape variants have their constants in the library, no bundle");
  }
  if (!DeviceTraitsOf(options.target).machine_code) {
    return Unsupported("several shape variants are for CPUs, expected one");
  }
  TW_RETURN_IF_ERROR(CheckShapeVariants(graphs));
  return CompileAll(std::move(graphs), options, library_path);
}

}  // namespace tilewright
