#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "src/templates/open/open_task.h"
#include "src/templates/registry.h"

namespace tilewright {

/// Adds the template of an open task; the registry and its copies keep the task. Does nothing if it
/// was added before.
/// Errors: kInvalidArgument for another text of the same key.
Status AddOpenTask(TemplateRegistry& templates, OpenTask task);
/// Parses a text and adds its template. key: expected one.
/// Errors: those of ParseOpenTask; kInvalidArgument for the text of another key.
Status AddOpenTaskText(TemplateRegistry& templates, std::string_view key, std::string_view text,
                       std::string_view source);

/// Returns the open task of a workload that is in the registry, the last added one; null if there
/// is none.
const OpenTask* FindOpenTask(const TemplateRegistry& templates, const Workload& workload);

/// Whether the conditions of the task's space allow a config, by its index.
bool Allows(const OpenTask& task, const Config& config);

/// Tasks of calling programs that have the name of one of them: the same kernel with other
/// problems. The tasks have to outlive it.
class ProblemNeighbours {
 public:
  /// asked: null for workloads that are no open tasks; they have no neighbours.
  ProblemNeighbours(const TemplateRegistry& templates, const OpenTask* asked);
  /// Returns ProblemDistance to the task of a workload's key; infinity for other workloads.
  double DistanceTo(std::string_view key) const;
  /// Returns name and problem of the task of a key; the key for other workloads.
  std::string NameOf(std::string_view key) const;

 private:
  const OpenTask* asked_;
  std::map<std::string, const OpenTask*, std::less<>> by_key_;
};

}  // namespace tilewright
