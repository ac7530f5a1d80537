#pragma once

#include <string>

#include "src/base/status.h"
#include "src/runtime/cuda_driver.h"
#include "src/target/target.h"

namespace CLI {
class App;
}

namespace tilewright {
class ModelLibrary;
}

namespace tilewright::cli {

/// `--device` of a command: what code for CUDA runs on.
struct DeviceArgument {
  std::string device;  ///< empty: the first GPU, for targets of CUDA
  void Declare(CLI::App& app);
  /// The emulator of threads.
  bool simt() const { return device == "simt"; }
  /// Errors: kInvalidArgument unless the text fits the target.
  Status Check(const Target& target) const;

  /// Of the GPU that is meant. Errors: kInvalidArgument unless it is a number.
  Result<int> Ordinal() const;

  struct Gpu {
    int ordinal = 0;
    CudaDevice device;
  };
  /// The GPU that is meant. target: of CUDA.
  /// Errors: those of CudaDevices; kNotFound if there is no such device; kUnsupported if it cannot
  /// run the target's code.
  Result<Gpu> Find(const Target& target) const;
  /// Whose records are asked for: without grids what DeviceFor says; else those of the GPU that is
  /// named, else of the first one here that can run the target's code, else (as in the emulator) of
  /// any GPU of the target's generation. Errors: those of Find for a GPU that is named.
  Result<DeviceFingerprint> Fingerprint(const Target& target) const;
  /// Whether code for the target can be run here, on a device and not emulated.
  /// Errors: those of Find and Check.
  Status CheckRuns(const Target& target) const;
  /// Errors: kInvalidArgument if a device was given, which only code for CUDA has.
  Status CheckUnused() const;
  /// A library made by compile, on the device. threads: 0: as it was compiled.
  /// Errors: those of ModelLibrary; kInvalidArgument if a device was given and the library is not
  /// for a GPU, or threads that it cannot have.
  Result<ModelLibrary> OpenLibrary(const std::string& file, int threads = 0, int set = 0) const;
};

}  // namespace tilewright::cli
