// Which templates serve a workload, in the order of preference.

#include "src/templates/registry.h"

#include <algorithm>
#include <utility>

#include "src/base/plugin_key.h"
#include "src/target/device.h"
#include "src/target/library.h"
#include "src/templates/template_keys.h"

namespace tilewright {

Result<Kernel> FinishKernel(Schedule schedule, KernelLayouts layouts,
                            std::vector<std::string> arranged) {
  TW_RETURN_IF_ERROR(schedule.status());
  return Kernel{std::move(schedule), std::move(layouts), std::move(arranged)};
}

TemplateEntry LoopTemplate(std::string_view key, int version, std::string_view device,
                           std::span<const KnobDoc> knobs, decltype(TemplateEntry::refuses) refuses,
                           decltype(TemplateEntry::define_space) define_space,
                           decltype(TemplateEntry::default_config) default_config,
                           decltype(TemplateEntry::apply) apply) {
  return {key, version, device, knobs, refuses, define_space, default_config, apply};
}

Status TemplateRegistry::Add(const TemplateEntry& entry) {
  const std::string name = "template '" + std::string(entry.key) + "'";
  const TemplateRegistry built_in = BuiltIn();
  const TemplateEntry* known = built_in.Find(entry.key);
  const bool ours = known != nullptr && known->version == entry.version;
  if (!ours && !IsPluginKey(entry.key)) {
    return InvalidArgument(name + ": expected a key " + std::string(kPluginKeyFormat));
  }
  if (Find(entry.key) != nullptr) return InvalidArgument(name + ": there is one already");
  if (entry.version < 1) {
    return InvalidArgument(name + ": version " + std::to_string(entry.version) +
                           ", expected 1 or more");
  }
  if (FindDeviceTraits(entry.device).name.empty()) {
    return InvalidArgument(name + ": no code is made for device '" + std::string(entry.device) +
                           "'");
  }
  if (entry.refuses == nullptr || entry.define_space == nullptr ||
      entry.default_config == nullptr ||
      (entry.apply == nullptr) == (entry.build_stream == nullptr)) {
    return InvalidArgument(name + ": a function lacks");
  }
  Insert(entry);
  return {};
}

void TemplateRegistry::Insert(const TemplateEntry& entry) {
  entries_.insert(std::ranges::lower_bound(entries_, entry.key, {}, &TemplateEntry::key), entry);
  preference_.push_back(entry.key);
}

void TemplateRegistry::Keep(std::string_view key, std::shared_ptr<const std::string> text) {
  texts_.emplace_back(key, std::move(text));
}

void TemplateRegistry::AddTextsOf(const TemplateRegistry& other) {
  for (const auto& [key, text] : other.texts_) {
    const TemplateEntry* entry = other.Find(key);
    if (entry == nullptr || Find(key) != nullptr) continue;
    Insert(*entry);
    Keep(entry->key, text);
  }
}

const std::string* TemplateRegistry::TextOf(std::string_view key) const {
  const auto found = std::ranges::find(texts_, key, [](const auto& text) { return text.first; });
  return found == texts_.end() ? nullptr : found->second.get();
}

TemplateRegistry TemplateRegistry::OnlyReorderingSums() const {
  TemplateRegistry rest = *this;
  for (const TemplateEntry& entry : entries_) {
    if (entry.only_reorders_sums) continue;
    rest.excluded_.push_back(entry.key);
    std::erase(rest.preference_, entry.key);
  }
  std::erase_if(rest.entries_,
                [](const TemplateEntry& entry) { return !entry.only_reorders_sums; });
  return rest;
}

bool TemplateRegistry::IsExcluded(std::string_view key) const {
  return std::ranges::count(excluded_, key) > 0;
}

const TemplateEntry* TemplateRegistry::Find(std::string_view key) const {
  const auto found = std::ranges::lower_bound(entries_, key, {}, &TemplateEntry::key);
  return found != entries_.end() && found->key == key ? &*found : nullptr;
}

bool MakesCodeFor(const TemplateEntry& entry, const Target& target) {
  const std::string_view others = DeviceTraitsOf(target).templates_of;
  return entry.device == target.device() || (!others.empty() && entry.device == others);
}

std::string TemplateUnavailableReason(const TemplateRegistry& templates, std::string_view key,
                                      int version) {
  const TemplateEntry* entry = templates.Find(key);
  const std::string name = "template " + std::string(key);
  if (entry != nullptr) {
    return name + " is of version " + std::to_string(entry->version) + ", not " +
           std::to_string(version);
  }
  if (templates.IsExcluded(key))
    return name + " does more to floats than to order sums another way";
  if (IsScheduleTextKey(key)) {
    return name + " is a text that is not here: give it by --schedule, or the store that it is in";
  }
  if (IsOpenTaskKey(key)) {
    return name + " is an open task that is not here: give the store that it is in";
  }
  return IsPluginKey(key) ? name + " is of a plugin that is not loaded" : "no " + name;
}

Result<const TemplateEntry*> EntryToBuild(const TemplateRegistry& templates,
                                          const Candidate& candidate) {
  const TemplateEntry* entry = templates.Find(candidate.template_key);
  if (entry != nullptr && entry->version == candidate.template_version) return entry;
  return Unsupported(
      TemplateUnavailableReason(templates, candidate.template_key, candidate.template_version));
}

Result<Kernel> ApplyTemplate(const TemplateEntry& entry, const Workload& workload,
                             const Epilogue& epilogue, const Target& target, const Config& config) {
  if (entry.apply == nullptr) {
    return Unsupported("template " + std::string(entry.key) + " writes VTA streams, not loops");
  }
  return entry.apply(workload, epilogue, target, config);
}

Result<vta::Stream> BuildVtaStream(const TemplateEntry& entry, const Workload& workload,
                                   const Epilogue& epilogue, const Target& target,
                                   const Config& config) {
  if (entry.build_stream == nullptr) {
    return Unsupported("template " + std::string(entry.key) + " makes loops, not VTA streams");
  }
  return entry.build_stream(workload, epilogue, target, config);
}

std::vector<const TemplateEntry*> TemplateRegistry::For(const Workload& workload,
                                                        const Target& target) const {
  std::vector<const TemplateEntry*> entries;
  for (std::string_view key : preference_) {
    const TemplateEntry* entry = Find(key);
    TW_CHECK(entry != nullptr, key);
    const KernelLibrary* library = LibraryOfTemplate(key);
    if (library != nullptr && !UsesLibrary(target, library->name)) continue;
    if (MakesCodeFor(*entry, target) && entry->refuses(workload, target).empty()) {
      const bool first = entry->is_preferred != nullptr && entry->is_preferred(workload, target);
      entries.insert(first ? entries.begin() : entries.end(), entry);
    }
  }
  return entries;
}

std::string VtaRefusalOf(const TemplateRegistry& templates, const Workload& workload,
                         const Target& target) {
  std::string name = workload.op_name();
  if (workload.op == OpKind::kMul) name = "multiply";
  if (workload.op == OpKind::kIdentity) name = "elementwise";
  std::string reasons;
  for (const TemplateEntry& entry : templates.all()) {
    const bool own = entry.key.starts_with(name + "_packed") || entry.key == name + ".vta";
    if (entry.device != target.device() || !own) continue;
    reasons += (reasons.empty() ? "" : "; ") + std::string(entry.key) + ": " +
               entry.refuses(workload, target);
  }
  return reasons.empty() ? "no template for " + name : reasons;
}

}  // namespace tilewright
