#pragma once

#include <string>

#include "src/base/status.h"
#include "src/runtime/gpu_model.h"
#include "src/runtime/loader.h"
#include "src/runtime/model.h"

namespace tilewright {

/// Open compiled model that can run on this machine. Its tables are in the library.
struct LoadedModel {
  SharedLibrary library;
  TwModelFunctions functions = {};
  TwGpuFunctions gpu = {};    ///< null unless the model is for a GPU
  TwOpenFunctions open = {};  ///< null unless a dimension is open

  const TwModel& model() const { return *functions.model; }
};

/// Returns the suffix of the symbols of shape variant `set` (from 0) of several.
std::string VariantSuffix(int set);
/// Returns the number of shape variants in a library.
int VariantCount(const SharedLibrary& library);

/// Loads a model. path: a library, or the directory of a bundle. set: shape variant. The parameters
/// of a bundle are loaded from the file next to its library.
/// Errors: kNotFound, also for a missing shape variant; kInvalidArgument if it is not a compiled
/// model, or its parameters are missing or another model's; kUnsupported if it was compiled for
/// another version of the interface or for a CPU with features that this one lacks; kUnavailable
/// naming library and operator if it calls a library that is missing; kCorrupt if its tables are
/// invalid.
Result<LoadedModel> LoadModel(const std::string& path, int set = 0);

/// Sets the size of the open dimension. The model's tables then have the shapes of this size.
/// Errors: kInvalidArgument if the model has no open dimension of this name, or if the size is
/// outside of its range; those of ModelStatus.
Status SetModelSize(const LoadedModel& loaded, const std::string& dimension, std::int64_t size);

/// Converts the code returned by a function of the model.
/// Errors: kUnavailable for no memory or threads, or a device or library that failed;
/// kInvalidArgument for a null pointer; kNotFound if there is no driver or no such device;
/// kUnsupported if the device cannot run the model's code; kInternal for the code of an operator.
Status ModelStatus(const LoadedModel& loaded, std::int32_t code);

}  // namespace tilewright
