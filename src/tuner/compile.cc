// Compiles an expression into a library, and loads it into this process.

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "src/base/files/file.h"
#include "src/graph/expression_graph.h"
#include "src/target/cpu.h"
#include "src/templates/device.h"
#include "src/templates/text/text_template.h"
#include "src/tuner/data.h"

namespace tilewright::tuner {
namespace {

namespace inner = ::tilewright;

constexpr std::string_view kLibraryEnd = ".so";

/// Chooser that returns the caller's config for its workload.
class GivenConfig final : public records::ModelChooser {
 public:
  explicit GivenConfig(Candidate given) : given_(std::move(given)) {}
  inner::Result<std::optional<records::ModelChoice>> Choose(const Workload& workload,
                                                            const Target&) const override {
    if (workload != given_.task.workload) return std::optional<records::ModelChoice>();
    return std::optional(records::ModelChoice{given_, 1, "the config that was given"});
  }

 private:
  Candidate given_;
};

/// Errors: kInvalidArgument for a config of a different expression or target.
inner::Status CheckConfig(const Candidate& candidate, const Workload& workload,
                          const Target& target) {
  if (candidate.task.workload != workload) {
    return InvalidArgument("a config for " + candidate.task.workload.Key() + ", expected one for " +
                           workload.Key());
  }
  if (candidate.task.target != target) {
    return InvalidArgument("a config for " + candidate.task.target.ToString() +
                           ", expected one for " + target.ToString());
  }
  return {};
}

/// Returns the report of the expression's kernel, not of the layout changes of constants before
/// it.
const OperatorReport& ReportOf(const CompiledModel& compiled) {
  const auto found = std::ranges::find_if(
      compiled.operators, [](const OperatorReport& one) { return !one.template_key.empty(); });
  return found != compiled.operators.end() ? *found : compiled.operators.back();
}

inner::Result<CompiledModel> CompileInto(const Tuner::Data& tuner, const Expression& expression,
                                         const CompileOptions& options, const std::string& path) {
  // A given config needs no records.
  TW_ASSIGN_OR_RETURN(
      auto records, OpenRecords(tuner, options.config.has_value() ? std::string() : options.store));
  inner::CompileOptions inside;
  inside.target = tuner.target;
  inside.name = options.name;
  inside.check = options.verify ? CheckLevel::kSample : CheckLevel::kNone;
  inside.catalog = &records.catalog;
  TW_ASSIGN_OR_RETURN(inside.device, DeviceFor(tuner.target));
  if (options.config.has_value()) {
    const Config::Data& config = options.config->data();
    const inner::Status fits =
        CheckConfig(config.candidate, expression.data().workload, tuner.target);
    TW_RETURN_IF_ERROR(fits);
    records.templates = config.templates;
    records.catalog.SetModel(std::make_unique<GivenConfig>(config.candidate));
  }
  inside.templates = records.templates.get();
  TW_ASSIGN_OR_RETURN(auto graph, GraphOfExpression(expression.data().expression, options.name));
  TW_ASSIGN_OR_RETURN(auto compiled, inner::Compile(std::move(graph), inside, path));
  const OperatorReport& report = ReportOf(compiled);
  if (options.config.has_value() && report.config != options.config->json()) {
    return InvalidArgument("the config cannot be compiled: " + report.explanation);
  }
  return compiled;
}

inner::Result<Kernel> CompileHere(const Tuner::Data& tuner, const Expression& expression,
                                  const CompileOptions& options) {
  CompiledModel compiled;
  TW_ASSIGN_OR_RETURN(auto library, LoadCompiled(
                                        [&](const std::string& path) {
                                          return CompileInto(tuner, expression, options, path);
                                        },
                                        compiled));
  return Kernel(
      std::make_shared<Kernel::Data>(Kernel::Data{std::move(library), ReportOf(compiled)}));
}

}  // namespace

inner::Result<LocalLibrary> LoadCompiled(
    const std::function<inner::Result<CompiledModel>(const std::string& path)>& compile,
    CompiledModel& compiled) {
  TW_ASSIGN_OR_RETURN(auto folder, LockedTempDir::Create("tilewright-tuner"));
  const std::string path = folder.path() + "/compiled" + std::string(kLibraryEnd);
  TW_ASSIGN_OR_RETURN(compiled, compile(path));
  TW_ASSIGN_OR_RETURN(auto loaded, LoadModel(path));
  auto* function =
      reinterpret_cast<Kernel::Function>(loaded.library.Symbol(compiled.name + "_run"));
  if (function == nullptr) return Internal("the compiled library has no " + compiled.name + "_run");
  return LocalLibrary{std::move(folder), std::move(loaded), function};
}

inner::Status WriteHeader(const std::string& library_path, const CompiledModel& compiled) {
  const std::string_view path = library_path;
  const auto stem =
      path.substr(0, path.size() - (path.ends_with(kLibraryEnd) ? kLibraryEnd.size() : 0));
  return WriteFile(std::string(stem) + ".h", compiled.header);
}

inline namespace v1 {

Result<Kernel> Tuner::Compile(const Expression& expression, const CompileOptions& options) const {
  return ToPublic(CompileHere(*data_, expression, options));
}

Status Tuner::CompileLibrary(const Expression& expression, const std::string& path,
                             const CompileOptions& options) const {
  auto compiled = CompileInto(*data_, expression, options, path);
  if (!compiled.ok()) return ToPublic(compiled.status());
  return ToPublic(WriteHeader(path, *compiled));
}

Kernel::Function Kernel::function() const { return data_->library.function; }

Status Kernel::Run(const std::vector<const void*>& inputs, void* result) const {
  const auto wanted = static_cast<std::size_t>(data_->library.loaded.model().input_count);
  if (inputs.size() != wanted) {
    return ToPublic(InvalidArgument(std::to_string(inputs.size()) + " inputs, expected " +
                                    std::to_string(wanted)));
  }
  std::vector<const void*> given = inputs;
  given.push_back(nullptr);  // so that data() is not null if it is empty
  void* outputs[] = {result};
  return ToPublic(
      ModelStatus(data_->library.loaded, data_->library.function(given.data(), outputs)));
}

const std::string& Kernel::template_key() const { return data_->report.template_key; }
const std::string& Kernel::config() const { return data_->report.config; }
bool Kernel::tuned() const {
  return data_->report.tuned || data_->report.answer == records::AnswerLevel::kModel;
}
const std::string& Kernel::explanation() const { return data_->report.explanation; }

}  // namespace v1
}  // namespace tilewright::tuner
