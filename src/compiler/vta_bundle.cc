#include "src/compiler/vta_bundle.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/compiler/compile.h"
#include "src/graph/relay/export.h"
#include "src/templates/vta/vta_target.h"
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

/// Errors: kInvalidArgument naming the field unless it exists and is a text.
Result<std::string> TextOf(const Json& object, const char* name) {
  if (object.is_object() && object.contains(name) && object[name].is_string()) {
    return object[name].get<std::string>();
  }
  return InvalidArgument(fmt::format("field {}: missing or no text", name));
}

/// Returns false unless the field exists and is true.
bool FlagOf(const Json& object, const char* name) {
  return object.is_object() && object.contains(name) && object[name] == true;
}

Json KernelJson(const StreamKernel& kernel) {
  const OperatorReport& report = kernel.report;
  return {{"workload", report.workload_key}, {"epilogue", kernel.epilogue.ToString()},
          {"template", report.template_key}, {"config", report.config},
          {"tuned", report.tuned},           {"source", report.source},
          {"why", report.explanation}};
}

/// Parses a kernel without its stream.
Result<StreamKernel> KernelFrom(const Json& json) {
  StreamKernel kernel;
  OperatorReport& report = kernel.report;
  std::string epilogue;
  const std::pair<const char*, std::string*> texts[] = {
      {"workload", &report.workload_key}, {"epilogue", &epilogue},
      {"template", &report.template_key}, {"config", &report.config},
      {"source", &report.source},         {"why", &report.explanation}};
  for (const auto& [name, text] : texts) {
    TW_ASSIGN_OR_RETURN(auto value, TextOf(json, name));
    *text = std::move(value);
  }
  report.tuned = FlagOf(json, "tuned");
  if (const Status parsed = ToStatus(Config::Parse(report.config)); !parsed.ok()) {
    return parsed.WithContext("field config");
  }
  auto steps = Epilogue::Parse(epilogue);
  if (!steps.ok()) return steps.status().WithContext("field epilogue");
  kernel.epilogue = *std::move(steps);
  return kernel;
}

/// Errors: kInvalidArgument naming the file if it is damaged or made for another design.
Result<vta::Stream> ReadStream(const std::string& path, const vta::Design& design) {
  TW_ASSIGN_OR_RETURN(auto bytes, ReadFile(path));
  auto file = vta::ReadStreamFile(bytes);
  if (!file.ok()) return file.status().WithContext(path);
  if (file->design.Model() != design.Model()) {
    return InvalidArgument(
        fmt::format("{}: made for {}, expected {}", path, file->design.Model(), design.Model()));
  }
  return std::move(file->stream);
}

Result<std::vector<StreamKernel>> KernelsFrom(const Json& index) {
  if (!index.is_object() || !index.contains("kernels") || !index["kernels"].is_array()) {
    return InvalidArgument("field kernels: missing or no list");
  }
  std::vector<StreamKernel> kernels;
  for (const Json& json : index["kernels"]) {
    auto kernel = KernelFrom(json);
    if (!kernel.ok()) return kernel.status().WithContext(fmt::format("kernel {}", kernels.size()));
    kernels.push_back(*std::move(kernel));
  }
  return kernels;
}

}  // namespace

std::string VtaBundleIndex(const Plan& plan) {
  Json kernels = Json::array();
  for (const StreamKernel& kernel : plan.streams) kernels.push_back(KernelJson(kernel));
  const Json index = {{"format", kFormat},
                      {"target", plan.target.ToString()},
                      {"fuse_residuals", plan.fuse_residuals},
                      {"kernels", std::move(kernels)}};
  return DumpJson(index, 1) + "\n";
}

Result<Plan> ParseVtaBundleIndex(std::string_view text) {
  TW_ASSIGN_OR_RETURN(const auto index, ParseJson(text));
  TW_ASSIGN_OR_RETURN(auto format, TextOf(index, "format"));
  if (format != kFormat) {
    return InvalidArgument(fmt::format("format {}, expected {}", format, kFormat));
  }
  TW_ASSIGN_OR_RETURN(auto spelled, TextOf(index, "target"));
  TW_ASSIGN_OR_RETURN(auto target, Target::Parse(spelled));
  TW_RETURN_IF_ERROR(VtaTargetOf(target));
  TW_ASSIGN_OR_RETURN(auto kernels, KernelsFrom(index));
  Plan plan;
  plan.target = std::move(target);
  plan.fuse_residuals = FlagOf(index, "fuse_residuals");
  plan.streams = std::move(kernels);
  return plan;
}

Status WriteVtaBundle(const Plan& plan, const std::string& path) {
  TW_ASSIGN_OR_RETURN(auto place, AtomicDirectory::Create(path));
  const std::string& folder = place.staging_path();
  TW_RETURN_IF_ERROR(MakeFolder(folder + "/streams"));
  TW_ASSIGN_OR_RETURN(auto graph, ExportRelay(plan.graph));
  TW_RETURN_IF_ERROR(WriteFile(GraphPath(folder), graph));
  const auto vta = VtaTargetOf(plan.target);
  TW_RETURN_IF_ERROR(vta);
  for (std::size_t i = 0; i < plan.streams.size(); ++i) {
    const StreamKernel& kernel = plan.streams[i];
    auto stream = vta::WriteStreamFile({vta->design, kernel.stream});
    if (!stream.ok()) return stream.status().WithContext(kernel.report.workload_key);
    TW_RETURN_IF_ERROR(WriteFile(StreamPath(folder, i), *stream));
  }
  TW_RETURN_IF_ERROR(WriteFile(KernelsPath(folder), VtaBundleIndex(plan)));
  return place.Finish();
}

Result<Plan> ReadVtaBundle(const std::string& folder) {
  TW_ASSIGN_OR_RETURN(auto text, ReadFile(KernelsPath(folder)));
  auto index = ParseVtaBundleIndex(text);
  if (!index.ok()) return index.status().WithContext(KernelsPath(folder));
  TW_ASSIGN_OR_RETURN(const auto vta, VtaTargetOf(index->target));
  for (std::size_t i = 0; i < index->streams.size(); ++i) {
    TW_ASSIGN_OR_RETURN(index->streams[i].stream, ReadStream(StreamPath(folder, i), vta.design));
  }
  TW_ASSIGN_OR_RETURN(auto graph, LoadGraph(GraphPath(folder)));
  CompileOptions options;
  options.target = index->target;
  options.fuse_residuals = index->fuse_residuals;
  auto plan = MakeCheckedPlan(std::move(graph), options, &index->streams);
  if (!plan.ok()) return plan.status().WithContext(folder);
  return plan;
}

}  // namespace tilewright
