#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "include/tilewright/tuner.h"
#include "records/package/catalog.h"
#include "search/registry.h"
#include "search/report.h"
#include "src/base/files/locked_temp_dir.h"
#include "src/base/status.h"
#include "src/compiler/compile.h"
#include "src/graph/ir/graph.h"
#include "src/runtime/loaded_model.h"
#include "src/space/config.h"
#include "src/space/trial.h"
#include "src/templates/registry.h"
#include "src/tensor/workload.h"

namespace tilewright::tuner {

/// Converts the status to the public interface. The numbers are the same.
Status ToPublic(const ::tilewright::Status& status);

/// Converts an internal result to the public interface.
template <typename T>
Result<T> ToPublic(::tilewright::Result<T> result) {
  if (!result.ok()) return ToPublic(result.status());
  return *std::move(result);
}

struct Expression::Data {
  ::tilewright::Expression expression;
  ::tilewright::Workload workload;
  std::string key;
  std::vector<Tensor> inputs;
  Tensor result;
};

struct Config::Data {
  Candidate candidate;
  std::string json;
  /// Schedule text of its template, if it has one: a config may outlive its Tuner.
  std::shared_ptr<const TemplateRegistry> templates;
};

struct Space::Data {
  Task task;
  std::shared_ptr<const TemplateRegistry> templates;
  const TemplateEntry* entry = nullptr;  ///< of `templates`
  std::string key;
  ConfigSpace space;
  std::vector<Knob> knobs;
};

struct Measurement::Data {
  Trial trial;
  std::string outcome;
};

struct TuneReport::Data {
  search::TuneReport report;
  std::int64_t failures = 0;
  std::string config;
  const search::TaskReport& task() const { return report.tasks.front(); }
};

struct Answer::Data {
  std::string kind, explanation;
  std::optional<Config> config;
  double seconds = 0;
};

/// Compiled library, loaded into this process. Its file is removed with the object.
struct LocalLibrary {
  LockedTempDir folder;
  LoadedModel loaded;
  Kernel::Function function = nullptr;
};

/// Compiles into a temporary file and loads it. compile: writes a library to the path.
/// compiled: gets its report. Errors: those of `compile` and of LoadModel.
::tilewright::Result<LocalLibrary> LoadCompiled(
    const std::function<::tilewright::Result<CompiledModel>(const std::string& path)>& compile,
    CompiledModel& compiled);

/// Writes the C header of a library next to it (path with .h for .so).
::tilewright::Status WriteHeader(const std::string& library_path, const CompiledModel& compiled);

struct Kernel::Data {
  LocalLibrary library;
  OperatorReport report;
};

struct Model::Data {
  ModelSource source;
  std::string name;
  std::vector<Tensor> inputs, outputs;
};

struct NetworkReport::Data {
  search::TuneReport report;
  search::NetworkTimes times;
  std::int64_t failures = 0;
};

struct Network::Data {
  LocalLibrary library;
  Model model;
  std::int64_t operators = 0, untuned = 0;
};

struct Tuner::Data {
  Target target;
  std::string target_text;
  std::string worker;
  // A tuning program starts here, so this struct creates the built-in registries.
  std::shared_ptr<const TemplateRegistry> templates =
      std::make_shared<const TemplateRegistry>(TemplateRegistry::BuiltIn());
  search::StrategyRegistry strategies = search::StrategyRegistry::BuiltIn();
  std::vector<std::string> texts;  ///< canonical texts of added schedules, for workers
};

/// Converts the config to the public interface.
Config MakeConfig(Candidate candidate, std::shared_ptr<const TemplateRegistry> templates);

/// Open record store in a catalog, and the templates with the store's schedule texts.
struct OpenedRecords {
  records::Catalog catalog;
  std::shared_ptr<const TemplateRegistry> templates;
};

/// Opens a store for reading; skips texts that do not match their names. path: empty for no store.
/// Errors: those of opening and reading.
::tilewright::Result<OpenedRecords> OpenRecords(const Tuner::Data& tuner, const std::string& path);

}  // namespace tilewright::tuner
