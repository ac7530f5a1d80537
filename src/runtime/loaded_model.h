#pragma once

#include <string>

#include "src/base/status.h"
#include "src/runtime/gpu_model.h"
#include "src/runtime/loader.h"
#include "src/runtime/model.h"

namespace tilewright {

/// A compiled model that is open and fits this machine. Its tables live in the library.
struct LoadedModel {
  SharedLibrary library;
  TwModelFunctions functions = {};
  TwGpuFunctions gpu = {};  ///< null unless the model is for a GPU

  const TwModel& model() const { return *functions.model; }
};

/// What the symbols of the model for set `set` (from 0) of several sets of sizes end with.
std::string VariantSuffix(int set);
/// How many sets of sizes a library has been made for.
int VariantCount(const SharedLibrary& library);

/// path: a library, or the folder of a bundle. set: of its sets of sizes. The parameters of a
/// bundle are loaded from the file beside its library. Errors: kNotFound, also for a set that there
/// is not; kInvalidArgument if it is no compiled model, or its parameters are missing or another
/// model's; kUnsupported if it was made by another version of the interface or for a CPU with
/// features that this one lacks; kUnavailable naming library and operator if it calls a library
/// that is not here; kCorrupt if its tables make no sense.
Result<LoadedModel> LoadModel(const std::string& path, int set = 0);

/// What a function of the model returned. Errors: kUnavailable for no memory or threads, or a
/// device or library that failed; kInvalidArgument for a null pointer; kNotFound if there is no
/// driver or no such device; kUnsupported if that cannot run the model's code; kInternal for the
/// code of an operator.
Status ModelStatus(const LoadedModel& loaded, std::int32_t code);

}  // namespace tilewright
