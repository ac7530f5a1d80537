#include "src/target/presets.h"

#include <algorithm>
#include <filesystem>

#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/base/strings.h"
#include "src/target/target.h"

namespace tilewright {
namespace {

constexpr std::int64_t kMaxPresetBytes = 1 << 16;

/// Fills missing options of the target from the preset of its model.
std::string Completed(Target target, const std::vector<TargetPreset>& presets) {
  for (const TargetPreset& preset : presets) {
    const auto known = Target::Parse(preset.target);
    if (!known.ok() || known->Option("model") != target.Option("model")) continue;
    for (const auto& [name, value] : known->options()) {
      target.SetOption(name, target.Option(name, value));
    }
    return target.ToString();
  }
  return target.ToString();
}

}  // namespace

Result<TargetPreset> ParsePreset(std::string_view text, std::string name) {
  TW_ASSIGN_OR_RETURN(auto json, ParseJson(text));
  if (!json.is_object()) return InvalidArgument("expected an object");
  TargetPreset preset;
  preset.name = std::move(name);
  for (const auto& [key, value] : json.items()) {
    std::string* field = key == "description" ? &preset.description
                         : key == "target"    ? &preset.target
                                              : nullptr;
    if (field == nullptr) {
      return InvalidArgument("unknown key '" + key + "', expected description and target");
    }
    if (!value.is_string()) return InvalidArgument(key + ": expected a text");
    *field = value.get<std::string>();
  }
  TW_RETURN_IF_ERROR(Target::Parse(preset.target));
  return preset;
}

Result<std::vector<TargetPreset>> ReadPresets(const std::string& folder) {
  std::error_code failed;
  std::filesystem::directory_iterator entries(folder, failed), end;
  if (failed) return NotFound(folder + ": " + failed.message());
  std::vector<TargetPreset> presets;
  for (; !failed && entries != end; entries.increment(failed)) {
    if (entries->path().extension() != ".json") continue;
    const std::string path = entries->path().string();
    TW_ASSIGN_OR_RETURN(auto text, ReadFile(path, kMaxPresetBytes));
    auto preset = ParsePreset(text, entries->path().stem().string());
    if (!preset.ok()) return preset.status().WithContext(path);
    presets.push_back(*std::move(preset));
  }
  if (failed) return Unavailable(folder + ": " + failed.message());
  std::ranges::sort(presets, {}, &TargetPreset::name);
  return presets;
}

Result<std::string> ExpandTarget(std::string_view text, const std::string& folder) {
  const std::string wanted(Trim(text));
  auto target = Target::Parse(wanted);
  const bool open = target.ok() && target->device() == "llvm" && !target->Option("model").empty() &&
                    target->Option("mtriple").empty();
  const bool name = !target.ok() && wanted.find_first_of(" {-") == std::string::npos;
  if (!open && !name) return wanted;
  auto presets = ReadPresets(folder);
  if (presets.status().code() == StatusCode::kNotFound) return wanted;
  TW_RETURN_IF_ERROR(presets);
  if (open) return Completed(*std::move(target), *presets);
  const auto found = std::ranges::find(*presets, wanted, &TargetPreset::name);
  return found == presets->end() ? wanted : found->target;
}

}  // namespace tilewright
