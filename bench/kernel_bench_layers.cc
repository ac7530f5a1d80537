#include "bench/kernel_bench_layers.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "src/base/files/file.h"
#include "src/models/models.h"
#include "src/session/tasks.h"

namespace tilewright::bench {
namespace {

/// Writes a built-in model to a file in `folder`; returns any other task unchanged.
Result<std::string> FileOf(const std::string& task, const ScopedTempDir& folder) {
  if (std::ranges::count(ModelNames(), task) == 0) return task;
  TW_ASSIGN_OR_RETURN(auto bytes, MakeModelOnnx(task));
  const std::string path = folder.path() + "/" + task + ".onnx";
  TW_RETURN_IF_ERROR(WriteFile(path, bytes));
  return path;
}

}  // namespace

void LayerArguments::Declare(CLI::App& app) {
  app.add_option("tasks", tasks, "Model files, built-in models, workload keys")->required();
  app.add_option("--only", only, "Layers whose key has this in it");
  app.add_option("--shape", model.bindings.shapes, "Shape of an input: x=1x3x320x320")
      ->allow_extra_args(false);
  app.add_option("--dim", model.bindings.dims, "Size of a symbolic dimension: height=320")
      ->allow_extra_args(false);
}

Result<std::vector<search::TuneTask>> ReadLayers(const LayerArguments& arguments,
                                                 const Target& target,
                                                 const std::function<void(Workload&)>& change) {
  TW_ASSIGN_OR_RETURN(auto folder, ScopedTempDir::Create("tilewright-bench"));
  std::vector<search::TuneTask> layers;
  for (const std::string& text : arguments.tasks) {
    TW_ASSIGN_OR_RETURN(auto file, FileOf(text, folder));
    TW_ASSIGN_OR_RETURN(auto source, arguments.model.Source(file));
    TW_ASSIGN_OR_RETURN(auto tasks, session::ParseTasks(source, target));
    for (search::TuneTask& layer : tasks) {
      change(layer.task.workload);
      if (layer.task.workload.Key().find(arguments.only) == std::string::npos) continue;
      layers.push_back(std::move(layer));
    }
  }
  return layers;
}

Result<Epilogue> EpilogueOf(const Workload& workload, bool int8) {
  if (workload.op == OpKind::kBatchMatmul) return Epilogue();
  return Epilogue::Parse(
      int8 ? "add(channel:int32);relu;cast(float32);mul(0.0005);saturate_cast(uint8)"
           : "add(channel:float32);relu");
}

void MakeInt8(Workload& workload) {
  if (!workload.data.dtype.is_float()) return;
  workload.data.dtype = kUInt8;
  workload.weight.dtype = kInt8;
  workload.out_dtype = kInt32;
}

}  // namespace tilewright::bench
