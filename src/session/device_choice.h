#pragma once

#include <string>

#include "src/base/status.h"
#include "src/target/cpu.h"
#include "src/target/target.h"

namespace tilewright {
class ModelLibrary;
}

namespace tilewright::session {

/// Device that code for CUDA or OpenCL runs on, by a number, or "simt".
struct DeviceChoice {
  /// Number of a GPU, or "simt", the emulator of its threads. Empty: the first GPU.
  std::string device;
  /// True for the emulator of threads.
  bool simt() const { return device == "simt"; }
  /// Checks that `device` fits the target. Errors: kInvalidArgument.
  Status Check(const Target& target) const;

  /// Returns the GPU's number. Errors: kInvalidArgument unless it is a number.
  Result<int> Ordinal() const;

  struct Gpu {
    int ordinal = 0;
    DeviceFingerprint device;
  };
  /// Finds the device. target: of CUDA or OpenCL.
  /// Errors: those of CudaDevices or OpenClDevices; kNotFound if there is no such device;
  /// kUnsupported if it cannot run the target's code.
  Result<Gpu> Find(const Target& target) const;
  /// Returns the device whose records serve the target. For a target without grids, returns
  /// DeviceFor's. Otherwise returns the named GPU; without a name, the first local GPU that can run
  /// the target's code; without one, and in the emulator, a generic GPU of the target's generation.
  /// Errors: those of Find for a named GPU.
  Result<DeviceFingerprint> Fingerprint(const Target& target) const;
  /// Checks that a local device, not the emulator, can run code for the target.
  /// Errors: those of Find and Check.
  Status CheckRuns(const Target& target) const;
  /// Errors: kInvalidArgument if a device was given. Only code for CUDA and OpenCL has one.
  Status CheckUnused() const;
  /// Opens a compiled library on the device. threads: 0 keeps the compiled number. set: shape
  /// variant.
  /// Errors: those of ModelLibrary; kInvalidArgument if a device was given for a library without
  /// GPU code, or for a number of threads that the library does not support.
  Result<ModelLibrary> OpenLibrary(const std::string& file, int threads = 0, int set = 0) const;
};

}  // namespace tilewright::session
