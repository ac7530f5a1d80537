// Networks of model files: their tasks, tuning of all tasks, and compilation.

#include <utility>

#include "src/compiler/run/run.h"
#include "src/session/model.h"
#include "src/session/session.h"
#include "src/tensor/synthetic_data.h"
#include "src/tuner/data.h"
#include "src/tuner/tune_job.h"

namespace tilewright::tuner {
namespace {

namespace inner = ::tilewright;

std::vector<Tensor> TensorsOf(const std::vector<ModelValue>& values) {
  std::vector<Tensor> tensors;
  for (const ModelValue& value : values) {
    tensors.push_back({value.name, DataTypeName(value.type.dtype), value.type.shape,
                       value.type.bytes(), /*constant=*/false});
  }
  return tensors;
}

inner::Result<Model> ReadModel(const std::string& path, const ModelOptions& options) {
  session::ModelOptions inside;
  inside.bindings.shapes = options.shapes;
  inside.bindings.dims = options.dims;
  auto data = std::make_shared<Model::Data>();
  TW_ASSIGN_OR_RETURN(data->source, inside.Source(path));
  TW_ASSIGN_OR_RETURN(const auto graph, LoadGraph(data->source));
  data->name = graph.name;
  data->inputs = TensorsOf(ValuesOf(graph, graph.inputs()));
  data->outputs = TensorsOf(ValuesOf(graph, graph.outputs()));
  return Model(std::move(data));
}

/// Session of a tuner's target without record sources.
session::Session SessionOf(const Tuner::Data& tuner, const TemplateRegistry& templates) {
  session::SessionSettings settings;
  settings.templates = &templates;
  settings.target = tuner.target;
  settings.records.model_file = "none";
  settings.records.user_store = false;
  settings.records.no_packages = true;
  settings.records.accept = "default";
  return session::Session(std::move(settings));
}

inner::Result<std::vector<ModelTask>> ListTasks(const Tuner::Data& tuner, const Model& model) {
  const session::Session session = SessionOf(tuner, *tuner.templates);
  TW_ASSIGN_OR_RETURN(const auto tasks, session.Tasks(model.data().source));
  std::vector<ModelTask> list;
  for (const search::TuneTask& task : tasks) {
    list.push_back({task.task.workload.Key(), task.occurrences, 2.0 * task.task.workload.macs()});
  }
  return list;
}

inner::Result<NetworkReport> TuneModel(const Tuner::Data& tuner, const Model& model,
                                       const TuneOptions& options) {
  const session::Session session = SessionOf(tuner, *tuner.templates);
  TW_ASSIGN_OR_RETURN(auto tasks, session.Tasks(model.data().source));
  auto data = std::make_shared<NetworkReport::Data>();
  TW_ASSIGN_OR_RETURN(data->report, RunTuneJob(tuner, model.data().source.path, tasks, options));
  data->times = search::TimesOfNetwork(data->report.tasks);
  for (const search::TaskReport& task : data->report.tasks) {
    for (const auto& [outcome, count] : task.failures) data->failures += count;
  }
  return NetworkReport(std::move(data));
}

inner::Result<CompiledModel> CompileModel(const Tuner::Data& tuner, const Model& model,
                                          const CompileOptions& options, const std::string& path) {
  if (options.config.has_value()) {
    return InvalidArgument("a config is for one expression, expected none for a model");
  }
  TW_ASSIGN_OR_RETURN(auto records, OpenRecords(tuner, options.store));
  const session::Session session = SessionOf(tuner, *records.templates);
  return session.Compile(model.data().source, path, [&](inner::CompileOptions& inside) {
    inside.catalog = &records.catalog;
    // "expression" is the default of CompileOptions::name.
    if (options.name != CompileOptions().name) inside.name = options.name;
    inside.check = options.verify ? CheckLevel::kSample : CheckLevel::kNone;
  });
}

inner::Result<Network> CompileModelHere(const Tuner::Data& tuner, const Model& model,
                                        const CompileOptions& options) {
  CompiledModel compiled;
  TW_ASSIGN_OR_RETURN(auto library, LoadCompiled(
                                        [&](const std::string& path) {
                                          return CompileModel(tuner, model, options, path);
                                        },
                                        compiled));
  return Network(std::make_shared<Network::Data>(Network::Data{
      std::move(library), model, std::ssize(compiled.operators), std::ssize(compiled.untuned())}));
}

inner::Status CheckCount(const char* what, std::size_t given, std::size_t wanted) {
  if (given == wanted) return {};
  return InvalidArgument(std::to_string(given) + " " + what + ", expected " +
                         std::to_string(wanted));
}

/// Verifies the file of a compiled network against the reference evaluator.
inner::Status VerifyModel(const Tuner::Data& tuner, const Model& model,
                          const CompileOptions& options) {
  TW_ASSIGN_OR_RETURN(auto records, OpenRecords(tuner, options.store));
  const session::Session session = SessionOf(tuner, *records.templates);
  session::OpenOptions open;
  open.keep_source = true;
  open.edit = [&](inner::CompileOptions& inside) { inside.catalog = &records.catalog; };
  TW_ASSIGN_OR_RETURN(auto network, session.Open(model.data().source, open));
  std::vector<inner::Tensor> inputs;
  for (const ModelValue& value : network.network->inputs()) {
    inputs.push_back(MakeSyntheticInput(value.name, value.type, SyntheticInputRule::kRandom));
  }
  TW_ASSIGN_OR_RETURN(const auto report, session::Session::Verify(network, inputs, {}));
  return report.ok() ? inner::Status() : Internal(report.Summary());
}

}  // namespace

inline namespace v1 {

Result<Model> Model::Read(const std::string& path, const ModelOptions& options) {
  return ToPublic(ReadModel(path, options));
}
const std::string& Model::name() const { return data_->name; }
const std::vector<Tensor>& Model::inputs() const { return data_->inputs; }
const std::vector<Tensor>& Model::outputs() const { return data_->outputs; }

std::int64_t NetworkReport::tasks() const { return std::ssize(data_->report.tasks); }
std::int64_t NetworkReport::trials() const { return data_->report.trials; }
std::int64_t NetworkReport::new_trials() const { return data_->report.trials_this_run; }
std::int64_t NetworkReport::failures() const { return data_->failures; }
double NetworkReport::default_seconds() const { return data_->times.standard; }
double NetworkReport::best_seconds() const { return data_->times.best; }

const std::vector<Tensor>& Network::inputs() const { return data_->model.inputs(); }
const std::vector<Tensor>& Network::outputs() const { return data_->model.outputs(); }
std::int64_t Network::operators() const { return data_->operators; }
std::int64_t Network::untuned() const { return data_->untuned; }
Status Network::Run(const std::vector<const void*>& inputs,
                    const std::vector<void*>& outputs) const {
  auto counted = CheckCount("inputs", inputs.size(), this->inputs().size());
  if (counted.ok()) counted = CheckCount("outputs", outputs.size(), this->outputs().size());
  if (!counted.ok()) return ToPublic(counted);
  std::vector<const void*> given = inputs;
  given.push_back(nullptr);  // so that data() is not null if it is empty
  return ToPublic(
      ModelStatus(data_->library.loaded,
                  data_->library.function(given.data(), const_cast<void**>(outputs.data()))));
}

Result<std::vector<ModelTask>> Tuner::Tasks(const Model& model) const {
  return ToPublic(ListTasks(*data_, model));
}
Result<NetworkReport> Tuner::Tune(const Model& model, const TuneOptions& options) {
  return ToPublic(TuneModel(*data_, model, options));
}
Result<Network> Tuner::Compile(const Model& model, const CompileOptions& options) const {
  return ToPublic(CompileModelHere(*data_, model, options));
}
Status Tuner::CompileLibrary(const Model& model, const std::string& path,
                             const CompileOptions& options) const {
  auto compiled = CompileModel(*data_, model, options, path);
  if (!compiled.ok()) return ToPublic(compiled.status());
  return ToPublic(WriteHeader(path, *compiled));
}
Status Tuner::Verify(const Model& model, const CompileOptions& options) const {
  return ToPublic(VerifyModel(*data_, model, options));
}

}  // namespace v1
}  // namespace tilewright::tuner
