#include "search/space.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "search/point_set.h"
#include "search/tuner.h"
#include "src/base/status.h"
#include "src/target/library.h"

namespace tilewright::search {
namespace {

// Probability that a neighbour is a random point: chains must be able to change the template.
constexpr double kJump = 0.05;
// Spaces of more than a million configs are sampled as often as one of a million; otherwise the
// smaller spaces would hardly be sampled.
constexpr double kMaxWeight = 1000;

double WeightOf(const ConfigSpace& space) {
  return std::min(kMaxWeight, std::sqrt(static_cast<double>(space.size())));
}

std::size_t At(int i) { return static_cast<std::size_t>(i); }

}  // namespace

std::int64_t SearchSpace::size() const {
  std::int64_t sum = 0;
  for (const ConfigSpace& space : spaces) {
    sum += std::min(space.size(), std::numeric_limits<std::int64_t>::max() - sum);
  }
  return sum;
}

Result<SearchSpace> MakeSearchSpace(const TemplateRegistry& templates, const Task& task,
                                    const Epilogue& epilogue) {
  SearchSpace result;
  result.task = {task.workload, WithoutLibraries(task.target)};  // as in records
  result.epilogue = epilogue;
  for (const TemplateEntry* entry : templates.For(task.workload, task.target)) {
    const KernelLibrary* library = LibraryOfTemplate(entry->key);
    if (library != nullptr && !UnusableLibraryReason(*library, task.target).empty()) continue;
    Result<ConfigSpace> space = entry->define_space(task.workload, task.target);
    if (!space.ok()) return space.status().WithContext(entry->key);
    result.templates.push_back(entry);
    result.spaces.push_back(std::move(*space));
  }
  if (result.templates.empty()) {
    return Unsupported("no template serves " + task.workload.Key() + " on " +
                       task.target.ToString());
  }
  return result;
}

Candidate ToCandidate(const SearchSpace& space, Point point) {
  const TemplateEntry& entry = *space.templates[At(point.space)];
  Candidate candidate;
  candidate.task = space.task;
  candidate.epilogue = space.epilogue;
  candidate.template_key = entry.key;
  candidate.template_version = entry.version;
  candidate.config = space.spaces[At(point.space)].At(point.index);
  return candidate;
}

Result<Point> Locate(const SearchSpace& space, const Candidate& candidate) {
  for (std::size_t i = 0; i < space.templates.size(); ++i) {
    if (space.templates[i]->key != candidate.template_key) continue;
    if (space.templates[i]->version != candidate.template_version) {
      return NotFound("template " + candidate.template_key + " version " +
                      std::to_string(candidate.template_version) + ", expected " +
                      std::to_string(space.templates[i]->version));
    }
    TW_ASSIGN_OR_RETURN(Config config, space.spaces[i].Locate(candidate.config));
    return Point{static_cast<int>(i), config.index};
  }
  return NotFound("template " + candidate.template_key + " is not searched");
}

std::vector<Point> DefaultPoints(const SearchSpace& space) {
  if (space.defaults) return *space.defaults;
  std::vector<Point> points;
  for (std::size_t i = 0; i < space.templates.size(); ++i) {
    if (LibraryOfTemplate(space.templates[i]->key) != nullptr) {
      // They are few, so all are included.
      for (std::int64_t k = 0; k < space.spaces[i].size(); ++k) {
        points.push_back({static_cast<int>(i), k});
      }
      continue;
    }
    const auto config = space.templates[i]->default_config(space.task.workload, space.task.target);
    if (!config.ok()) continue;
    const auto located = space.spaces[i].Locate(*config);
    if (located.ok()) points.push_back({static_cast<int>(i), located->index});
  }
  return points;
}

Point SamplePoint(const SearchSpace& space, Random& random) {
  if (space.legal != nullptr) return space.legal->Sample(random);
  double total = 0;
  for (const ConfigSpace& one : space.spaces) total += WeightOf(one);
  double left = random.Uniform() * total;
  std::size_t chosen = 0;
  for (; chosen + 1 < space.spaces.size(); ++chosen) {
    left -= WeightOf(space.spaces[chosen]);
    if (left < 0) break;
  }
  const auto size = static_cast<std::uint64_t>(space.spaces[chosen].size());
  return {static_cast<int>(chosen), static_cast<std::int64_t>(random.Below(size))};
}

Point MutatePoint(const SearchSpace& space, Point point, Random& random) {
  if (space.legal != nullptr) return space.legal->Mutate(point, random);
  const ConfigSpace& one = space.spaces[At(point.space)];
  const auto is_free = [](const Knob& knob) { return knob.size() > 1; };
  const auto free = static_cast<std::uint64_t>(std::ranges::count_if(one.knobs(), is_free));
  if (free == 0 || (space.spaces.size() > 1 && random.Uniform() < kJump)) {
    return SamplePoint(space, random);
  }
  std::uint64_t chosen = random.Below(free);
  std::int64_t place = 1;  // weight of the knob's digit in the index
  std::size_t k = 0;
  for (; !is_free(one.knobs()[k]) || chosen-- > 0; ++k) place *= one.knobs()[k].size();
  const std::int64_t size = one.knobs()[k].size();
  const std::int64_t digit = point.index / place % size;
  std::int64_t other = digit;
  if (random.Below(2) == 0) {
    const bool up = digit == 0 || (digit + 1 < size && random.Below(2) == 0);
    other += up ? 1 : -1;
  } else {
    other = static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(size - 1)));
    if (other >= digit) ++other;
  }
  return {point.space, point.index + (other - digit) * place};
}

Point CrossPoints(const SearchSpace& space, Point mother, Point father, Random& random) {
  if (mother.space != father.space) return mother;
  std::int64_t left_mother = mother.index, left_father = father.index, place = 1, index = 0;
  for (const Knob& knob : space.spaces[At(mother.space)].knobs()) {
    index += (random.Below(2) == 0 ? left_mother : left_father) % knob.size() * place;
    left_mother /= knob.size();
    left_father /= knob.size();
    place *= knob.size();
  }
  return {mother.space, index};
}

double Similarity(const SearchSpace& space, Point a, Point b) {
  if (a.space != b.space) return 0;
  const ConfigSpace& one = space.spaces[At(a.space)];
  double equal = 0, all = 0;
  std::int64_t left_a = a.index, left_b = b.index;
  for (const Knob& knob : one.knobs()) {
    if (knob.size() > 1) {
      all += 1;
      equal += left_a % knob.size() == left_b % knob.size() ? 1 : 0;
    }
    left_a /= knob.size();
    left_b /= knob.size();
  }
  return all == 0 ? 1 : equal / all;
}

Result<TemplateRegistry> RestrictTemplates(const TemplateRegistry& templates,
                                           std::span<const std::string> keys,
                                           std::vector<TuneTask>& tasks) {
  if (keys.empty()) return templates;
  // In the tasks' order of preference.
  std::vector<const TemplateEntry*> serving;
  std::vector<bool> served;
  for (const TuneTask& task : tasks) {
    bool wanted = false;
    for (const TemplateEntry* entry : templates.For(task.task.workload, task.task.target)) {
      if (std::ranges::count(serving, entry) == 0) serving.push_back(entry);
      wanted = wanted || std::ranges::count(keys, entry->key) > 0;
    }
    served.push_back(wanted);
  }
  for (const std::string& key : keys) {
    if (std::ranges::count(serving, key, &TemplateEntry::key) > 0) continue;
    std::string known;
    for (const TemplateEntry* one : serving) known += " " + std::string(one->key);
    return InvalidArgument((templates.Find(key) == nullptr
                                ? "no template '" + key + "'"
                                : "template " + key + " serves none of the tasks") +
                           ", expected some of:" + known);
  }
  TemplateRegistry only;
  for (const TemplateEntry* entry : serving) {
    if (std::ranges::count(keys, entry->key) == 0) continue;
    TW_RETURN_IF_ERROR(only.Add(*entry));
    if (const std::string* text = templates.TextOf(entry->key)) {
      only.Keep(entry->key, std::make_shared<const std::string>(*text));
    }
  }
  std::size_t next = 0;
  std::erase_if(tasks, [&](const TuneTask&) { return !served[next++]; });
  return only;
}

}  // namespace tilewright::search
