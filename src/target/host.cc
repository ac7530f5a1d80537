// Detection of this machine from CPUID and /sys. A feature counts only if the operating system
// saves its registers (XCR0); otherwise a program that uses it would crash.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "src/base/files/file.h"
#include "src/base/strings.h"
#include "src/target/cpu.h"
#include "src/target/cpu_instruction_sets.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) || defined(__arm__)
#include <sys/auxv.h>
#endif

namespace tilewright {
namespace {

constexpr std::int64_t kMaxSysfsBytes = 4096;

std::string SysfsLine(const std::string& path) {
  auto text = ReadFile(path, kMaxSysfsBytes);
  return text.ok() ? std::string(Trim(*text)) : std::string();
}

#if defined(__x86_64__)

struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers Cpuid(unsigned leaf, unsigned subleaf) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

std::uint64_t Xcr0() {
  unsigned low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

enum Register { kEax, kEbx, kEcx, kEdx };
enum State : std::uint64_t { kNoState = 0, kYmm = 0x6, kZmm = 0xE6, kTiles = 0x60000 };

struct FeatureEntry {
  std::string_view name;  // in LLVM's -mattr spelling
  unsigned leaf, subleaf;
  Register reg;
  int bit;
  State state;  // bits of XCR0 that must be set
};

constexpr FeatureEntry kFeatures[] = {
    {"sse4.2", 1, 0, kEcx, 20, kNoState}, {"popcnt", 1, 0, kEcx, 23, kNoState},
    {"avx", 1, 0, kEcx, 28, kYmm},        {"fma", 1, 0, kEcx, 12, kYmm},
    {"f16c", 1, 0, kEcx, 29, kYmm},       {"bmi", 7, 0, kEbx, 3, kNoState},
    {"avx2", 7, 0, kEbx, 5, kYmm},        {"bmi2", 7, 0, kEbx, 8, kNoState},
    {"avx512f", 7, 0, kEbx, 16, kZmm},    {"avx512dq", 7, 0, kEbx, 17, kZmm},
    {"avx512cd", 7, 0, kEbx, 28, kZmm},   {"avx512bw", 7, 0, kEbx, 30, kZmm},
    {"avx512vl", 7, 0, kEbx, 31, kZmm},   {"avx512vbmi", 7, 0, kEcx, 1, kZmm},
    {"avx512vnni", 7, 0, kEcx, 11, kZmm}, {"avxvnni", 7, 1, kEax, 4, kYmm},
    {"avx512bf16", 7, 1, kEax, 5, kZmm},  {"amx-tile", 7, 0, kEdx, 24, kTiles},
    {"amx-int8", 7, 0, kEdx, 25, kTiles}, {"amx-bf16", 7, 0, kEdx, 22, kTiles},
};

// Further features that a compiler may use without being requested to; not part of a device's
// fingerprint.
constexpr FeatureEntry kFurtherFeatures[] = {
    {"sse3", 1, 0, kEcx, 0, kNoState},           {"ssse3", 1, 0, kEcx, 9, kNoState},
    {"sse4.1", 1, 0, kEcx, 19, kNoState},        {"movbe", 1, 0, kEcx, 22, kNoState},
    {"avx512ifma", 7, 0, kEbx, 21, kZmm},        {"avx512vbmi2", 7, 0, kEcx, 6, kZmm},
    {"gfni", 7, 0, kEcx, 8, kNoState},           {"avx512bitalg", 7, 0, kEcx, 12, kZmm},
    {"avx512vpopcntdq", 7, 0, kEcx, 14, kZmm},   {"avx512fp16", 7, 0, kEdx, 23, kZmm},
    {"amx-fp16", 7, 1, kEax, 21, kTiles},        {"avxifma", 7, 1, kEax, 23, kYmm},
    {"avxvnniint8", 7, 1, kEdx, 4, kYmm},        {"avxneconvert", 7, 1, kEdx, 5, kYmm},
    {"avxvnniint16", 7, 1, kEdx, 10, kYmm},      {"lzcnt", 0x80000001, 0, kEcx, 5, kNoState},
    {"sse4a", 0x80000001, 0, kEcx, 6, kNoState}, {"xop", 0x80000001, 0, kEcx, 11, kYmm},
    {"fma4", 0x80000001, 0, kEcx, 16, kYmm},     {"tbm", 0x80000001, 0, kEcx, 21, kNoState},
};

bool HasFeature(const FeatureEntry& entry) {
  static constexpr unsigned kOsxsaveBit = 27;
  if (entry.state != kNoState) {
    if (((Cpuid(1, 0).ecx >> kOsxsaveBit) & 1u) == 0) return false;
    if ((Xcr0() & entry.state) != entry.state) return false;
  }
  const Registers r = Cpuid(entry.leaf, entry.subleaf);
  const std::array<unsigned, 4> values{r.eax, r.ebx, r.ecx, r.edx};
  return ((values[entry.reg] >> entry.bit) & 1u) != 0;
}

std::vector<std::string> HostFeatures() {
  std::vector<std::string> names;
  for (const FeatureEntry& entry : kFeatures) {
    if (HasFeature(entry)) names.emplace_back(entry.name);
  }
  return names;
}

/// Returns true if the machine lacks a known feature. False also for unknown names.
bool IsLacking(std::string_view feature) {
  const auto lacks = [feature](const FeatureEntry& e) {
    return e.name == feature && !HasFeature(e);
  };
  return std::ranges::any_of(kFeatures, lacks) || std::ranges::any_of(kFurtherFeatures, lacks);
}

/// Returns "AMD EPYC …" as reported by the processor.
std::string BrandString() {
  constexpr unsigned kFirstBrandLeaf = 0x80000002;
  std::array<char, 49> text{};
  for (unsigned i = 0; i < 3; ++i) {
    const Registers r = Cpuid(kFirstBrandLeaf + i, 0);
    std::memcpy(text.data() + std::size_t{16} * i, &r, 16);
  }
  return std::string(Trim(text.data()));
}

struct Signature {
  std::string vendor;
  unsigned family = 0, model = 0, stepping = 0;
};

Signature ReadSignature() {
  const Registers vendor = Cpuid(0, 0);
  std::array<char, 13> name{};
  std::memcpy(name.data(), &vendor.ebx, 4);
  std::memcpy(name.data() + 4, &vendor.edx, 4);
  std::memcpy(name.data() + 8, &vendor.ecx, 4);
  const unsigned eax = Cpuid(1, 0).eax;
  Signature s{name.data(), (eax >> 8) & 0xF, (eax >> 4) & 0xF, eax & 0xF};
  constexpr unsigned kExtendedFamily = 0xF;
  if (s.family == kExtendedFamily || s.family == 6) s.model += ((eax >> 16) & 0xF) << 4;
  if (s.family == kExtendedFamily) s.family += (eax >> 20) & 0xFF;
  return s;
}

/// Returns the name by family and model; empty if unlisted.
std::string NameBySignature(const Signature& s) {
  if (s.vendor == "AuthenticAMD") {
    switch (s.family) {
      case 0x17:
        return s.model >= 0x30 ? "znver2" : "znver1";
      case 0x19:
        return (s.model >= 0x10 && s.model <= 0x1F) || s.model >= 0x60 ? "znver4" : "znver3";
      case 0x1A:
        return "znver5";
      default:
        return "";
    }
  }
  if (s.vendor != "GenuineIntel" || s.family != 6) return "";
  switch (s.model) {
    case 0x3C:
    case 0x3F:
    case 0x45:
    case 0x46:
      return "haswell";
    case 0x3D:
    case 0x47:
    case 0x4F:
    case 0x56:
      return "broadwell";
    case 0x4E:
    case 0x5E:
    case 0x8E:
    case 0x9E:
    case 0xA5:
    case 0xA6:
      return "skylake";
    case 0x55:
      return "skylake-avx512";  // same family and model as Cascade Lake and Cooper Lake: see below
    case 0x6A:
    case 0x6C:
      return "icelake-server";
    case 0x7D:
    case 0x7E:
      return "icelake-client";
    case 0xA7:
      return "rocketlake";
    case 0x8C:
    case 0x8D:
      return "tigerlake";
    case 0x97:
    case 0x9A:
      return "alderlake";
    case 0xB7:
    case 0xBA:
    case 0xBF:
      return "raptorlake";
    case 0x8F:
      return "sapphirerapids";
    case 0xCF:
      return "emeraldrapids";
    case 0xAD:
    case 0xAE:
      return "graniterapids";
    default:
      return "";
  }
}

/// Returns true if this machine has all instruction sets that code for the named processor may use.
bool HostRuns(const std::string& name) {
  return std::ranges::none_of(InstructionSetsOf(name), IsLacking);
}

std::string CpuName() {
  std::string name = NameBySignature(ReadSignature());
  if (name == "skylake-avx512" && !IsLacking("avx512vnni")) {
    name = "cascadelake";
  }
  if (!name.empty() && HostRuns(name)) return name;
  // An unknown processor, or a virtual machine that hides some features of a known one.
  for (const char* level : {"x86-64-v4", "x86-64-v3"}) {
    if (HostRuns(level)) return level;
  }
  return "x86-64";
}

std::string ModelName() {
  std::string brand = BrandString();  // blank in some virtual machines
  return brand.empty() ? "unknown" : brand;
}

std::string SteppingText() {
  const Signature s = ReadSignature();
  return s.vendor + " family " + std::to_string(s.family) + " model " + std::to_string(s.model) +
         " stepping " + std::to_string(s.stepping);
}

#elif defined(__aarch64__) || defined(__arm__)

/// Returns the features in the kernel's auxiliary vector (bits in its asm/hwcap.h).
std::vector<std::string> HostFeatures() {
  const unsigned long bits = getauxval(AT_HWCAP);
#if defined(__aarch64__)
  constexpr unsigned long kVectors = 1ul << 1, kDotProduct = 1ul << 20;
#else
  constexpr unsigned long kVectors = 1ul << 12, kDotProduct = 1ul << 24;
  constexpr unsigned long kFusedMultiplyAdd = 1ul << 16;
#endif
  std::vector<std::string> names;
  if ((bits & kVectors) != 0) names.emplace_back("neon");
  if ((bits & kDotProduct) != 0) names.emplace_back("dotprod");
#if defined(__arm__)
  if ((bits & kFusedMultiplyAdd) != 0) names.emplace_back("vfp4");
#endif
  return names;
}

/// Returns true if the machine lacks a known feature. False also for a feature without a known
/// kernel bit.
bool IsLacking(std::string_view feature) {
  static constexpr std::string_view kAsked[] = {"neon", "dotprod"};
  const std::vector<std::string> here = HostFeatures();
  return std::ranges::count(kAsked, feature) > 0 && std::ranges::count(here, feature) == 0;
}

struct PartEntry {
  std::string_view part;
  std::string_view name;  // in LLVM's spelling
};
constexpr PartEntry kParts[] = {
    {"0xc07", "cortex-a7"},   {"0xc08", "cortex-a8"},   {"0xc09", "cortex-a9"},
    {"0xc0e", "cortex-a17"},  {"0xc0f", "cortex-a15"},  {"0xd03", "cortex-a53"},
    {"0xd04", "cortex-a35"},  {"0xd05", "cortex-a55"},  {"0xd07", "cortex-a57"},
    {"0xd08", "cortex-a72"},  {"0xd09", "cortex-a73"},  {"0xd0a", "cortex-a75"},
    {"0xd0b", "cortex-a76"},  {"0xd0c", "neoverse-n1"}, {"0xd0d", "cortex-a77"},
    {"0xd40", "neoverse-v1"}, {"0xd41", "cortex-a78"},  {"0xd44", "cortex-x1"},
    {"0xd49", "neoverse-n2"}, {"0xd4f", "neoverse-v2"}};

/// Returns the last value of a field of /proc/cpuinfo: large cores come after small ones.
std::string LastCpuField(std::string_view field) {
  constexpr std::int64_t kMaxBytes = 1 << 20;
  const auto text = ReadFile("/proc/cpuinfo", kMaxBytes);
  std::string last;
  for (const std::string& line : Split(text.ok() ? *text : std::string(), '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || Trim(line.substr(0, colon)) != field) continue;
    last = Trim(line.substr(colon + 1));
  }
  return last;
}

std::string CpuName() {
  constexpr const char* kArmLimited = "0x41";
  if (LastCpuField("CPU implementer") != kArmLimited) return "generic";
  const std::string part = LastCpuField("CPU part");
  const auto* known = std::ranges::find(kParts, std::string_view(part), &PartEntry::part);
  return known == std::end(kParts) ? "generic" : std::string(known->name);
}

/// Returns "Raspberry Pi 4 Model B Rev 1.2" or the like.
std::string ModelName() {
  std::string board = SysfsLine("/proc/device-tree/model");
  while (!board.empty() && board.back() == '\0') board.pop_back();
  if (board.empty()) board = LastCpuField("model name");
  return board.empty() ? "unknown" : board;
}

std::string SteppingText() {
  const std::string part = LastCpuField("CPU part");
  return part.empty() ? part : "part " + part + " revision " + LastCpuField("CPU revision");
}

#else

std::vector<std::string> HostFeatures() { return {}; }
bool IsLacking(std::string_view) { return false; }
std::string CpuName() { return "generic"; }
std::string ModelName() { return "unknown"; }
std::string SteppingText() { return {}; }

#endif

/// Parses "32K" or "8M" into bytes; 0 for any other text.
std::int64_t ParseCacheSize(std::string text) {
  std::int64_t unit = 1;
  if (!text.empty() && text.back() == 'K') unit = std::int64_t{1} << 10;
  if (!text.empty() && text.back() == 'M') unit = std::int64_t{1} << 20;
  if (unit > 1) text.pop_back();
  const auto number = ParseInt64(text);
  return number.ok() ? *number * unit : 0;
}

void ProbeCaches(DeviceFingerprint& device) {
  constexpr int kMaxCaches = 8;  // Linux lists one directory per cache that a core can access
  for (int i = 0; i < kMaxCaches; ++i) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
    const std::string level = SysfsLine(folder + "level");
    const std::int64_t bytes = ParseCacheSize(SysfsLine(folder + "size"));
    if (level == "1" && SysfsLine(folder + "type") == "Data") device.l1d_bytes = bytes;
    if (level == "2") device.l2_bytes = bytes;
    if (level == "3") device.l3_bytes = bytes;
  }
}

}  // namespace

DeviceFingerprint ProbeHostCpu() {
  DeviceFingerprint device;
  device.kind = "cpu";
  device.model = ModelName();
  device.isa = HostFeatures();
  std::ranges::sort(device.isa);
  ProbeCaches(device);
  device.cores = std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  device.extra = SteppingText();
  return device;
}

std::string HostCpuName() { return CpuName(); }

std::string MissingCpuFeature(std::string_view features) {
  for (const std::string& feature : Split(features, ',')) {
    if (IsLacking(feature)) return feature;
  }
  return {};
}

std::string HostCpuAttributes() {
  std::string text;
  for (const std::string& feature : HostFeatures()) {
    text += (text.empty() ? "+" : ",+") + feature;
  }
  return text;
}

}  // namespace tilewright
