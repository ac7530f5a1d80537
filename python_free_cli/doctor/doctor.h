#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

// What of a machine decides over good measurements and safe records, and what to do about it.

namespace tilewright::cli {

/// How bad it is.
enum class Severity {
  kGood,     ///< as it should be
  kNote,     ///< cannot be known here, or is a matter of choice
  kAdvice,   ///< measurements would be steadier, or more would be possible
  kProblem,  ///< measurements are worth less, or work will fail
};
/// "good", "note", "advice", "problem".
std::string_view SeverityName(Severity verdict);

/// One thing that was looked at.
struct Finding {
  std::string name;  ///< "governor"; the same in every version
  Severity verdict = Severity::kGood;
  std::string is;       ///< what there is
  std::string why;      ///< why it matters
  std::string command;  ///< what to do; empty where nothing is to be done
};

/// What a file system has left, and how long it takes to be sure of a write.
struct DiskProbe {
  std::string folder;            ///< absolute; the nearest one that exists
  std::int64_t free_bytes = -1;  ///< -1: nobody knows
  double sync_seconds = -1;      ///< median of a few small synced writes; below 0: not written
  std::string failed;            ///< why not
};

/// What the files of a machine do not say. Filled by ProbeMachine, or by a test.
struct MachineProbe {
  DiskProbe store;                   ///< where the user's records lie
  std::int64_t shm_free_bytes = -1;  ///< of /dev/shm; -1: there is none
  std::string sandbox_refused;       ///< what of the sandbox the system refuses; empty: nothing
  std::string cuda;                  ///< the GPUs, or why there are none
  bool cuda_works = false;
  struct Library {
    std::string name;     ///< of --libs, "dnnl"
    std::string version;  ///< empty if it is not there
    std::string missing;  ///< why not
  };
  std::vector<Library> libraries;
  std::string bundled;  ///< folder of the libraries that come with the program; empty: none do
};

/// Looks at this machine. store_folder: where records are to be; a file is written there, synced
/// and removed.
MachineProbe ProbeMachine(const std::string& store_folder);

/// Everything there is to say about a machine, always the same checks in the same order. root: in
/// front of /proc, /sys and the other paths that are read, "" for this machine.
std::vector<Finding> RunChecks(const std::string& root, const MachineProbe& probe);

}  // namespace tilewright::cli
