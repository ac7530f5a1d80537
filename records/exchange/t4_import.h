#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "records/store.h"

namespace tilewright {
struct OpenTask;
}

namespace tilewright::records {

/// Settings of an import that a T4 file does not state. All may be empty.
struct T4ImportOptions {
  std::string name;                ///< of the task; else of the file
  std::string problem;             ///< JSON of ParseProblem
  std::string environment;         ///< JSON of ParseEnvironment; else of the file
  std::string space;               ///< T1 file or text of the space; else the values that occur
  const OpenTask* task = nullptr;  ///< the task; null: see the other members
  bool dry_run = false;            ///< only check
};

struct T4Import {
  std::string task;    ///< key of the task
  std::string name;    ///< of the task
  std::string device;  ///< model of the device
  std::int64_t results = 0, failed = 0;
  std::int64_t imported = 0;  ///< the others were imported before
};

/// Whether a file begins as a T4 file or a cachefile of Kernel Tuner, which may be compressed; else
/// it may be a log. False if it cannot be read.
bool LooksLikeT4(const std::string& path);

/// Imports the results of a T4 file, or of a cachefile of Kernel Tuner, as trials of an open task:
/// that of the file if it was exported from records of one, else a task of a calling program
/// (OpenInput::kCaller). A result without "correctness", or one above 0, counts as verified.
///
/// The file is a job, whose log keeps it (t4_origin.h). An import that was stopped continues;
/// another one of the same file adds nothing.
///
/// Without options the name is what precedes the first '.' of the file's name, and the environment
/// is {"match": {"device": DEVICE}} with what follows, as in KERNEL.DEVICE.T4.json.gz.
/// Errors: those of reading and writing; kInvalidArgument naming the result and its member: results
/// with different parameters or objectives, a config that the space does not allow, a value that no
/// record may have; for a file without a device.
Result<T4Import> ImportT4(Store& store, const std::string& path, const T4ImportOptions& options);

}  // namespace tilewright::records
