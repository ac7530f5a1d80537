// Target and templates of a tuner, and the spaces of expressions.

#include <algorithm>
#include <utility>

#include "records/validation/schedules.h"
#include "src/base/files/file.h"
#include "src/schedule/lower/lower.h"
#include "src/session/target.h"
#include "src/session/tasks.h"
#include "src/target/device.h"
#include "src/templates/limits.h"
#include "src/templates/text/text_template.h"
#include "src/tuner/data.h"
#include "src/tuner/worker.h"

namespace tilewright::tuner {
namespace {

namespace inner = ::tilewright;

/// Errors: those of ParseTarget; kUnsupported for a target without machine code.
inner::Result<Target> ReadTarget(const std::string& text, int threads) {
  TW_ASSIGN_OR_RETURN(auto target, session::ParseTarget(text, threads));
  if (DeviceTraitsOf(target).machine_code) return target;
  return Unsupported("target: '" + target.kind_name() + "', expected llvm");
}

inner::Result<Space> MakeSpace(const Tuner::Data& tuner, const Workload& workload,
                               std::string_view template_key) {
  auto data = std::make_shared<Space::Data>();
  data->templates = tuner.templates;
  data->task = {workload, tuner.target};
  const auto serving = tuner.templates->For(workload, tuner.target);
  if (template_key.empty()) {
    if (serving.empty()) return Unsupported("no template serves " + workload.Key());
    data->entry = serving.front();
  } else {
    data->entry = tuner.templates->Find(template_key);
    if (data->entry == nullptr) {
      std::string known;
      for (const TemplateEntry* entry : serving) known += " " + std::string(entry->key);
      return NotFound("no template '" + std::string(template_key) + "', expected one of:" + known);
    }
    if (std::string why = data->entry->refuses(workload, tuner.target); !why.empty()) {
      return Unsupported(std::string(template_key) + " does not serve " + workload.Key() + ": " +
                         why);
    }
  }
  data->key = data->entry->key;
  TW_ASSIGN_OR_RETURN(data->space, data->entry->define_space(workload, tuner.target));
  for (const inner::Knob& knob : data->space.knobs()) {
    Knob outer{knob.name(), {}};
    for (std::int64_t i = 0; i < knob.size(); ++i) outer.values.push_back(knob[i].ToString());
    data->knobs.push_back(std::move(outer));
  }
  return Space(std::move(data));
}

Config ConfigOf(const Space::Data& data, inner::Config config) {
  return MakeConfig({data.task, {}, data.key, data.entry->version, std::move(config)},
                    data.templates);
}

/// Returns the kernel of a config of this space. Errors: kInvalidArgument for other configs.
inner::Result<inner::Kernel> KernelOf(const Space::Data& data, const Config& config) {
  const Candidate& candidate = config.data().candidate;
  if (candidate.template_key != data.key || candidate.task != data.task) {
    return InvalidArgument("a config of " + candidate.template_key + " for " +
                           candidate.task.workload.Key() + ", expected one of this space");
  }
  return ApplyTemplate(*data.entry, data.task.workload, {}, data.task.target, candidate.config);
}

}  // namespace

Config MakeConfig(Candidate candidate, std::shared_ptr<const TemplateRegistry> templates) {
  std::string json = candidate.config.ToString();
  return Config(std::make_shared<Config::Data>(
      Config::Data{std::move(candidate), std::move(json), std::move(templates)}));
}

inner::Result<OpenedRecords> OpenRecords(const Tuner::Data& tuner, const std::string& path) {
  OpenedRecords opened{records::Catalog(), tuner.templates};
  if (path.empty()) return opened;
  TW_ASSIGN_OR_RETURN(auto store, records::Store::Open(path, records::Store::Mode::kReadOnly));
  TW_ASSIGN_OR_RETURN(const auto texts, records::ScheduleTextsOf(store));
  if (!texts.empty()) {
    auto all = std::make_shared<TemplateRegistry>(*tuner.templates);
    // As in a catalog: skip a text that differs from the known one of its name.
    records::ForEachSchedule(texts, path, [&](inner::ScheduleText schedule) {
      return AddScheduleText(*all, std::move(schedule));
    });
    opened.templates = std::move(all);
  }
  opened.catalog.AddStore(std::move(store));
  return opened;
}

inline namespace v1 {

Tuner::Tuner(std::unique_ptr<Data> data) : data_(std::move(data)) {}
Tuner::Tuner(Tuner&&) noexcept = default;
Tuner& Tuner::operator=(Tuner&&) noexcept = default;
Tuner::~Tuner() = default;

Result<Tuner> Tuner::Create(const TunerOptions& options) {
  auto target = ReadTarget(options.target, options.threads);
  if (!target.ok()) return ToPublic(target.status());
  auto data = std::make_unique<Data>();
  data->target = *std::move(target);
  data->target_text = data->target.ToString();
  data->worker = options.worker.empty() ? InstalledWorker() : options.worker;
  return Tuner(std::move(data));
}

const std::string& Tuner::target() const { return data_->target_text; }

Result<std::string> Tuner::AddSchedule(std::string_view text, std::string_view name) {
  auto parsed = ParseScheduleText(text, name);
  if (!parsed.ok()) return ToPublic(parsed.status());
  std::string key = parsed->key;
  if (data_->templates->Find(key) != nullptr) return key;
  std::string canonical = parsed->text;
  auto all = std::make_shared<TemplateRegistry>(*data_->templates);
  const auto added = AddScheduleText(*all, *std::move(parsed));
  if (!added.ok()) return ToPublic(added);
  data_->templates = std::move(all);
  data_->texts.push_back(std::move(canonical));
  return key;
}

Result<std::string> Tuner::AddScheduleFile(const std::string& path) {
  auto text = ReadFile(path, static_cast<std::int64_t>(kMaxScheduleBytes) + 1);
  if (!text.ok()) return ToPublic(text.status());
  return AddSchedule(*text, path);
}

std::vector<std::string> Tuner::Templates(const Expression& expression) const {
  std::vector<std::string> keys;
  for (const TemplateEntry* entry :
       data_->templates->For(expression.data().workload, data_->target)) {
    keys.emplace_back(entry->key);
  }
  return keys;
}

Result<Space> Tuner::SpaceOf(const Expression& expression, std::string_view template_key) const {
  return ToPublic(MakeSpace(*data_, expression.data().workload, template_key));
}

const std::string& Space::template_key() const { return data_->key; }
int Space::template_version() const { return data_->entry->version; }
std::int64_t Space::size() const { return data_->space.size(); }
const std::vector<Knob>& Space::knobs() const { return data_->knobs; }

Result<Config> Space::At(std::int64_t index) const {
  if (index < 0 || index >= size()) {
    return ToPublic(InvalidArgument("config " + std::to_string(index) + ", expected 0 to " +
                                    std::to_string(size() - 1)));
  }
  return ConfigOf(*data_, data_->space.At(index));
}

Result<Config> Space::Default() const {
  auto config = data_->entry->default_config(data_->task.workload, data_->task.target);
  if (!config.ok()) return ToPublic(config.status());
  return ConfigOf(*data_, *std::move(config));
}

Result<Config> Space::Locate(std::string_view json) const {
  auto values = session::ParseConfig(std::string(json));
  if (!values.ok()) return ToPublic(values.status());
  auto located = data_->space.Locate(*values);
  if (!located.ok()) return ToPublic(located.status());
  return ConfigOf(*data_, *std::move(located));
}

Status Space::Check(const Config& config) const {
  auto kernel = KernelOf(*data_, config);
  if (!kernel.ok()) return ToPublic(kernel.status());
  return ToPublic(Lower(kernel->schedule, "kernel", LowerLimitsFor(data_->task.target)).status());
}

Result<std::string> Space::ScheduleText(const Config& config, std::string_view name) const {
  auto kernel = KernelOf(*data_, config);
  if (!kernel.ok()) return ToPublic(kernel.status());
  return ToPublic(TextOfKernel(*kernel, data_->task.workload, {}, data_->task.target, name));
}

}  // namespace v1
}  // namespace tilewright::tuner
