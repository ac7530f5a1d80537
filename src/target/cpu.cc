// CPU features, from processor names, -mattr and this machine; and the fingerprint of the CPU that
// trials are measured on.

#include "src/target/cpu.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "src/base/json.h"
#include "src/base/strings.h"

namespace tilewright {
namespace {

enum : unsigned {
  kAvx2 = 1u << 0,
  kAvx512 = 1u << 1,
  kVnni512 = 1u << 2,
  kVnni256 = 1u << 3,
  kAmxInt8 = 1u << 4,
  kNeon = 1u << 5,
  kDotprod = 1u << 6,
  kDoublePumped512 = 1u << 7,
  kBf16 = 1u << 8,
  kAmxBf16 = 1u << 9,
};

struct CpuEntry {
  std::string_view name;  // in LLVM 19's spelling
  unsigned features;
};

constexpr unsigned kSkylakeX = kAvx2 | kAvx512;
constexpr unsigned kCascade = kSkylakeX | kVnni512;
constexpr unsigned kCooper = kCascade | kBf16;
constexpr unsigned kRapids = kCooper | kVnni256 | kAmxInt8 | kAmxBf16;

constexpr CpuEntry kCpus[] = {
    // x86-64 levels and processors.
    {"x86-64", 0},
    {"x86-64-v2", 0},
    {"x86-64-v3", kAvx2},
    {"x86-64-v4", kSkylakeX},
    {"nehalem", 0},
    {"westmere", 0},
    {"sandybridge", 0},
    {"corei7-avx", 0},
    {"ivybridge", 0},
    {"core-avx-i", 0},
    {"haswell", kAvx2},
    {"core-avx2", kAvx2},
    {"broadwell", kAvx2},
    {"skylake", kAvx2},
    {"skylake-avx512", kSkylakeX},
    {"skx", kSkylakeX},
    {"cascadelake", kCascade},
    {"cooperlake", kCooper},
    {"cannonlake", kSkylakeX},
    {"icelake-client", kCascade},
    {"icelake-server", kCascade},
    {"rocketlake", kCascade},
    {"tigerlake", kCascade},
    {"alderlake", kAvx2 | kVnni256},
    {"raptorlake", kAvx2 | kVnni256},
    {"meteorlake", kAvx2 | kVnni256},
    {"arrowlake", kAvx2 | kVnni256},
    {"lunarlake", kAvx2 | kVnni256},
    {"gracemont", kAvx2 | kVnni256},
    {"sierraforest", kAvx2 | kVnni256},
    {"sapphirerapids", kRapids},
    {"emeraldrapids", kRapids},
    {"graniterapids", kRapids},
    {"znver1", kAvx2},
    {"znver2", kAvx2},
    {"znver3", kAvx2},
    {"znver4", kCooper | kDoublePumped512},
    {"znver5", kCooper | kVnni256},
    // Arm processors.
    {"cortex-a7", kNeon},
    {"cortex-a8", kNeon},
    {"cortex-a9", kNeon},
    {"cortex-a15", kNeon},
    {"cortex-a17", kNeon},
    {"cortex-a35", kNeon},
    {"cortex-a53", kNeon},
    {"cortex-a57", kNeon},
    {"cortex-a72", kNeon},
    {"cortex-a73", kNeon},
    {"cortex-a55", kNeon | kDotprod},
    {"cortex-a75", kNeon | kDotprod},
    {"cortex-a76", kNeon | kDotprod},
    {"cortex-a77", kNeon | kDotprod},
    {"cortex-a78", kNeon | kDotprod},
    {"cortex-x1", kNeon | kDotprod},
    {"neoverse-n1", kNeon | kDotprod},
    {"neoverse-v1", kNeon | kDotprod},
    {"neoverse-n2", kNeon | kDotprod},
    {"neoverse-v2", kNeon | kDotprod},
    {"apple-m1", kNeon | kDotprod},
    {"apple-m2", kNeon | kDotprod},
};

/// Features that `+name` of -mattr adds, including implied ones; `-name` removes only `own`.
struct AttributeEntry {
  std::string_view name;
  unsigned own;
  unsigned implied;
};

constexpr AttributeEntry kAttributes[] = {
    {"avx2", kAvx2, 0},           {"avx512f", kAvx512, kAvx2},  {"avx512bw", kAvx512, kAvx2},
    {"avx512dq", kAvx512, kAvx2}, {"avx512vl", kAvx512, kAvx2}, {"avx512vnni", kVnni512, 0},
    {"avxvnni", kVnni256, kAvx2}, {"amx-int8", kAmxInt8, 0},    {"neon", kNeon, 0},
    {"dotprod", kDotprod, kNeon}, {"avx512bf16", kBf16, 0},     {"amx-bf16", kAmxBf16, 0},
};

bool IsArm32(const Target& target) { return ArchitectureOf(target) == "arm"; }

bool IsArm(const Target& target) { return IsArm32(target) || ArchitectureOf(target) == "aarch64"; }

Result<unsigned> BaseFeatures(const Target& target) {
  const std::string name = target.Option("mcpu");
  if (name.empty() || name == "generic") return IsArm(target) ? unsigned{kNeon} : 0u;
  const auto* found = std::ranges::find(kCpus, std::string_view(name), &CpuEntry::name);
  if (found == std::end(kCpus)) {
    return InvalidArgument("target option -mcpu: '" + name + "', expected a known processor such " +
                           (IsArm(target) ? "as cortex-a53, cortex-a76 or neoverse-n1"
                                          : "as haswell, skylake-avx512 or znver4") +
                           " (this machine is the target `native`, without -mcpu)");
  }
  return found->features;
}

/// Returns the features of kAttributes that code for the target may use.
Result<unsigned> FeatureBits(const Target& target) {
  TW_ASSIGN_OR_RETURN(unsigned bits, BaseFeatures(target));
  unsigned avx512_parts =
      0;  // avx512f alone lacks the byte and 256-bit instructions that the generated code uses
  for (const std::string& attribute : Split(target.Option("mattr"), ',')) {
    if (attribute.size() < 2) continue;
    const bool add = attribute[0] == '+';
    if (attribute == "-amx-tile") bits &= ~(kAmxInt8 | kAmxBf16);  // they need its registers
    const auto* found = std::ranges::find(kAttributes, std::string_view(attribute).substr(1),
                                          &AttributeEntry::name);
    if (found == std::end(kAttributes)) continue;
    if (!add) {
      bits &= ~found->own;
    } else if (found->own == kAvx512) {
      avx512_parts |= 1u << (found - kAttributes);
      bits |= kAvx2;
    } else {
      bits |= found->own | found->implied;
    }
  }
  constexpr unsigned kAllAvx512Parts = 0b11110;  // positions 1 to 4 of kAttributes
  if (avx512_parts == kAllAvx512Parts) bits |= kAvx512;
  if ((bits & kAvx2) == 0) bits &= ~(kAvx512 | kVnni512 | kVnni256 | kAmxInt8 | kAmxBf16 | kBf16);
  if ((bits & kAvx512) == 0) bits &= ~(kVnni512 | kDoublePumped512 | kBf16);
  return bits;
}

}  // namespace

std::string_view HostArchitecture() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#elif defined(__arm__)
  return "arm";
#else
  return {};
#endif
}

std::string ArchitectureOf(const Target& target) {
  const std::string triple = target.Option("mtriple");
  if (triple.empty()) return std::string(HostArchitecture());
  std::string named = triple.substr(0, triple.find('-'));
  if (named.starts_with("aarch64") || named.starts_with("arm64")) return "aarch64";
  return named.starts_with("arm") ? "arm" : named;
}

Result<CpuFeatures> FeaturesOf(const Target& target) {
  TW_ASSIGN_OR_RETURN(const unsigned bits, FeatureBits(target));
  // 32-bit Arm has 16 vector registers, like the other targets without features. `neon` means the
  // 32 registers of 64-bit Arm.
  const bool neon = (bits & kNeon) != 0 && !IsArm32(target);
  return CpuFeatures{.avx2 = (bits & kAvx2) != 0,
                     .avx512 = (bits & kAvx512) != 0,
                     .avx512_vnni = (bits & kVnni512) != 0,
                     .avx512_bf16 = (bits & kBf16) != 0,
                     .avx_vnni = (bits & kVnni256) != 0,
                     .amx_int8 = (bits & kAmxInt8) != 0,
                     .amx_bf16 = (bits & kAmxBf16) != 0,
                     .neon = neon,
                     .arm_dotprod = (bits & kDotprod) != 0,
                     .double_pumped_512 = (bits & kDoublePumped512) != 0};
}

Result<DeviceFingerprint> GenericCpuFor(const Target& target) {
  TW_ASSIGN_OR_RETURN(auto bits, FeatureBits(target));
  DeviceFingerprint device;
  device.kind = "cpu";
  for (const AttributeEntry& entry : kAttributes) {
    // Every schedule of bfloat16 serves CPUs without the instructions, too.
    if ((bits & entry.own & ~kBf16) != 0) device.isa.emplace_back(entry.name);
  }
  std::ranges::sort(device.isa);
  return device;
}

bool IsCodeCompatible(const Target& recorded, const Target& target) {
  if (ArchitectureOf(recorded) != ArchitectureOf(target)) return false;
  const auto needs = GenericCpuFor(recorded), has = GenericCpuFor(target);
  return needs.ok() && has.ok() && has->Includes(*needs);
}

bool DeviceFingerprint::Includes(const DeviceFingerprint& other) const {
  return kind == other.kind && std::ranges::includes(isa, other.isa);
}

std::string DeviceFingerprint::ToString() const {
  Json json;
  json["kind"] = kind;
  json["model"] = model;
  json["isa"] = isa;
  json["l1d_bytes"] = l1d_bytes;
  json["l2_bytes"] = l2_bytes;
  json["l3_bytes"] = l3_bytes;
  json["cores"] = cores;
  json["extra"] = extra;
  return DumpJson(json);
}

Result<DeviceFingerprint> DeviceFingerprint::Parse(std::string_view text) {
  auto json = ParseJson(text);
  if (!json.ok()) return json.status().WithContext("device fingerprint");
  const auto bad = [](std::string_view field) {
    return InvalidArgument("device fingerprint: " + std::string(field) + ": missing or ill-typed");
  };
  DeviceFingerprint device;
  if (!json->is_object()) return InvalidArgument("device fingerprint: expected a JSON object");
  for (const auto& [field, destination] :
       {std::pair("kind", &device.kind), std::pair("model", &device.model),
        std::pair("extra", &device.extra)}) {
    if (!json->contains(field) || !(*json)[field].is_string()) return bad(field);
    *destination = (*json)[field].get<std::string>();
  }
  for (const auto& [field, destination] :
       {std::pair("l1d_bytes", &device.l1d_bytes), std::pair("l2_bytes", &device.l2_bytes),
        std::pair("l3_bytes", &device.l3_bytes)}) {
    if (!json->contains(field) || !(*json)[field].is_number_integer()) return bad(field);
    *destination = (*json)[field].get<std::int64_t>();
  }
  if (!json->contains("cores") || !(*json)["cores"].is_number_integer()) return bad("cores");
  device.cores = (*json)["cores"].get<int>();
  if (!json->contains("isa") || !(*json)["isa"].is_array()) return bad("isa");
  for (const Json& item : (*json)["isa"]) {
    if (!item.is_string()) return bad("isa");
    device.isa.push_back(item.get<std::string>());
  }
  return device;
}

}  // namespace tilewright
