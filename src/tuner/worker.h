#pragma once

#include <memory>
#include <string>

#include "measure/supervisor/process_measurer.h"
#include "src/base/status.h"
#include "src/tuner/data.h"

namespace tilewright::tuner {

/// The file this library is in; empty if the loader does not say.
std::string LibraryFile();

/// The worker that was installed beside this library.
std::string InstalledWorker();

/// A measurer for the tuner's target whose workers are its worker program with this library.
/// Errors: kNotFound without that program; those of ProcessMeasurer::Create.
::tilewright::Result<std::unique_ptr<measure::ProcessMeasurer>> StartMeasurer(
    const Tuner::Data& tuner);

}  // namespace tilewright::tuner

/// What the worker program calls: "build" or "run" in argv[0], then `--schedule-text TEXT` for each
/// schedule. returns the exit code.
extern "C" __attribute__((visibility("default"))) int tilewright_tuner_work(int argc, char** argv);
