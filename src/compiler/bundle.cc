#include "src/compiler/bundle.h"

#include <filesystem>

#include "src/base/file.h"

namespace tilewright {

Result<CompiledModel> CompileBundle(Graph graph, CompileOptions options,
                                    const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return Unavailable(folder + ": cannot be made: " + failed.message());
  options.name = ModelName(graph, options);
  const std::string stem = folder + "/" + options.name;
  options.parameter_path = stem + ".params";
  auto model = options.autotvm.has_value() ? CompileImported(graph, options, stem + ".so")
                                           : Compile(std::move(graph), options, stem + ".so");
  TW_RETURN_IF_ERROR(model);
  TW_RETURN_IF_ERROR(WriteFile(stem + ".h", model->header));
  TW_RETURN_IF_ERROR(WriteFile(folder + "/graph.json", model->graph_json));
  return model;
}

}  // namespace tilewright
