#include "src/plugins/load_plugin.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "include/tilewright/plugin.h"
#include "src/base/files/special_file.h"
#include "src/base/printable.h"
#include "src/plugins/plugin_call.h"
#include "src/plugins/plugin_strategy.h"
#include "src/plugins/plugin_template.h"

namespace tilewright::plugins {
namespace {

std::string NameOf(const char* text) {
  return text == nullptr ? "without a name" : "'" + Printable(text) + "'";
}

/// Errors: kInvalidArgument if a struct is shorter than this interface requires. Nothing past the
/// size is read.
Status CheckSize(std::uint32_t size, std::size_t least, const std::string& what) {
  if (size >= least) return {};
  return InvalidArgument(what + ": struct_size " + std::to_string(size) + ", expected at least " +
                         std::to_string(least));
}

/// Errors: kInvalidArgument if a required member is null.
Status CheckMembers(const std::string& what, std::initializer_list<const void*> members) {
  if (std::ranges::count(members, nullptr) == 0) return {};
  return InvalidArgument(what + ": a member is null");
}

/// Errors: kInvalidArgument if the key does not begin with the plugin's name.
Status CheckKey(const char* key, const tw_plugin& plugin) {
  if (std::string_view(key).starts_with(std::string(plugin.name) + "/")) return {};
  return InvalidArgument("key " + NameOf(key) + ", expected one that begins with '" +
                         Printable(plugin.name) + "/'");
}

const void* Address(auto* function) { return reinterpret_cast<const void*>(function); }

Status AddStrategy(const tw_strategy& row, const tw_plugin& plugin, Registries& registries) {
  TW_RETURN_IF_ERROR(CheckSize(row.struct_size, sizeof(row), "a strategy"));
  TW_RETURN_IF_ERROR(CheckMembers("strategy " + NameOf(row.key),
                                  {row.key, row.summary, Address(row.create), Address(row.ask),
                                   Address(row.tell), Address(row.destroy)}));
  TW_RETURN_IF_ERROR(CheckKey(row.key, plugin));
  return registries.strategies.Add(EntryOfPlugin(row));
}

Status AddTemplate(const tw_template& row, const tw_plugin& plugin, Registries& registries) {
  TW_RETURN_IF_ERROR(CheckSize(row.struct_size, sizeof(row), "a template"));
  TW_RETURN_IF_ERROR(CheckMembers(
      "template " + NameOf(row.key),
      {row.key, row.device, Address(row.refuses), Address(row.define_space), Address(row.apply)}));
  TW_RETURN_IF_ERROR(CheckKey(row.key, plugin));
  return registries.templates.Add(EntryOfPlugin(row));
}

Status AddPlugin(const tw_plugin* plugin, Registries& registries) {
  if (plugin == nullptr) return InvalidArgument("tw_plugin_main returned null");
  if (plugin->version != TW_PLUGIN_VERSION) {
    return InvalidArgument("made for version " + std::to_string(plugin->version) +
                           " of plugin.h, expected " + std::to_string(TW_PLUGIN_VERSION));
  }
  TW_RETURN_IF_ERROR(CheckSize(plugin->struct_size, sizeof(tw_plugin), "tw_plugin"));
  TW_RETURN_IF_ERROR(CheckMembers("tw_plugin", {plugin->name}));
  if (std::string_view(plugin->name) == "schedule") {
    return InvalidArgument("named 'schedule', as what is a text is (docs/schedules.md)");
  }
  for (auto* row = plugin->strategies; row != nullptr && *row != nullptr; ++row) {
    TW_RETURN_IF_ERROR(AddStrategy(**row, *plugin, registries));
  }
  for (auto* row = plugin->templates; row != nullptr && *row != nullptr; ++row) {
    TW_RETURN_IF_ERROR(AddTemplate(**row, *plugin, registries));
  }
  return {};
}

}  // namespace

Status LoadPlugin(const std::string& file, Registries& registries) {
  std::error_code failed;
  const std::string path = std::filesystem::canonical(file, failed).string();
  const std::string context = "--plugin " + file;
  if (failed) return InvalidArgument(context + ": " + failed.message());
  if (const Status plain = CheckNotSpecialFile(file); !plain.ok())
    return plain.WithContext("--plugin");
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed
  if (handle == nullptr) return InvalidArgument(context + ": " + Printable(dlerror()));
  const auto make = reinterpret_cast<decltype(&tw_plugin_main)>(dlsym(handle, "tw_plugin_main"));
  if (make == nullptr) {
    return InvalidArgument(context + ": no plugin: it does not export tw_plugin_main");
  }
  const tw_plugin* plugin = nullptr;
  Status status = CallPlugin("plugin", "tw_plugin_main", [&] { plugin = make(); });
  if (status.ok()) status = AddPlugin(plugin, registries);
  if (!status.ok()) return InvalidArgument(context + ": " + status.message());
  registries.plugins.push_back(path);
  return {};
}

}  // namespace tilewright::plugins
