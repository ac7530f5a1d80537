#include "python_free_cli/model_source.h"

#include <CLI/CLI.hpp>

#include "src/base/files/file.h"
#include "src/media/npy.h"

namespace tilewright::cli {
namespace {

Status ReadValues(Bindings& bindings) {
  constexpr std::int64_t kMaxBytes = 256 << 20;  // the importer makes constants of these values
  for (auto& [name, value] : bindings.values) {
    if (!value.text.ends_with(".npy")) continue;
    const std::string place = "--value " + name;
    auto bytes = ReadFile(value.text, kMaxBytes);
    if (!bytes.ok()) return bytes.status().WithContext(place);
    auto contents = ParseNpy(*bytes);
    if (!contents.ok()) return contents.status().WithContext(place + ": " + value.text);
    value.contents = *std::move(contents);
  }
  return Status();
}

}  // namespace

void ModelArguments::Declare(CLI::App& app) {
  const auto list = [&app](const char* name, std::vector<std::string>& texts, const char* help) {
    app.add_option(name, texts, help)->allow_extra_args(false)->group("How the model is read");
  };
  list("--shape", bindings.shapes, "Shape of an input: x=1x3x320x320");
  list("--dim", bindings.dims, "Size of a dimension that the file only names: height=320");
  list("--value", bindings.values,
       "What an input always is, which then is a constant: sr=16000, axes=0,2, mask=mask.npy");
  requantize_option =
      app.add_option(
             "--requantize", requantize,
             "How quantized operators of ONNX round: by float32, as ONNX says, or by integers")
          ->check(CLI::IsMember({"float", "integer"}))
          ->capture_default_str()
          ->group("How the model is read");
}

Result<std::vector<ModelSource>> ModelArguments::Sources(const std::string& file) const {
  TW_ASSIGN_OR_RETURN(auto variants, ParseBindings(bindings));
  const auto rounding = requantize == "integer" ? Requantize::kByIntegers : Requantize::kByFloat;
  std::vector<ModelSource> sources;
  for (Bindings& set : variants) {
    TW_RETURN_IF_ERROR(ReadValues(set));
    sources.push_back({file, {rounding, std::move(set)}});
  }
  return sources;
}

Result<ModelSource> ModelArguments::Source(const std::string& file) const {
  TW_ASSIGN_OR_RETURN(auto sources, Sources(file));
  if (sources.size() == 1) return std::move(sources.front());
  return InvalidArgument(std::to_string(sources.size()) +
                         " sets of sizes (--shape, --dim), expected one");
}

Status ModelArguments::CheckUnused(std::string_view why) const {
  const auto refused = [&](const std::string& option) {
    return InvalidArgument(option + ": " + std::string(why));
  };
  if (!bindings.shapes.empty()) return refused("--shape " + bindings.shapes.front());
  if (!bindings.dims.empty()) return refused("--dim " + bindings.dims.front());
  if (!bindings.values.empty()) return refused("--value " + bindings.values.front());
  if (requantize != "float") return refused("--requantize " + requantize);
  return Status();
}

}  // namespace tilewright::cli
