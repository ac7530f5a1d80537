#pragma once

#include <memory>
#include <string>

#include "measure/supervisor/process_measurer.h"
#include "src/base/status.h"
#include "src/tuner/data.h"

namespace tilewright::tuner {

/// Returns the path of this library; empty if the loader does not report it.
std::string LibraryFile();

/// Returns the path of the worker program that is installed next to this library.
std::string InstalledWorker();

/// Creates a measurer for the tuner's target whose workers are its worker program with this
/// library. Errors: kNotFound without that program; those of ProcessMeasurer::Create.
::tilewright::Result<std::unique_ptr<measure::ProcessMeasurer>> StartMeasurer(
    const Tuner::Data& tuner);

}  // namespace tilewright::tuner

/// Entry point of the worker program: "build" or "run" in argv[0], then `--schedule-text TEXT` for
/// each schedule. Returns the exit code.
extern "C" __attribute__((visibility("default"))) int tilewright_tuner_work(int argc, char** argv);
