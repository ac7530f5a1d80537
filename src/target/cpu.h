#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/target/target.h"

namespace tilewright {

/// Instruction sets that change the code generated for a CPU target.
struct CpuFeatures {
  bool avx2 = false;    ///< with FMA
  bool avx512 = false;  ///< F, BW, DQ, VL
  bool avx512_vnni = false;
  bool avx512_bf16 = false;
  bool avx_vnni = false;
  bool amx_int8 = false;  ///< tile registers that multiply bytes
  bool amx_bf16 = false;  ///< ... and bfloat16
  bool neon = false;
  bool arm_dotprod = false;
  /// Executes a 512-bit vector operation as two halves, so a 256-bit one takes half the time.
  bool double_pumped_512 = false;

  /// Returns the float32 lanes of one vector register: 16, 8 or 4.
  int float_lanes() const { return avx512 ? 16 : avx2 ? 8 : 4; }
  int vector_registers() const { return avx512 || neon ? 32 : 16; }
  bool has_int8_dot() const { return avx512_vnni || avx_vnni || arm_dotprod; }
  /// Sums of two byte products saturate at 16 bits: exact for reduced-range weights.
  bool has_saturating_dot() const { return avx2 && !has_int8_dot(); }
};

/// Returns the features of a target from its -mcpu (table of known CPUs, or the host's if -mcpu is
/// the host's) and -mattr. Errors: kInvalidArgument for an unknown -mcpu.
Result<CpuFeatures> FeaturesOf(const Target& target);

/// Device fingerprint stored with every trial. Its text form is one line of JSON.
struct DeviceFingerprint {
  std::string kind;  ///< "cpu", "cuda", "vta", "null"
  /// "AMD EPYC …" as reported by the CPU; empty for a generic device, which is any device that runs
  /// a target's code.
  std::string model;
  std::vector<std::string> isa;  ///< sorted: "avx2", "avx512f", …
  std::int64_t l1d_bytes = 0, l2_bytes = 0, l3_bytes = 0;
  int cores = 0;
  std::string extra;  ///< driver, microcode, VTA configuration; may be empty

  std::string ToString() const;
  static Result<DeviceFingerprint> Parse(std::string_view text);
  friend bool operator==(const DeviceFingerprint&, const DeviceFingerprint&) = default;
  /// Returns true if the kind is equal and this device has all instruction sets of the other one,
  /// so that it runs the other's code.
  bool Includes(const DeviceFingerprint& other) const;
  /// Returns true for a generic CPU (see GenericCpuFor). No trial is measured on one.
  bool is_generic() const { return kind == "cpu" && model.empty(); }
};

/// Returns the architecture that this program runs on: "x86_64", "aarch64" or "arm"; else empty.
std::string_view HostArchitecture();
/// Returns the architecture in -mtriple, in the spelling of HostArchitecture; others as in the
/// triple. HostArchitecture() if the target has no -mtriple.
std::string ArchitectureOf(const Target& target);

/// Returns the generic CPU for a target of another architecture: no model, and in `isa` the
/// instruction sets that the code may use.
/// Errors: kInvalidArgument for an unknown -mcpu.
Result<DeviceFingerprint> GenericCpuFor(const Target& target);

/// Returns true if every device that runs the code of `target` also runs the code of `recorded`, by
/// the data of GenericCpuFor. False on errors of GenericCpuFor.
bool IsCodeCompatible(const Target& recorded, const Target& target);

/// Returns the fingerprint of this machine (CPUID and /sys). HostCpuName() returns LLVM's name of
/// its CPU.
DeviceFingerprint ProbeHostCpu();
/// Return the name for -mcpu and the comma-separated "+feature" list for -mattr, which make
/// `native` explicit in every record. Without LLVM: from CPUID.
std::string HostCpuName();
std::string HostCpuAttributes();

}  // namespace tilewright
