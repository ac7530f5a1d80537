// The table of templates, and which of them serve a workload, in order of preference.

#include "src/templates/registry.h"

#include <algorithm>
#include <array>

#include "src/base/plugin_key.h"
#include "src/target/device.h"
#include "src/target/library.h"
#include "src/templates/auto/rules.h"
#include "src/templates/cpu/anchor_plain.h"
#include "src/templates/cpu/batch_matmul_packed.h"
#include "src/templates/cpu/conv2d_direct.h"
#include "src/templates/cpu/conv2d_nchwc.h"
#include "src/templates/cpu/conv2d_pixels.h"
#include "src/templates/cpu/conv2d_winograd.h"
#include "src/templates/cpu/dense.h"
#include "src/templates/cpu/dense_packed.h"
#include "src/templates/cpu/dense_thin.h"
#include "src/templates/cpu/depthwise_direct.h"
#include "src/templates/cpu/depthwise_pixels.h"
#include "src/templates/cpu/depthwise_taps.h"
#include "src/templates/cpu/library.h"
#include "src/templates/cuda/conv2d_mma.h"
#include "src/templates/cuda/conv2d_nchw.h"
#include "src/templates/cuda/conv2d_nchw_winograd.h"
#include "src/templates/cuda/conv2d_transpose_nchw.h"
#include "src/templates/cuda/dense.h"
#include "src/templates/cuda/depthwise_conv2d_nchw.h"
#include "src/templates/cuda/group_conv2d_nchw.h"
#include "src/templates/cuda/int8.h"
#include "src/templates/cuda/library.h"
#include "src/templates/cuda/matmul_mma.h"
#include "src/templates/text/schedule_text.h"
#include "src/templates/vta/conv2d_packed.h"
#include "src/templates/vta/conv2d_packed_slots.h"
#include "src/templates/vta/conv2d_transpose_packed.h"
#include "src/templates/vta/dense_packed.h"
#include "src/templates/vta/elementwise_packed.h"
#include "src/templates/vta/max_pool2d_packed.h"

namespace tilewright {
namespace {

/// The table's row for a template class with the four static functions.
template <typename Template>
constexpr TemplateEntry EntryOf(std::string_view key, int version,
                                std::string_view device = "llvm") {
  return {key,
          version,
          device,
          &Template::Refuses,
          &Template::DefineSpace,
          &Template::DefaultConfig,
          &Template::Apply,
          nullptr};
}

/// The same for a template that goes before all others on some workloads.
template <typename Template>
constexpr TemplateEntry FirstEntryOf(std::string_view key, int version) {
  TemplateEntry entry = EntryOf<Template>(key, version);
  entry.is_preferred = &Template::IsPreferred;
  return entry;
}

/// The same for one whose float results differ by more than the order of sums.
constexpr TemplateEntry Transforming(TemplateEntry entry) {
  entry.only_reorders_sums = false;
  return entry;
}

/// The same for a template that networks may keep other layouts for.
template <typename Template>
constexpr TemplateEntry LayoutsEntryOf(std::string_view key, int version) {
  TemplateEntry entry = EntryOf<Template>(key, version);
  entry.layout_configs = &Template::LayoutConfigs;
  return entry;
}

/// The table's row for a VTA template class with the four static functions.
template <typename Template>
constexpr TemplateEntry VtaEntryOf(std::string_view key, int version) {
  return {key,
          version,
          "vta",
          &Template::Refuses,
          &Template::DefineSpace,
          &Template::DefaultConfig,
          nullptr,
          &Template::BuildStream};
}

constexpr std::array kTemplates = {
    VtaEntryOf<ElementwisePackedVta<OpKind::kAdd>>("add.vta", 1),
    EntryOf<AnchorPlainCpu>("anchor_plain.cpu", 1),
    EntryOf<AutoFixed>("auto.cpu/fixed", 1),
    EntryOf<AutoFlat>("auto.cpu/flat", 1),
    EntryOf<AutoTiles>("auto.cpu/tiles", 3),
    EntryOf<AutoWindows>("auto.cpu/windows", 2),
    EntryOf<AutoFixed>("auto.cuda/fixed", 1, "cuda"),
    EntryOf<AutoFlatCuda>("auto.cuda/flat", 1, "cuda"),
    EntryOf<AutoMmaCuda>("auto.cuda/mma", 1, "cuda"),
    EntryOf<AutoTilesCuda>("auto.cuda/tiles", 1, "cuda"),
    EntryOf<BatchMatmulCublas>("batch_matmul.cublas", 1, "cuda"),
    EntryOf<BatchMatmulCuda>("batch_matmul.cuda", 2, "cuda"),
    EntryOf<BatchMatmulDnnl>("batch_matmul.dnnl", 1),
    EntryOf<BatchMatmulX86>("batch_matmul.x86", 1),
    EntryOf<MatmulMmaCuda<OpKind::kBatchMatmul>>("batch_matmul_mma.cuda", 2, "cuda"),
    EntryOf<BatchMatmulPackedCpu>("batch_matmul_packed.cpu", 1),
    Transforming(EntryOf<Conv2dCudnn>("conv2d.cudnn", 1, "cuda")),  // times algorithms itself
    EntryOf<Conv2dDnnl>("conv2d.dnnl", 1),
    EntryOf<Conv2dNchwcX86>("conv2d_NCHWc.x86", 1),
    EntryOf<Conv2dNchwcInt8Cuda>("conv2d_NCHWc_int8.cuda", 2, "cuda"),
    EntryOf<Conv2dNchwcInt8X86>("conv2d_NCHWc_int8.x86", 1),
    EntryOf<Conv2dDirectCpu>("conv2d_direct.cpu", 1),
    EntryOf<Conv2dDirectInt8Cpu>("conv2d_direct_int8.cpu", 1),
    LayoutsEntryOf<Conv2dHalfBlocksCpu>("conv2d_half_blocks.cpu", 1),
    EntryOf<Conv2dMmaCuda>("conv2d_mma.cuda", 2, "cuda"),
    EntryOf<Conv2dNchwCuda>("conv2d_nchw.cuda", 2, "cuda"),
    Transforming(EntryOf<Conv2dNchwWinogradCuda>("conv2d_nchw_winograd.cuda", 2, "cuda")),
    VtaEntryOf<Conv2dPackedVta>("conv2d_packed.vta", 1),
    VtaEntryOf<Conv2dPackedSlotsVta>("conv2d_packed_slots.vta", 1),
    LayoutsEntryOf<Conv2dPixelsCpu>("conv2d_pixels.cpu", 1),
    EntryOf<Conv2dTransposeNchwCuda>("conv2d_transpose_nchw.cuda", 2, "cuda"),
    VtaEntryOf<Conv2dTransposePackedVta>("conv2d_transpose_packed.vta", 1),
    Transforming(FirstEntryOf<Conv2dWinogradCpu>("conv2d_winograd.cpu", 4)),
    FirstEntryOf<Conv2dWinogradInt8Cpu>("conv2d_winograd_int8.cpu", 2),
    EntryOf<DenseCublas>("dense.cublas", 1, "cuda"),
    EntryOf<DenseDnnl>("dense.dnnl", 1),
    EntryOf<DenseInt8Cuda>("dense_int8.cuda", 2, "cuda"),
    EntryOf<DenseLargeBatchCuda>("dense_large_batch.cuda", 2, "cuda"),
    EntryOf<MatmulMmaCuda<OpKind::kDense>>("dense_mma.cuda", 3, "cuda"),
    EntryOf<DenseNopackX86>("dense_nopack.x86", 1),
    EntryOf<DensePackX86>("dense_pack.x86", 1),
    EntryOf<DensePackedCpu>("dense_packed.cpu", 1),
    VtaEntryOf<DensePackedVta>("dense_packed.vta", 1),
    EntryOf<DenseSmallBatchCuda>("dense_small_batch.cuda", 2, "cuda"),
    FirstEntryOf<DenseThinCpu>("dense_thin.cpu", 1),
    EntryOf<DepthwiseNchwcX86>("depthwise_conv2d_NCHWc.x86", 1),
    EntryOf<DepthwiseConv2dNchwCuda>("depthwise_conv2d_nchw.cuda", 2, "cuda"),
    EntryOf<DepthwiseDirectCpu>("depthwise_direct.cpu", 1),
    LayoutsEntryOf<DepthwisePixelsCpu>("depthwise_pixels.cpu", 1),
    FirstEntryOf<DepthwiseTapsInt8Cpu>("depthwise_taps_int8.cpu", 1),
    VtaEntryOf<ElementwisePackedVta<OpKind::kIdentity>>("elementwise_packed.vta", 1),
    EntryOf<GroupConv2dNchwCuda>("group_conv2d_nchw.cuda", 2, "cuda"),
    VtaEntryOf<GroupConv2dPackedVta>("group_conv2d_packed.vta", 1),
    LayoutsEntryOf<GroupConv2dShuffledCpu>("group_conv2d_shuffled.cpu", 1),
    VtaEntryOf<MaxPool2dPackedVta>("max_pool2d_packed.vta", 1),
    VtaEntryOf<ElementwisePackedVta<OpKind::kMul>>("multiply.vta", 1),
};
static_assert(std::ranges::is_sorted(kTemplates, {}, &TemplateEntry::key));
static_assert(std::ranges::adjacent_find(kTemplates, {}, &TemplateEntry::key) == kTemplates.end());

/// Ours first, then AutoTVM's, then the one that serves everything, then libraries.
constexpr std::array<std::string_view, kTemplates.size()> kPreference = {
    "conv2d_direct.cpu",
    "conv2d_direct_int8.cpu",
    "depthwise_direct.cpu",
    "depthwise_taps_int8.cpu",
    "dense_packed.cpu",
    "batch_matmul_packed.cpu",
    "conv2d_NCHWc_int8.x86",
    "conv2d_NCHWc.x86",
    "conv2d_half_blocks.cpu",
    "conv2d_pixels.cpu",
    "conv2d_winograd.cpu",
    "conv2d_winograd_int8.cpu",
    "depthwise_conv2d_NCHWc.x86",
    "depthwise_pixels.cpu",
    "group_conv2d_shuffled.cpu",
    "dense_pack.x86",
    "dense_nopack.x86",
    "dense_thin.cpu",
    "batch_matmul.x86",
    "anchor_plain.cpu",
    "conv2d.dnnl",
    "dense.dnnl",
    "batch_matmul.dnnl",
    "conv2d_mma.cuda",
    "conv2d_NCHWc_int8.cuda",
    "conv2d_nchw.cuda",
    "conv2d_nchw_winograd.cuda",
    "depthwise_conv2d_nchw.cuda",
    "group_conv2d_nchw.cuda",
    "conv2d_transpose_nchw.cuda",
    "dense_mma.cuda",
    "dense_int8.cuda",
    "dense_large_batch.cuda",
    "dense_small_batch.cuda",
    "batch_matmul_mma.cuda",
    "batch_matmul.cuda",
    "conv2d.cudnn",
    "dense.cublas",
    "batch_matmul.cublas",
    "conv2d_packed_slots.vta",
    "conv2d_packed.vta",
    "group_conv2d_packed.vta",
    "conv2d_transpose_packed.vta",
    "dense_packed.vta",
    "add.vta",
    "multiply.vta",
    "elementwise_packed.vta",
    "max_pool2d_packed.vta",
    "auto.cpu/tiles",
    "auto.cpu/flat",
    "auto.cpu/windows",
    "auto.cpu/fixed",
    "auto.cuda/fixed",
    "auto.cuda/mma",
    "auto.cuda/tiles",
    "auto.cuda/flat",
};

}  // namespace

TemplateRegistry TemplateRegistry::BuiltIn() {
  TemplateRegistry registry;
  registry.entries_.assign(kTemplates.begin(), kTemplates.end());
  registry.preference_.assign(kPreference.begin(), kPreference.end());
  return registry;
}

Status TemplateRegistry::Add(const TemplateEntry& entry) {
  const std::string name = "template '" + std::string(entry.key) + "'";
  const bool ours = std::ranges::any_of(kTemplates, [&entry](const TemplateEntry& known) {
    return known.key == entry.key && known.version == entry.version;
  });
  if (!ours && !IsPluginKey(entry.key)) {
    return InvalidArgument(name + ": expected a key " + std::string(kPluginKeyFormat));
  }
  if (Find(entry.key) != nullptr) return InvalidArgument(name + ": there is one already");
  if (entry.version < 1) {
    return InvalidArgument(name + ": version " + std::to_string(entry.version) +
                           ", expected 1 or more");
  }
  if (std::ranges::find(AllDevices(), entry.device, &DeviceTraits::name) == AllDevices().end()) {
    return InvalidArgument(name + ": no code is made for device '" + std::string(entry.device) +
                           "'");
  }
  if (entry.refuses == nullptr || entry.define_space == nullptr ||
      entry.default_config == nullptr ||
      (entry.apply == nullptr) == (entry.build_stream == nullptr)) {
    return InvalidArgument(name + ": a function lacks");
  }
  entries_.insert(std::ranges::lower_bound(entries_, entry.key, {}, &TemplateEntry::key), entry);
  preference_.push_back(entry.key);
  return {};
}

void TemplateRegistry::Keep(std::string_view key, std::shared_ptr<const std::string> text) {
  texts_.emplace_back(key, std::move(text));
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
  return IsPluginKey(key) ? name + " is of a plugin that is not loaded" : "no " + name;
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
    if (entry->device == target.device() && entry->refuses(workload, target).empty()) {
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
