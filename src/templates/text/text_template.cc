#include "src/templates/text/text_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "src/templates/text/apply.h"

namespace tilewright {
namespace text_template_text {
namespace {

// Configs that are tried for one whose conditions hold, if those of the default one do not.
constexpr std::int64_t kMaxTried = 4096;

/// Evaluator of the statements before the first primitive.
class SpaceReader final : public ScheduleEvaluator {
 public:
  using ScheduleEvaluator::ScheduleEvaluator;

  /// Empty, or why the text does not serve the workload.
  std::string Refusal() {
    Follow(text_.statements, false);
    return ok() ? refusal_ : status().message();
  }
  Result<ConfigSpace> Space() {
    Follow(text_.statements, true);
    TW_RETURN_IF_ERROR(status());
    return std::move(space_);
  }
  /// Position of each knob's default value.
  const std::vector<std::int64_t>& defaults() const { return defaults_; }

 private:
  void Follow(const std::vector<ScheduleStatement>& statements, bool knobs) {
    using Kind = ScheduleStatement::Kind;
    for (const ScheduleStatement& statement : statements) {
      if (!ok() || !refusal_.empty() || statement.of_schedule) return;
      if (statement.kind == Kind::kWhere) {
        if (Integer(statement.value) != 0 || !ok()) continue;
        refusal_ = AtOffset(
            text_, statement.offset,
            statement.second.empty() ? "the workload does not fit" : statement.second[0].text);
      } else if (statement.kind == Kind::kKnob) {
        if (knobs) AddKnob(statement);
      } else if (statement.of_config || statement.kind == Kind::kRequire) {
        continue;
      } else if (statement.kind == Kind::kIf) {
        Follow(Integer(statement.value) != 0 ? statement.inner : statement.otherwise, knobs);
      } else {
        Set(statement.names[0], Value(statement.value));
      }
    }
  }

  Result<Knob> MakeKnob(const ScheduleStatement& statement) {
    const ScheduleValue& value = statement.value;
    if (value.kind == ScheduleValue::Kind::kCall && value.text == "splits") {
      constexpr std::int64_t kMaxExtent = 1 << 16, kMaxParts = 3;
      const std::int64_t extent = Integer(value.args[0]), parts = Integer(value.args[1]);
      if (!ok()) return status();
      if (extent < 1 || extent > kMaxExtent || parts < 1 || parts > kMaxParts) {
        return InvalidArgument(fmt::format("splits of {} in {}, expected up to {} in up to {}",
                                           extent, parts, kMaxExtent, kMaxParts));
      }
      return Knob::Split(statement.names[0], extent, static_cast<int>(parts));
    }
    std::vector<std::int64_t> values = List(value);
    if (!ok()) return status();
    std::vector<std::int64_t> sorted = values;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) {
      return InvalidArgument("a value stands there twice");
    }
    return Knob::Other(statement.names[0], std::move(values));
  }

  void AddKnob(const ScheduleStatement& statement) {
    auto knob = MakeKnob(statement);
    if (!ok()) return;
    if (!knob.ok()) return Fail(statement.value.offset, knob.status().message());
    if (knob->size() > kMaxKnobValues || knob->size() == 0) {
      return Fail(statement.value.offset,
                  fmt::format("{} values, expected 1 to {}", knob->size(), kMaxKnobValues));
    }
    defaults_.push_back(statement.second.empty() ? 0 : DefaultOf(*knob, statement.second[0]));
    if (const Status added = space_.Add(*std::move(knob)); !added.ok()) {
      Fail(statement.offset, added.message());
    }
  }

  /// Returns the position of the largest value (of factors: the largest last one) that is at most
  /// the requested one.
  std::int64_t DefaultOf(const Knob& knob, const ScheduleValue& asked) {
    const std::int64_t wanted = Integer(asked);
    std::int64_t best = 0, best_value = -1;
    for (std::int64_t i = 0; i < knob.size(); ++i) {
      const auto* factors = std::get_if<std::vector<std::int64_t>>(&knob[i].value);
      const std::int64_t value = factors != nullptr ? factors->back() : knob[i].integer();
      if (value > wanted || value <= best_value) continue;
      best = i;
      best_value = value;
    }
    return best;
  }

  std::string refusal_;
  ConfigSpace space_;
  std::vector<std::int64_t> defaults_;
};

const ScheduleText& TextOf(const void* object) { return *static_cast<const ScheduleText*>(object); }

std::string TextRefuses(const void* object, const Workload& workload, const Target& target) {
  const ScheduleText& text = TextOf(object);
  if (std::ranges::count(text.operators, workload.op_name()) == 0) {
    return fmt::format("only {}", fmt::join(text.operators, ", "));
  }
  return SpaceReader(text, workload, target).Refusal();
}

Result<ConfigSpace> TextSpace(const void* object, const Workload& workload, const Target& target) {
  return SpaceReader(TextOf(object), workload, target).Space();
}

Result<Config> TextDefault(const void* object, const Workload& workload, const Target& target) {
  const ScheduleText& text = TextOf(object);
  SpaceReader reader(text, workload, target);
  TW_ASSIGN_OR_RETURN(auto space, reader.Space());
  const Epilogue none;
  const auto holds = [&](const Config& config) {
    return ScheduleApplier(text, workload, none, target).Check(config);
  };
  Config standard = space.At(space.IndexOf(reader.defaults()));
  const Status first = holds(standard);
  if (first.ok()) return standard;
  for (std::int64_t i = 0; i < std::min(space.size(), kMaxTried); ++i) {
    Config config = space.At(i);
    if (holds(config).ok()) return config;
  }
  return first;
}

Result<Kernel> TextApply(const void* object, const Workload& workload, const Epilogue& epilogue,
                         const Target& target, const Config& config) {
  return ScheduleApplier(TextOf(object), workload, epilogue, target).Run(config);
}

}  // namespace
}  // namespace text_template_text

TemplateEntry EntryOfText(const ScheduleText& text) {
  using namespace text_template_text;
  TemplateEntry entry;
  entry.key = text.key;
  entry.version = kScheduleTextVersion;
  entry.device = text.device;
  entry.refuses = {&text, &TextRefuses};
  entry.define_space = {&text, &TextSpace};
  entry.default_config = {&text, &TextDefault};
  entry.apply = {&text, &TextApply};
  entry.only_reorders_sums = !text.winograd;
  return entry;
}

Status AddScheduleText(TemplateRegistry& templates, ScheduleText text) {
  using namespace text_template_text;
  if (const std::string* there = templates.TextOf(text.key)) {
    if (*there == text.text) return {};
    return InvalidArgument(text.file + ": another text of the same hash is there already");
  }
  const auto kept = std::make_shared<const ScheduleText>(std::move(text));
  TW_RETURN_IF_ERROR(templates.Add(EntryOfText(*kept)));
  templates.Keep(kept->key, std::shared_ptr<const std::string>(kept, &kept->text));
  return {};
}

Status AddWorkerSchedule(TemplateRegistry& templates, std::string_view text,
                         const std::string& name) {
  using namespace text_template_text;
  TW_ASSIGN_OR_RETURN(auto schedule, ParseScheduleText(text, name));
  ScheduleText former = schedule;
  former.key = LegacyScheduleKey(former);
  TW_RETURN_IF_ERROR(AddScheduleText(templates, std::move(schedule)));
  return AddScheduleText(templates, std::move(former));
}

}  // namespace tilewright
