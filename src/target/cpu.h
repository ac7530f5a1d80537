#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/target/target.h"

namespace tilewright {

/// Instruction sets that change which code is generated for a CPU target.
struct CpuFeatures {
  bool avx2 = false;    ///< with FMA
  bool avx512 = false;  ///< F, BW, DQ, VL
  bool avx512_vnni = false;
  bool avx_vnni = false;
  bool amx_int8 = false;
  bool neon = false;
  bool arm_dotprod = false;
  /// Executes a vector of 512 bits as two halves, so that one of 256 takes half its time.
  bool double_pumped_512 = false;

  /// float32 lanes of one vector register: 16, 8 or 4.
  int float_lanes() const { return avx512 ? 16 : avx2 ? 8 : 4; }
  int vector_registers() const { return avx512 || neon ? 32 : 16; }
  bool has_int8_dot() const { return avx512_vnni || avx_vnni || arm_dotprod; }
  /// Bytes are multiplied, but sums of two products saturate at 16 bits: exact for narrow weights.
  bool has_saturating_dot() const { return avx2 && !has_int8_dot(); }
};

/// Features of a target: from its -mcpu (table of known CPUs, or the host's when -mcpu is the
/// host's) and -mattr. Errors: kInvalidArgument for an unknown -mcpu.
Result<CpuFeatures> FeaturesOf(const Target& target);

/// What something was measured on; stored with every trial. Text form is one line of JSON.
struct DeviceFingerprint {
  std::string kind;  ///< "cpu", "cuda", "vta", "null"
  /// "AMD EPYC …" as the CPU reports it; empty where any device that runs a target's code is meant.
  std::string model;
  std::vector<std::string> isa;  ///< sorted: "avx2", "avx512f", …
  std::int64_t l1d_bytes = 0, l2_bytes = 0, l3_bytes = 0;
  int cores = 0;
  std::string extra;  ///< driver, microcode, VTA configuration; may be empty

  std::string ToString() const;
  static Result<DeviceFingerprint> Parse(std::string_view text);
  friend bool operator==(const DeviceFingerprint&, const DeviceFingerprint&) = default;
  /// Of the same kind, with all instruction sets of the other: it runs what the other runs.
  bool Includes(const DeviceFingerprint& other) const;
  /// Stands for all devices that run the code asked for, as GenericCpuFor says it: never measured
  /// on.
  bool is_generic() const { return kind == "cpu" && model.empty(); }
};

/// What kind of processor this program runs on: "x86_64", "aarch64" or "arm"; else empty.
std::string_view HostArchitecture();
/// The kind of processor in -mtriple, spelt as by HostArchitecture; another as in the triple.
/// HostArchitecture() where the target names none.
std::string ArchitectureOf(const Target& target);

/// Stands for every CPU that runs the code of a target for another kind of processor: no model, and
/// in `isa` what the code may use.
/// Errors: kInvalidArgument for an unknown -mcpu.
Result<DeviceFingerprint> GenericCpuFor(const Target& target);

/// Whether every device that runs the code of `target` runs that of `recorded`, as far as
/// GenericCpuFor knows. Errors of GenericCpuFor: false.
bool IsCodeCompatible(const Target& recorded, const Target& target);

/// This machine (CPUID and /sys). LLVM's name of its CPU is in HostCpuName().
DeviceFingerprint ProbeHostCpu();
/// Name for -mcpu and comma-separated "+feature" list for -mattr, so that `native` is explicit in
/// every record. Without LLVM: from CPUID.
std::string HostCpuName();
std::string HostCpuAttributes();

}  // namespace tilewright
