#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

// Checks of a machine for good measurements and safe records, with recommended commands.

namespace tilewright::cli {

/// Severity of a finding.
enum class Severity {
  kGood,     ///< no problem
  kNote,     ///< unknown, or a matter of choice
  kAdvice,   ///< measurements can be improved
  kProblem,  ///< measurements are degraded, or work will fail
};
/// Returns "good", "note", "advice" or "problem".
std::string_view SeverityName(Severity verdict);

/// Result of one check.
struct Finding {
  std::string name;  ///< "governor"; stable across versions
  Severity verdict = Severity::kGood;
  std::string is;       ///< the observed state
  std::string why;      ///< why it matters
  std::string command;  ///< recommended command; empty if none is needed
};

/// Free space of a file system, and its time for a synced write.
struct DiskProbe {
  std::string folder;            ///< absolute; the nearest one that exists
  std::int64_t free_bytes = -1;  ///< -1: unknown
  double sync_seconds = -1;      ///< median of a few small synced writes; below 0: not measured
  std::string failed;            ///< reason why the write failed
};

/// Properties of this program and its installation.
struct ProgramProbe {
  std::string version;
  bool fleet = false;                     ///< built with the NATS library
  std::vector<std::string> missing_data;  ///< shipped folders that are not found: "targets"
  std::string c_library;                  ///< folder of libtilewright.so; empty: not found
  std::string library_path;               ///< LD_LIBRARY_PATH
};

/// Properties of a machine that its files do not contain. Filled by ProbeMachine, or by a test.
struct MachineProbe {
  DiskProbe store;                   ///< disk of the user's records
  std::int64_t shm_free_bytes = -1;  ///< of /dev/shm; -1: it does not exist
  std::string sandbox_refused;       ///< sandbox features that the system rejects; empty: none
  std::string cuda;                  ///< the GPUs, or the reason why there are none
  bool cuda_works = false;
  std::string rocm;  ///< the AMD GPUs, or the reason why there are none
  bool rocm_works = false;
  std::string opencl;  ///< the devices of OpenCL, or the reason why there are none
  bool opencl_works = false;
  struct Library {
    std::string name;     ///< of --libs, "dnnl"
    std::string version;  ///< empty if it is not installed
    std::string missing;  ///< reason why it is missing
  };
  std::vector<Library> libraries;
  ProgramProbe program;
  std::string bundled;  ///< folder of the libraries shipped with the program; empty: none
};

/// Probes this machine. store_folder: folder of the records; a file is written there, synced and
/// removed.
MachineProbe ProbeMachine(const std::string& store_folder);

/// Returns the findings of all checks, in a fixed order. root: prefix of /proc, /sys and the other
/// paths that are read; "" for this machine.
std::vector<Finding> RunChecks(const std::string& root, const MachineProbe& probe);

}  // namespace tilewright::cli
