// Target strings in the syntax of AutoTVM's records: whitespace-separated tokens, the kind first,
// then `-key=value`, `-key value` or `-flag`. A text that starts with `{` is a JSON object of the
// same keys. Older records have -target instead of -mtriple.

#include "src/target/target.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "src/base/json.h"
#include "src/base/strings.h"
#include "src/target/cpu.h"
#include "src/target/device.h"
#include "src/target/gpu.h"

namespace tilewright {
namespace {

constexpr std::size_t kMaxTargetBytes = 4096;  // maximum in public packages: 200

struct KindEntry {
  std::string_view name;
  std::array<std::string_view, 2> keys;  // empty: none
};

constexpr KindEntry kKinds[] = {
    {"llvm", {"cpu", ""}},
    {"c", {"cpu", ""}},
    {"cuda", {"cuda", "gpu"}},
    {"nvptx", {"cuda", "gpu"}},
    {"vta", {"vta", "cpu"}},
    {"ext_dev", {"", ""}},
    {"hybrid", {"", ""}},
    {"stackvm", {"", ""}},
    {"rocm", {"rocm", "gpu"}},
    {"opencl", {"opencl", "gpu"}},
    {"metal", {"metal", "gpu"}},
    {"vulkan", {"vulkan", "gpu"}},
    {"webgpu", {"webgpu", "gpu"}},
    {"hexagon", {"hexagon", ""}},
    {"sdaccel", {"sdaccel", "hls"}},
    {"aocl", {"aocl", "hls"}},
    {"aocl_sw_emu", {"aocl", "hls"}},
};

const KindEntry* FindKind(std::string_view name) {
  const auto* found = std::ranges::find(kKinds, name, &KindEntry::name);
  return found == std::end(kKinds) ? nullptr : found;
}

/// Returns true for kinds of records and of devices that code is generated for.
bool IsKnownKind(std::string_view name) {
  return FindKind(name) != nullptr || !FindDeviceTraits(name).name.empty();
}

constexpr std::string_view kSpace = " \t\r\n\v\f";

std::vector<std::string> Tokens(std::string_view text) {
  std::vector<std::string> tokens;
  std::size_t i = 0;
  while ((i = text.find_first_not_of(kSpace, i)) != std::string_view::npos) {
    const std::size_t end = std::min(text.find_first_of(kSpace, i), text.size());
    tokens.emplace_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

using Options = std::map<std::string, std::string>;

Status AddOption(Options& options, std::string name, std::string value) {
  if (name == "target") name = "mtriple";
  if (name.empty()) return InvalidArgument("target option: empty name, expected -name=value");
  // JSON can contain options whose printed form could not be parsed again.
  if (name[0] == '-' || name.find('=') != std::string::npos ||
      (name + value).find_first_of(kSpace) != std::string::npos) {
    return InvalidArgument("target option '" + name + "' with value '" + value +
                           "': expected no whitespace, and no - in front of or = in a name");
  }
  if (!options.emplace(name, std::move(value)).second) {
    return InvalidArgument("target option -" + name + ": given twice");
  }
  return {};
}

Status ParseOptions(std::span<const std::string> tokens, Options& options) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string& token = tokens[i];
    if (token[0] != '-') {
      return InvalidArgument("target token '" + token + "': expected an option that starts with -");
    }
    std::string name = token.substr(std::min(token.find_first_not_of('-'), token.size()));
    std::string value = "1";
    if (const std::size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (i + 1 < tokens.size() && tokens[i + 1][0] != '-') {
      value = tokens[++i];
    }
    TW_RETURN_IF_ERROR(AddOption(options, std::move(name), std::move(value)));
  }
  return {};
}

/// Returns the text of one JSON option: lists are joined by commas, as in the token form.
Result<std::string> JsonOption(const std::string& name, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return std::string(value.get<bool>() ? "1" : "0");
  if (value.is_number_integer()) return std::to_string(value.get<std::int64_t>());
  if (value.is_array()) {
    std::string joined;
    for (const Json& item : value) {
      if (!item.is_string()) {
        return InvalidArgument("target option " + name + ": expected a list of strings");
      }
      joined += (joined.empty() ? "" : ",") + item.get<std::string>();
    }
    return joined;
  }
  return InvalidArgument("target option " + name + ": expected a string, an integer or a list");
}

Status ParseJsonTarget(std::string_view text, std::string& kind, Options& options) {
  auto json = ParseJson(text);
  if (!json.ok()) return json.status().WithContext("target");
  for (const auto& [name, value] : json->items()) {
    TW_ASSIGN_OR_RETURN(auto option, JsonOption(name, value));
    if (name == "kind") {
      kind = option;
    } else {
      TW_RETURN_IF_ERROR(AddOption(options, name, option));
    }
  }
  if (kind.empty()) return InvalidArgument("target: a JSON object without \"kind\"");
  return {};
}

}  // namespace

Result<Target> Target::Parse(std::string_view text) {
  if (text.size() > kMaxTargetBytes) {
    return InvalidArgument("target: " + std::to_string(text.size()) + " bytes, expected at most " +
                           std::to_string(kMaxTargetBytes));
  }
  Target target;
  text = Trim(text);
  const std::vector<std::string> tokens = Tokens(text);
  // Tokens skips whitespace that Trim keeps (for example, a form feed).
  if (tokens.empty()) return InvalidArgument("target: empty, expected a kind such as llvm");
  if (text.front() == '{') {
    target.kind_name_.clear();
    TW_RETURN_IF_ERROR(ParseJsonTarget(text, target.kind_name_, target.options_));
  } else {
    target.kind_name_ = tokens[0];
    TW_RETURN_IF_ERROR(ParseOptions(std::span(tokens).subspan(1), target.options_));
  }
  if (target.kind_name_ == "native") {
    target.kind_name_ = "llvm";
    // Explicit options override those of "native".
    target.options_.emplace("mcpu", HostCpuName());
    if (std::string attributes = HostCpuAttributes(); !attributes.empty()) {
      target.options_.emplace("mattr", std::move(attributes));
    }
  }
  if (!IsKnownKind(target.kind_name_)) {
    return InvalidArgument("target kind '" + target.kind_name_ +
                           "': unknown, expected native, llvm, cuda, vta or another known kind");
  }
  target.device_ = DeviceNameOf(target);
  TW_RETURN_IF_ERROR(CheckTf32(target));
  // The printed text has to be parsable again, and is longer: -flag is printed as -flag=1.
  if (const std::size_t size = target.ToString().size(); size > kMaxTargetBytes) {
    return InvalidArgument("target: printed with " + std::to_string(size) +
                           " bytes, expected at most " + std::to_string(kMaxTargetBytes));
  }
  return target;
}

std::string Target::Option(std::string_view name, std::string_view fallback) const {
  const auto found = options_.find(std::string(name));
  return found == options_.end() ? std::string(fallback) : found->second;
}

int Target::num_threads() const {
  const auto threads = ParseInt64(Option("num-threads", "1"));
  constexpr std::int64_t kMaxThreads = 1024;
  return threads.ok() ? static_cast<int>(std::clamp<std::int64_t>(*threads, 1, kMaxThreads)) : 1;
}

std::vector<std::string> Target::keys() const {
  std::vector<std::string> keys;
  const auto add = [&keys](std::string key) {
    if (!key.empty() && std::ranges::count(keys, key) == 0) keys.push_back(std::move(key));
  };
  for (std::string& key : Split(Option("keys"), ',')) add(std::move(key));
  add(Option("device"));
  if (const KindEntry* entry = FindKind(kind_name_)) {
    for (std::string_view key : entry->keys) add(std::string(key));
  }
  return keys;
}

std::string Target::ToString() const {
  std::string text = kind_name_;
  for (const auto& [name, value] : options_) text += " -" + name + "=" + value;
  return text;
}

}  // namespace tilewright
