#pragma once

#include <string>

#include "src/base/status.h"
#include "src/runtime/cuda_driver.h"
#include "src/target/target.h"

namespace tilewright {
class ModelLibrary;
}

namespace tilewright::session {

/// Device that code for CUDA runs on, as option `--device` names it.
struct DeviceChoice {
  /// Number of a GPU, or "simt", the emulator of its threads. Empty: the first GPU.
  std::string device;
  /// True for the emulator of threads.
  bool simt() const { return device == "simt"; }
  /// Errors: kInvalidArgument unless the text fits the target.
  Status Check(const Target& target) const;

  /// Returns the GPU's number. Errors: kInvalidArgument unless it is a number.
  Result<int> Ordinal() const;

  struct Gpu {
    int ordinal = 0;
    CudaDevice device;
  };
  /// Finds the GPU. target: of CUDA.
  /// Errors: those of CudaDevices; kNotFound if there is no such device; kUnsupported if it cannot
  /// run the target's code.
  Result<Gpu> Find(const Target& target) const;
  /// Returns the device whose records serve the target. Targets without grids: as DeviceFor. Else
  /// the named GPU; else the first one here that can run the target's code; else, as in the
  /// emulator, any GPU of the target's generation. Errors: those of Find for a named GPU.
  Result<DeviceFingerprint> Fingerprint(const Target& target) const;
  /// Checks that code for the target can run on a device here, not emulated.
  /// Errors: those of Find and Check.
  Status CheckRuns(const Target& target) const;
  /// Errors: kInvalidArgument if a device was given; only code for CUDA has one.
  Status CheckUnused() const;
  /// Opens a compiled library on the device. threads: 0: as compiled. set: shape variant.
  /// Errors: those of ModelLibrary; kInvalidArgument if a device was given and the library is not
  /// for a GPU, or threads that it cannot have.
  Result<ModelLibrary> OpenLibrary(const std::string& file, int threads = 0, int set = 0) const;
};

}  // namespace tilewright::session
