#include "src/compiler/bundle.h"

#include "src/base/files/file.h"

namespace tilewright {

Result<CompiledModel> CompileBundle(Graph graph, CompileOptions options,
                                    const std::string& folder) {
  TW_ASSIGN_OR_RETURN(auto place, AtomicDirectory::Create(folder));
  options.name = ModelName(graph, options);
  const std::string stem = place.staging_path() + "/" + options.name;
  options.parameter_path = stem + ".params";
  TW_ASSIGN_OR_RETURN(auto model, options.autotvm.has_value()
                                      ? CompileImported(graph, options, stem + ".so")
                                      : Compile(std::move(graph), options, stem + ".so"));
  TW_RETURN_IF_ERROR(WriteFile(stem + ".h", model.header));
  TW_RETURN_IF_ERROR(WriteFile(place.staging_path() + "/graph.json", model.graph_json));
  TW_RETURN_IF_ERROR(place.Finish());
  model.library_path = folder + "/" + options.name + ".so";
  return model;
}

}  // namespace tilewright
