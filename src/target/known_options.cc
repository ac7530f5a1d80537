#include "src/target/known_options.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "src/base/did_you_mean.h"
#include "src/base/strings.h"
#include "src/target/cpu.h"
#include "src/target/device.h"
#include "src/target/known_cpus.h"

namespace tilewright {
namespace {

// Options that change something here (docs/targets.md).
constexpr std::string_view kOwnOptions[] = {"arch",
                                            "cycles",
                                            "device",
                                            "keys",
                                            "libs",
                                            "mattr",
                                            "mcpu",
                                            "max_num_threads",
                                            "max_shared_memory_per_block",
                                            "metric",
                                            "metrics",
                                            "model",
                                            "mtriple",
                                            "num-threads",
                                            "texture_spatial_limit",
                                            "tf32"};
// Other options of TVM's target kinds, as in its logs and packages.
constexpr std::string_view kTvmOptions[] = {"cl-opt",
                                            "constants-byte-alignment",
                                            "executor",
                                            "fast-math",
                                            "fast-math-arcp",
                                            "fast-math-contract",
                                            "fast-math-ninf",
                                            "fast-math-nnan",
                                            "fast-math-nsz",
                                            "fast-math-reassoc",
                                            "from_device",
                                            "host",
                                            "image_base_address_alignment",
                                            "interface-api",
                                            "jit",
                                            "l2_cache_size_bytes",
                                            "link-params",
                                            "llvm-options",
                                            "mabi",
                                            "march",
                                            "max_block_size_x",
                                            "max_block_size_y",
                                            "max_block_size_z",
                                            "max_function_args",
                                            "max_local_memory_per_block",
                                            "max_per_stage_descriptor_storage_buffer",
                                            "max_push_constants_size",
                                            "max_storage_buffer_range",
                                            "max_threads_per_block",
                                            "max_uniform_buffer_range",
                                            "mcode-model",
                                            "mfloat-abi",
                                            "num-cores",
                                            "opt-level",
                                            "registers_per_block",
                                            "runtime",
                                            "system-lib",
                                            "tag",
                                            "target",
                                            "texture_depth_limit",
                                            "thread_warp_size",
                                            "unpacked-api",
                                            "vector-width",
                                            "vtcm-capacity",
                                            "workspace-byte-alignment"};

Status CheckOptionNames(const Target& target) {
  for (const auto& [name, value] : target.options()) {
    if (std::ranges::find(kOwnOptions, name) != std::end(kOwnOptions)) continue;
    if (std::ranges::find(kTvmOptions, name) != std::end(kTvmOptions)) continue;
    // TVM has many options of one device that say what it supports.
    if (name.starts_with("supports_")) continue;
    // -threads is nearer to -num-threads than its spelling is.
    std::vector<std::string> near;
    for (const std::string_view known : kOwnOptions) {
      if (known.ends_with("-" + name) || name.ends_with("-" + std::string(known))) {
        return InvalidArgument("target option -" + name + ": unknown; did you mean '-" +
                               std::string(known) + "'?");
      }
      near.emplace_back(known);
    }
    std::string all;
    for (const std::string& known : near) all += (all.empty() ? "-" : ", -") + known;
    return InvalidArgument("target option -" + name + ": unknown, expected one of " + all +
                           DidYouMean(name, near));
  }
  return {};
}

Status CheckCpu(const Target& target) {
  const std::string name = target.Option("mcpu");
  const std::string architecture = ArchitectureOf(target);
  const std::vector<std::string> known = KnownCpus(architecture);
  if (name.empty() || known.empty() || std::ranges::find(known, name) != known.end()) return {};
  if (name == "native") {
    return InvalidArgument(
        "target option -mcpu: 'native', but the target `native`, without -mcpu, is this machine");
  }
  return InvalidArgument("target option -mcpu: '" + name + "', expected a processor of " +
                         architecture + " that LLVM knows" + DidYouMean(name, known) +
                         " (the target `native` is this machine)");
}

}  // namespace

Status CheckRequestedTarget(const Target& target) {
  TW_RETURN_IF_ERROR(CheckOptionNames(target));
  if (const std::string threads = target.Option("num-threads"); !threads.empty()) {
    constexpr std::int64_t kMaxThreads = 1024;
    const auto number = ParseInt64(threads);
    if (!number.ok() || *number < 1 || *number > kMaxThreads) {
      return InvalidArgument("target option -num-threads: '" + threads +
                             "', expected a number from 1 to 1024");
    }
  }
  return DeviceTraitsOf(target).machine_code ? CheckCpu(target) : Status();
}

}  // namespace tilewright
