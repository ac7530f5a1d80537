#include "src/runtime/loaded_model.h"

#include <utility>

#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/runtime/library.h"
#include "src/target/cpu.h"
#include "src/target/cpu_instruction_sets.h"
#include "src/target/device.h"

namespace tilewright {
namespace {

// Maximum count in a valid table; a larger one means another kind of file.
constexpr std::int64_t kMaxCount = 1 << 20;
constexpr std::int64_t kMaxRank = 16;

/// For a library without a list of required features: checks those of its target.
/// Errors: kUnsupported naming the first feature that this machine lacks.
Status CheckTarget(const Target& target) {
  TW_ASSIGN_OR_RETURN(auto needed, FeaturesOf(target));
  TW_ASSIGN_OR_RETURN(auto native, Target::Parse("native"));
  TW_ASSIGN_OR_RETURN(auto here, FeaturesOf(native));
  const std::pair<const char*, bool> lacking[] = {
      {"AVX2", needed.avx2 && !here.avx2},
      {"AVX-512", needed.avx512 && !here.avx512},
      {"AVX512-VNNI", needed.avx512_vnni && !here.avx512_vnni},
      {"AVX512-BF16", needed.avx512_bf16 && !here.avx512_bf16},
      {"AVX-VNNI", needed.avx_vnni && !here.avx_vnni},
      {"AMX", (needed.amx_int8 && !here.amx_int8) || (needed.amx_bf16 && !here.amx_bf16)},
      {"NEON", needed.neon && !here.neon},
      {"the Arm dot product", needed.arm_dotprod && !here.arm_dotprod}};
  for (const auto& [name, lacks] : lacking) {
    if (lacks) {
      return Unsupported("the model needs " + std::string(name) + ", this CPU has none");
    }
  }
  return Status();
}

/// features: list in the library, or null. A GPU is checked when it is opened.
/// Errors: kUnsupported naming the first feature that this machine lacks.
Status CheckModelMachine(const char* target_text, const char* features) {
  TW_ASSIGN_OR_RETURN(auto target, Target::Parse(target_text));
  if (DeviceTraitsOf(target).launches_grids) return Status();
  if (features == nullptr) return CheckTarget(target);
  const std::string lacking = MissingCpuFeature(features);
  if (lacking.empty()) return Status();
  return Unsupported("the model needs a CPU with " + lacking + ", this one has none");
}

Status CheckValues(const TwValue* values, std::int64_t count) {
  if (count < 0 || count > kMaxCount || (count > 0 && values == nullptr)) {
    return Corrupt("the model's tables are invalid");
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const TwValue& value = values[i];
    if (value.name == nullptr || value.dtype == nullptr) return Corrupt("a value without a name");
    if (value.rank < 0 || value.rank > kMaxRank) return Corrupt("value of a wrong rank");
    if (value.bytes < 0) return Corrupt(std::string(value.name) + " has a wrong size");
  }
  return Status();
}

Status Check(const TwModelFunctions& functions, bool open, const char* features) {
  const TwModel* model = functions.model;
  if (model == nullptr || functions.run == nullptr || functions.set_threads == nullptr ||
      functions.release == nullptr || functions.load == nullptr) {
    return Corrupt("the model's functions are missing");
  }
  const std::int64_t expected = open ? TW_OPEN_MODEL_VERSION : TW_MODEL_VERSION;
  if (model->version != expected) {
    return Unsupported("made for interface version " + std::to_string(model->version) +
                       ", expected " + std::to_string(expected));
  }
  if (model->step_count < 0 || model->step_count > kMaxCount) {
    return Corrupt("the model's tables are invalid");
  }
  TW_RETURN_IF_ERROR(CheckValues(model->inputs, model->input_count));
  TW_RETURN_IF_ERROR(CheckValues(model->outputs, model->output_count));
  return CheckModelMachine(model->target, features);
}

/// Returns the library of a bundle; other paths unchanged.
Result<std::string> LibraryOf(const std::string& path) {
  const std::string index = path + "/graph.json";
  if (!FileExists(index)) return path;
  TW_ASSIGN_OR_RETURN(auto text, ReadFile(index));
  auto json = ParseJson(text);
  if (!json.ok()) return json.status().WithContext(index);
  const auto name = json->is_object() ? json->find("library") : json->end();
  if (name == json->end() || !name->is_string() ||
      name->get<std::string>().find('/') != std::string::npos) {
    return InvalidArgument(index + ": field library: missing or no file name");
  }
  return path + "/" + name->get<std::string>();
}

/// Loads the parameters of a bundle's library.
Status LoadParameters(const TwModelFunctions& functions, const std::string& library) {
  if (functions.model->constants != nullptr) return Status();
  constexpr std::string_view kSuffix = ".so";
  const bool plain = library.ends_with(kSuffix);
  const std::string path =
      library.substr(0, library.size() - (plain ? kSuffix.size() : 0)) + ".params";
  switch (functions.load(functions.model, path.c_str())) {
    case 0:
      return Status();
    case TW_MODEL_NO_PARAMETERS:
      return NotFound("its parameters " + path + " cannot be read");
    default:
      return InvalidArgument(path + ": not the parameters of this model, or truncated");
  }
}

/// Errors: kUnavailable naming operator and library.
Status CheckLibraries(const SharedLibrary& library, const std::string& suffix) {
  // POSIX: an object pointer from dlsym converts to a function pointer.
  const auto problem =
      reinterpret_cast<const char* (*)()>(library.Symbol(("tilewright_problem" + suffix).c_str()));
  const char* words = problem != nullptr ? problem() : nullptr;
  return words == nullptr ? Status() : Unavailable(std::string("the model needs ") + words);
}

}  // namespace

std::string VariantSuffix(int set) { return set == 0 ? "" : "_set" + std::to_string(set + 1); }

int VariantCount(const SharedLibrary& library) {
  const auto* count = static_cast<const std::int64_t*>(library.Symbol("tilewright_sets"));
  constexpr std::int64_t kMaxSets = 1024;
  return count == nullptr || *count < 1 || *count > kMaxSets ? 1 : static_cast<int>(*count);
}

Result<LoadedModel> LoadModel(const std::string& given, int set) {
  TW_ASSIGN_OR_RETURN(auto found, LibraryOf(given));
  const std::string& path = found;
  TW_ASSIGN_OR_RETURN(auto library, SharedLibrary::Open(path));
  const std::string suffix = VariantSuffix(set);
  const auto* functions =
      static_cast<const TwModelFunctions*>(library.Symbol(("tilewright_model" + suffix).c_str()));
  if (functions == nullptr && set > 0) {
    return NotFound(path + ": it has no shape variant " + std::to_string(set));
  }
  if (functions == nullptr) return InvalidArgument(path + ": this library is not a compiled model");
  LoadedModel loaded{std::move(library), *functions, {}, {}};
  const void* gpu = loaded.library.Symbol("tilewright_gpu_model");
  if (gpu != nullptr) loaded.gpu = *static_cast<const TwGpuFunctions*>(gpu);
  const void* open = loaded.library.Symbol("tilewright_open");
  if (open != nullptr) loaded.open = *static_cast<const TwOpenFunctions*>(open);
  // Libraries of older versions lack this list.
  const auto* features = static_cast<const char*>(loaded.library.Symbol("tilewright_features"));
  Status status = Check(loaded.functions, open != nullptr, features);
  if (status.ok()) status = LoadParameters(loaded.functions, path);
  if (status.ok()) status = CheckLibraries(loaded.library, suffix);
  if (!status.ok()) return status.WithContext(path);
  return loaded;
}

Status SetModelSize(const LoadedModel& loaded, const std::string& dimension, std::int64_t size) {
  const TwOpenDimension* open = loaded.open.dimension;
  const std::string given = dimension + "=" + std::to_string(size);
  if (open == nullptr) return InvalidArgument(given + ": the model has no open dimension");
  if (dimension != open->name) {
    return InvalidArgument(given + ": the model's open dimension is " + std::string(open->name));
  }
  if (size < open->least || size > open->most) {
    return InvalidArgument(given + ": outside of the library's range, expected a size from " +
                           std::to_string(open->least) + " to " + std::to_string(open->most));
  }
  return ModelStatus(loaded, loaded.open.set_size(&loaded.model(), dimension.c_str(), size));
}

Status ModelStatus(const LoadedModel& loaded, std::int32_t code) {
  const auto message = [&] {
    const bool known = loaded.gpu.message != nullptr;
    return "running the model: " +
           (known ? loaded.gpu.message(loaded.functions.model) : std::to_string(code));
  };
  switch (code) {
    case 0:
      return Status();
    case TW_MODEL_NO_MEMORY:
      return Unavailable("running the model: no memory");
    case TW_MODEL_NO_THREADS:
      return Unavailable("running the model: no threads");
    case TW_MODEL_NO_PARAMETERS:
      return InvalidArgument("running the model: its parameters are not loaded");
    case TW_MODEL_NO_DRIVER:
    case TW_MODEL_NO_DEVICE:
      return NotFound(message());
    case TW_MODEL_OLD_DEVICE:
      return Unsupported(message());
    case TW_MODEL_NO_DEVICE_MEMORY:
    case TW_MODEL_DEVICE_FAILED:
      return Unavailable(message());
    case TW_MODEL_NOT_ALIGNED:
      return InvalidArgument("running the model: an address that is not aligned to 64 bytes");
    case TW_MODEL_NULL_POINTER:
      return InvalidArgument("running the model: a null pointer");
    case TW_LIBRARY_FAILED:
      return Unavailable("running the model: a library that an operator calls failed");
    case TW_TILES_REFUSED:
      return Unsupported(
          "running the model: an operator needs AMX, which this CPU or system lacks");
    default:
      return Internal("running the model: an operator returned " + std::to_string(code));
  }
}

}  // namespace tilewright
