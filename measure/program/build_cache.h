#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "measure/program/command.h"
#include "src/templates/open/open_task.h"

namespace tilewright::measure {

/// Result of a build command.
struct ProgramBuild {
  CommandResult command;
  std::string out;  ///< path of the built file, the value of {out}; empty without a build command
  bool ok() const { return command.ok(); }
};

/// Builds of an open task. Configs with equal build commands share one build; different ones may
/// run at the same time. A build is identified by the hash of its words and its environment.
/// Thread-safe.
class BuildCache {
 public:
  /// task: outlives the cache. folder: for built files; outlives the cache.
  /// stop: see CommandSpec.
  BuildCache(const OpenTask& task, std::string folder, CommandLimits limits, std::vector<int> cores,
             const std::atomic<bool>* stop)
      : task_(task),
        named_(ParametersIn(task.build)),
        folder_(std::move(folder)),
        limits_(limits),
        cores_(std::move(cores)),
        stop_(stop) {}

  /// Returns the build of a config, and builds it first if necessary. Blocks while another thread
  /// builds the same. A build that the system or a stop prevented is tried again by the next call.
  ProgramBuild Get(const Config& config);

 private:
  struct Entry {
    bool done = false;
    ProgramBuild result;
  };
  std::string NameOf(const Config& config) const;
  std::vector<std::string> BuildEnvironment(const Config& config, const std::string& out) const;
  ProgramBuild Build(const Config& config, const std::string& folder) const;

  const OpenTask& task_;
  const std::set<std::string> named_;  // parameters that the words of the build name
  const std::string folder_;
  const CommandLimits limits_;
  const std::vector<int> cores_;
  const std::atomic<bool>* const stop_;
  std::mutex mutex_;
  std::condition_variable built_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;  // guarded by mutex_
};

/// Environment of the commands of a config: TILEWRIGHT_<parameter> with its value,
/// TILEWRIGHT_CONFIG as JSON, TILEWRIGHT_OUT, and the variables of the task.
std::vector<std::string> EnvironmentOf(const OpenTask& task, const Config& config,
                                       const std::string& out);

}  // namespace tilewright::measure
