#include "src/compiler/vta_bundle.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "src/base/file.h"
#include "src/base/json.h"
#include "src/graph/relay/export.h"
#include "src/templates/vta_parts.h"
#include "src/vta/stream_file.h"

namespace tilewright {
namespace {

constexpr const char* kFormat = "tilewright-vta-bundle-1";

std::string GraphPath(const std::string& folder) { return folder + "/graph.relay"; }
std::string KernelsPath(const std::string& folder) { return folder + "/kernels.json"; }
std::string StreamPath(const std::string& folder, std::size_t number) {
  return fmt::format("{}/streams/{}.vta", folder, number);
}

Status MakeFolder(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directory(path, failed);
  if (failed) return Unavailable(path + ": cannot be made: " + failed.message());
  return Status();
}

/// Errors: kInvalidArgument naming the field unless it is there and a text.
Result<std::string> TextOf(const Json& object, const char* name) {
  if (object.is_object() && object.contains(name) && object[name].is_string()) {
    return object[name].get<std::string>();
  }
  return InvalidArgument(fmt::format("field {}: missing or no text", name));
}

/// False unless it is there and true.
bool FlagOf(const Json& object, const char* name) {
  return object.is_object() && object.contains(name) && object[name] == true;
}

Json KernelJson(const VtaKernel& kernel) {
  return {{"workload", kernel.workload},     {"epilogue", kernel.epilogue.ToString()},
          {"template", kernel.template_key}, {"config", kernel.config},
          {"tuned", kernel.tuned},           {"source", kernel.source},
          {"why", kernel.explanation}};
}

/// The kernel but for its stream.
Result<VtaKernel> KernelFrom(const Json& json) {
  VtaKernel kernel;
  std::string epilogue;
  const std::pair<const char*, std::string*> texts[] = {
      {"workload", &kernel.workload},     {"epilogue", &epilogue},
      {"template", &kernel.template_key}, {"config", &kernel.config},
      {"source", &kernel.source},         {"why", &kernel.explanation}};
  for (const auto& [name, text] : texts) {
    auto value = TextOf(json, name);
    TW_RETURN_IF_ERROR(value);
    *text = *std::move(value);
  }
  kernel.tuned = FlagOf(json, "tuned");
  if (const Status parsed = ToStatus(Config::Parse(kernel.config)); !parsed.ok()) {
    return parsed.WithContext("field config");
  }
  auto steps = Epilogue::Parse(epilogue);
  if (!steps.ok()) return steps.status().WithContext("field epilogue");
  kernel.epilogue = *std::move(steps);
  return kernel;
}

/// Errors: kInvalidArgument naming the file if it is damaged or made for another design.
Result<vta::Stream> ReadStream(const std::string& path, const vta::Design& design) {
  auto bytes = ReadFile(path);
  TW_RETURN_IF_ERROR(bytes);
  auto file = vta::ReadStreamFile(*bytes);
  if (!file.ok()) return file.status().WithContext(path);
  if (file->design.Model() != design.Model()) {
    return InvalidArgument(
        fmt::format("{}: made for {}, expected {}", path, file->design.Model(), design.Model()));
  }
  return std::move(file->stream);
}

Result<std::vector<VtaKernel>> ReadKernels(const Json& list, const std::string& folder,
                                           const vta::Design& design) {
  std::vector<VtaKernel> kernels;
  for (const Json& json : list) {
    auto kernel = KernelFrom(json);
    if (!kernel.ok()) {
      return kernel.status().WithContext(
          fmt::format("{}: kernel {}", KernelsPath(folder), kernels.size()));
    }
    auto stream = ReadStream(StreamPath(folder, kernels.size()), design);
    TW_RETURN_IF_ERROR(stream);
    kernel->stream = *std::move(stream);
    kernels.push_back(*std::move(kernel));
  }
  return kernels;
}

/// What kernels.json says: format, target, list of kernels.
Result<Json> ReadIndex(const std::string& folder) {
  const std::string path = KernelsPath(folder);
  auto text = ReadFile(path);
  TW_RETURN_IF_ERROR(text);
  auto index = ParseJson(*text);
  if (!index.ok()) return index.status().WithContext(path);
  auto format = TextOf(*index, "format");
  if (!format.ok()) return format.status().WithContext(path);
  if (*format != kFormat) {
    return InvalidArgument(fmt::format("{}: format {}, expected {}", path, *format, kFormat));
  }
  if (!index->is_object() || !index->contains("kernels") || !(*index)["kernels"].is_array()) {
    return InvalidArgument(path + ": field kernels: missing or no list");
  }
  return index;
}

}  // namespace

Status WriteVtaBundle(const VtaPlan& plan, const std::string& folder) {
  TW_RETURN_IF_ERROR(MakeFolder(folder));
  TW_RETURN_IF_ERROR(MakeFolder(folder + "/streams"));
  auto graph = ExportRelay(plan.graph);
  TW_RETURN_IF_ERROR(graph);
  TW_RETURN_IF_ERROR(WriteFile(GraphPath(folder), *graph));
  Json kernels = Json::array();
  for (const VtaKernel& kernel : plan.kernels) {
    auto stream = vta::WriteStreamFile({plan.design, kernel.stream});
    if (!stream.ok()) return stream.status().WithContext(kernel.workload);
    TW_RETURN_IF_ERROR(WriteFile(StreamPath(folder, kernels.size()), *stream));
    kernels.push_back(KernelJson(kernel));
  }
  const Json index = {{"format", kFormat},
                      {"target", plan.target.ToString()},
                      {"fuse_residuals", plan.fuse == FuseRule::kResiduals},
                      {"kernels", std::move(kernels)}};
  return WriteFile(KernelsPath(folder), index.dump(1) + "\n");
}

Result<VtaPlan> ReadVtaBundle(const std::string& folder) {
  auto index = ReadIndex(folder);
  TW_RETURN_IF_ERROR(index);
  auto text = TextOf(*index, "target");
  auto target = text.ok() ? Target::Parse(*text) : Result<Target>(text.status());
  if (!target.ok()) return target.status().WithContext(KernelsPath(folder));
  auto vta = VtaTargetOf(*target);
  if (!vta.ok()) return vta.status().WithContext(KernelsPath(folder));
  auto kernels = ReadKernels((*index)["kernels"], folder, vta->design);
  TW_RETURN_IF_ERROR(kernels);
  auto graph = LoadGraph(GraphPath(folder));
  TW_RETURN_IF_ERROR(graph);
  VtaOptions options;
  options.target = *target;
  options.fuse = FlagOf(*index, "fuse_residuals") ? FuseRule::kResiduals : FuseRule::kNarrow;
  options.kernels = &*kernels;
  auto plan = PlanVta(*std::move(graph), options);
  if (!plan.ok()) return plan.status().WithContext(folder);
  return plan;
}

}  // namespace tilewright
