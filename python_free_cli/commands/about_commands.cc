// `tilewright targets` and `version`: available targets, templates and formats.

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "measure/sandbox/sandbox.h"
#include "python_free_cli/command.h"
#include "python_free_cli/print.h"
#include "src/base/json.h"
#include "src/runtime/cuda_driver.h"
#include "src/runtime/opencl/device.h"
#include "src/session/user_paths.h"
#include "src/target/cpu.h"
#include "src/target/device.h"
#include "src/target/library.h"
#include "src/target/presets.h"
#include "src/templates/registry.h"

namespace tilewright::cli {
namespace {

class TargetsCommand final : public Command {
 public:
  const char* name() const override { return "targets"; }
  const char* summary() const override {
    return "Show this machine and the available targets, boards, libraries and templates";
  }
  const char* examples() const override {
    return "  tilewright targets\n  tilewright targets --json\n";
  }
  void Declare(CLI::App& app) override { app.add_flag("--json", json_, "Print JSON"); }
  Result<int> Run() override {
    const DeviceFingerprint device = ProbeHostCpu();
    TW_ASSIGN_OR_RETURN(auto native, Target::Parse("native"));
    Json out = {{"native", native.ToString()}, {"device", *ParseJson(device.ToString())}};
    for (const char* text :
         {"llvm -mcpu=x86-64", "llvm -mcpu=core-avx2", "llvm -mcpu=skylake-avx512",
          "llvm -mcpu=cascadelake", "llvm -mcpu=sapphirerapids", "llvm -mcpu=znver4"}) {
      TW_ASSIGN_OR_RETURN(auto target, Target::Parse(text));
      TW_ASSIGN_OR_RETURN(auto features, FeaturesOf(target));
      out["targets"].push_back({{"target", text},
                                {"float_lanes", features.float_lanes()},
                                {"vector_registers", features.vector_registers()},
                                {"int8_dot", features.has_int8_dot()}});
    }
    const auto boards = ReadPresets(session::ShippedPath("targets"));
    if (boards.status().code() != StatusCode::kNotFound) TW_RETURN_IF_ERROR(boards);
    out["boards"] = Json::array();
    for (const TargetPreset& board : boards.ok() ? *boards : std::vector<TargetPreset>()) {
      out["boards"].push_back(
          {{"name", board.name}, {"description", board.description}, {"target", board.target}});
    }
    out["cuda"] = GpuJson(CudaApi::kLibrary);
    out["rocm"] = GpuJson(CudaApi::kHipLibrary);
    out["opencl"] = OpenClJson();
    const measure::SandboxGaps missing = measure::TestSandbox();
    out["sandbox"] = {
        {"system_calls", missing.system_calls.empty() ? "filtered" : missing.system_calls},
        {"landlock", missing.files.empty() ? "yes" : missing.files},
        {"user_namespace", missing.user.empty() ? "yes" : missing.user}};
    for (const KernelLibrary& library : KernelLibraries()) {
      const auto version = LibraryVersion(library);
      out["libraries"].push_back({{"name", std::string(library.name)},
                                  {version.ok() ? "version" : "missing",
                                   version.ok() ? *version : version.status().message()}});
    }
    for (const TemplateEntry& entry : templates().all()) {
      out["templates"].push_back(
          {{"template", std::string(entry.key)}, {"version", entry.version}});
    }
    if (json_) {
      PrintJson(out);
      return kExitDone;
    }
    PrintOut("this machine  {} ({} cores; L1d {} KiB, L2 {} KiB, L3 {} KiB)\n", device.model,
             device.cores, device.l1d_bytes >> 10, device.l2_bytes >> 10, device.l3_bytes >> 10);
    PrintOut("native        {}\n", native.ToString());
    PrintAfterHead("sandbox       ",
                   fmt::format("system calls: {}; Landlock: {}; user namespace: {}",
                               out["sandbox"]["system_calls"].get<std::string>(),
                               out["sandbox"]["landlock"].get<std::string>(),
                               out["sandbox"]["user_namespace"].get<std::string>()));
    PrintGpus("cuda          ", "PTX", out["cuda"]);
    PrintGpus("rocm          ", "code objects", out["rocm"]);
    PrintOpenCl(out["opencl"]);
    for (const Json& library : out["libraries"]) {
      const char* what = library.contains("version") ? "version" : "missing";
      PrintOut("--libs {:<7} {}\n", library["name"].get<std::string>(),
               library[what].get<std::string>());
    }
    PrintOut("{:<28} {:>11} {:>9} {:>8}\n", "target", "float lanes", "registers", "int8 dot");
    for (const Json& t : out["targets"]) {
      PrintOut("{:<28} {:>11} {:>9} {:>8}\n", t["target"].get<std::string>(),
               t["float_lanes"].get<int>(), t["vector_registers"].get<int>(),
               t["int8_dot"].get<bool>() ? "yes" : "no");
    }
    PrintOut("\nboards:\n");
    for (const Json& board : out["boards"]) {
      PrintOut("  {:<12} {}\n", board["name"].get<std::string>(),
               board["description"].get<std::string>());
    }
    PrintOut("\ntemplates:\n");
    for (const Json& t : out["templates"]) {
      PrintOut("  {} v{}\n", t["template"].get<std::string>(), t["version"].get<int>());
    }
    return kExitDone;
  }

 private:
  /// Describes the GPUs of a driver of CUDA or HIP.
  static Json GpuJson(const char* library) {
    const auto gpus = CudaDevices(library);
    if (!gpus.ok()) return {{"missing", gpus.status().message()}};
    Json out;
    for (const CudaDevice& gpu : *gpus) {
      Json device = {{"name", gpu.name},
                     {"multiprocessors", gpu.multiprocessors},
                     {"memory_bytes", gpu.memory_bytes}};
      if (gpu.processor.empty()) {
        device["compute_capability"] = gpu.compute_capability;
      } else {
        device["processor"] = gpu.processor;
      }
      out["devices"].push_back(std::move(device));
    }
    return out;
  }

  static void PrintGpus(const char* head, const std::string& code, const Json& gpus) {
    if (gpus.contains("missing")) {
      PrintAfterHead(head, gpus["missing"].get<std::string>() +
                               "; kernels can still be compiled to " + code +
                               " and emulated (--device simt)");
      return;
    }
    for (const Json& gpu : gpus["devices"]) {
      const std::string processor =
          gpu.contains("processor") ? gpu["processor"].get<std::string>()
                                    : "sm_" + std::to_string(gpu["compute_capability"].get<int>());
      PrintOut("{}{} ({}, {} multiprocessors, {} MiB)\n", head, gpu["name"].get<std::string>(),
               processor, gpu["multiprocessors"].get<int>(),
               gpu["memory_bytes"].get<std::int64_t>() >> 20);
    }
  }

  static Json OpenClJson() {
    const auto devices = OpenClDevices();
    if (!devices.ok()) return {{"missing", devices.status().message()}};
    Json out;
    for (const OpenClDevice& device : *devices) {
      out["devices"].push_back({{"platform", device.platform_name},
                                {"name", device.name},
                                {"version", device.version},
                                {"driver", device.driver},
                                {"compute_units", device.compute_units},
                                {"work_group_size", device.work_group_size},
                                {"local_bytes", device.local_bytes},
                                {"memory_bytes", device.memory_bytes}});
    }
    return out;
  }

  static void PrintOpenCl(const Json& opencl) {
    if (opencl.contains("missing")) {
      PrintAfterHead("opencl        ", opencl["missing"].get<std::string>());
      PrintOut("\n");
      return;
    }
    for (const Json& device : opencl["devices"]) {
      PrintOut("opencl        {}: {} ({} compute units, driver {})\n",
               device["platform"].get<std::string>(), device["name"].get<std::string>(),
               device["compute_units"].get<int>(), device["driver"].get<std::string>());
    }
    PrintOut("\n");
  }

  bool json_ = false;
};

class VersionCommand final : public Command {
 public:
  const char* name() const override { return "version"; }
  const char* summary() const override {
    return "Show the versions of the program and of its code generators";
  }
  void Declare(CLI::App& app) override { app.add_flag("--json", json_, "Print JSON"); }
  Result<int> Run() override {
    Json versions = Json::object();
    std::string text;
    for (const DeviceTraits& device : AllDevices()) {
      versions[std::string(device.name)] = device.codegen_version;
      text +=
          fmt::format("{}{} v{}", text.empty() ? "" : ", ", device.name, device.codegen_version);
    }
    if (json_) {
      PrintJson({{"version", TILEWRIGHT_VERSION}, {"code_generators", versions}});
    } else {
      PrintOut("tilewright {} (code generators: {})\n", TILEWRIGHT_VERSION, text);
    }
    return kExitDone;
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeTargetsCommand() { return std::make_unique<TargetsCommand>(); }
std::unique_ptr<Command> MakeVersionCommand() { return std::make_unique<VersionCommand>(); }

}  // namespace tilewright::cli
