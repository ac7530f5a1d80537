#include "records/autotvm/space.h"

#include <algorithm>
#include <array>
#include <limits>

namespace tilewright::records {
namespace {

/// Search for the index of a line's values in a space.
class Locator {
 public:
  Locator(const AutotvmSpace& space, const LogLine& line) : space_(space), line_(line) {}

  /// Returns -1 if the space lacks a value; note() names it.
  std::int64_t Index() {
    if (line_.entities.size() != space_.knobs.size()) {
      note_ = std::to_string(line_.entities.size()) + " knobs, expected " +
              std::to_string(space_.knobs.size());
      return -1;
    }
    const bool line_order = !InOrder() && space_.order == AutotvmSpace::Order::kLine;
    std::int64_t index = 0, stride = 1;
    for (std::size_t i = 0; i < space_.knobs.size(); ++i) {
      // The i-th digit belongs to the i-th knob of the space, or of the line.
      const LogEntity* entity = line_order ? &line_.entities[i] : EntityOf(i);
      const AutotvmKnob* knob = line_order ? space_.Find(entity->name) : &space_.knobs[i];
      if (entity == nullptr || knob == nullptr) {
        note_ = "knob " + (entity == nullptr ? space_.knobs[i].name() : std::string(entity->name)) +
                " not in " + (entity == nullptr ? "record" : "space");
        return -1;
      }
      const std::int64_t position = knob->Find(line_, *entity);
      if (position < 0) {
        std::string value = KnobValueOf(line_, *entity).ToString();
        note_ = std::string(entity->name) + "=" + value + " not in space";
        return -1;
      }
      index += stride * position;
      stride *= knob->size();
    }
    return index;
  }

  bool InOrder() const {
    for (std::size_t i = 0; i < space_.knobs.size(); ++i) {
      if (space_.knobs[i].name() != line_.entities[i].name) return false;
    }
    return true;
  }

  /// Returns false if a recorded first factor does not multiply to its axis. Knobs are matched by
  /// name, as AutoTVM applies configs.
  bool ProductsFit() const {
    for (const LogEntity& entity : line_.entities) {
      const AutotvmKnob* knob = space_.Find(entity.name);
      if (knob == nullptr || knob->extent() == 0 || entity.kind != KnobKind::kSplit) continue;
      const auto factors = line_.Ints(entity);
      if (factors[0] < 0) continue;
      std::int64_t product = 1;
      for (std::int64_t factor : factors) {
        if (factor < 0 || __builtin_mul_overflow(product, factor, &product)) return false;
      }
      if (product != knob->extent()) return false;
    }
    return true;
  }

  /// Returns false if a condition on whole configs does not hold.
  bool PassesFilters() const {
    for (const AutotvmFilter& filter : space_.filters) {
      std::int64_t product = 1;
      for (const LogEntity& entity : line_.entities) {
        if (std::ranges::count(filter.knobs, entity.name) == 0) continue;
        if (entity.count <= filter.factor) return false;
        const std::int64_t factor = line_.Ints(entity)[filter.factor];
        if (factor < 1 || __builtin_mul_overflow(product, factor, &product)) return false;
      }
      if (product < filter.low || product > filter.high) return false;
    }
    return true;
  }

  /// Returns true if the line has one of the two swapped names and the space the other.
  bool SwappedAt(std::size_t i) const {
    const auto is_one = [](std::string_view name) {
      return name == "tile_ry" || name == "tile_rx";
    };
    const std::string_view written = line_.entities[i].name;
    return space_.order == AutotvmSpace::Order::kByPosition && is_one(written) &&
           is_one(space_.knobs[i].name()) && written != space_.knobs[i].name();
  }
  bool Swapped() const {
    for (std::size_t i = 0; i < std::min(space_.knobs.size(), line_.entities.size()); ++i) {
      if (SwappedAt(i)) return true;
    }
    return false;
  }

  const std::string& note() const { return note_; }

 private:
  /// Returns the line's value for knob i of the space.
  const LogEntity* EntityOf(std::size_t i) const {
    const bool same_place = line_.entities[i].name == space_.knobs[i].name();
    if (same_place || SwappedAt(i)) return &line_.entities[i];
    const auto found = std::ranges::find(line_.entities, space_.knobs[i].name(), &LogEntity::name);
    return found == line_.entities.end() ? nullptr : &*found;
  }

  const AutotvmSpace& space_;
  const LogLine& line_;
  std::string note_;
};

}  // namespace

const AutotvmKnob* AutotvmSpace::Find(std::string_view name) const {
  const auto found = std::ranges::find(knobs, name, &AutotvmKnob::name);
  return found == knobs.end() ? nullptr : &*found;
}

Result<std::int64_t> AutotvmSpace::size() const {
  std::int64_t size = 1;
  for (const AutotvmKnob& knob : knobs) {
    if (size > std::numeric_limits<std::int64_t>::max() / knob.size()) {
      return InvalidArgument("AutoTVM space: more than 2^63 configs with knob " + knob.name());
    }
    size *= knob.size();
  }
  return size;
}

std::string_view AutotvmAgreementName(AutotvmAgreement agreement) {
  constexpr std::array<std::string_view, 5> kNames = {"unknown", "exact", "exact_legacy", "edited",
                                                      "outside"};
  return kNames[static_cast<std::size_t>(agreement)];
}

const AutotvmSpace* AutotvmTaskSpaces::Space(AutotvmEdition edition) {
  auto& slot = spaces_[static_cast<std::size_t>(edition)];
  if (!slot.has_value()) {
    slot.emplace(DefineAutotvmSpace(task_, args_, target_, edition));
    if (slot->ok()) {
      if (auto size = (*slot)->size(); !size.ok()) slot.emplace(size.status());
    }
  }
  return slot->ok() ? &**slot : nullptr;
}

std::int64_t AutotvmTaskSpaces::IndexOf(const LogLine& line, AutotvmEdition edition) {
  const AutotvmSpace* space = Space(edition);
  return space == nullptr ? -1 : Locator(*space, line).Index();
}

AutotvmCheck AutotvmTaskSpaces::Check(const LogLine& line) {
  AutotvmCheck check;
  const AutotvmSpace* space = Space(AutotvmEdition::kPackages);
  if (space == nullptr) {
    check.note = spaces_[0]->status().message();
    return check;
  }
  Locator current(*space, line);
  check.index = current.Index();
  check.note = current.note();
  check.agreement = check.index < 0             ? AutotvmAgreement::kOutside
                    : check.index == line.index ? AutotvmAgreement::kExact
                                                : AutotvmAgreement::kEdited;
  check.products_fit = current.ProductsFit();
  check.filtered = !current.PassesFilters();
  check.renamed = current.Swapped();
  if (check.agreement == AutotvmAgreement::kExact) return check;
  for (const AutotvmEdition edition : {AutotvmEdition::kOldUnroll, AutotvmEdition::kVerbose}) {
    const AutotvmSpace* other = Space(edition);
    if (other == nullptr) continue;
    Locator older(*other, line);
    const std::int64_t index = older.Index();
    const bool agrees = index >= 0 && index == line.index;
    if (!agrees && (index < 0 || check.index >= 0)) continue;
    check.index = index;
    check.edition = edition;
    check.note.clear();
    const bool older_edition = edition == AutotvmEdition::kOldUnroll;
    check.agreement = !agrees         ? AutotvmAgreement::kEdited
                      : older_edition ? AutotvmAgreement::kExactLegacy
                                      : AutotvmAgreement::kExact;
    if (agrees) break;
  }
  return check;
}

}  // namespace tilewright::records
