#pragma once

#include <span>
#include <string>
#include <vector>

#include "search/strategy.h"
#include "src/base/random.h"

namespace tilewright::search {

struct TuneTask;

/// The spaces of every template that serves the task, the preferred template first.
/// Errors: kUnsupported naming workload and target if no template serves it; the template's own if
/// a space can not be defined.
Result<SearchSpace> MakeSearchSpace(const TemplateRegistry& templates, const Task& task,
                                    const Epilogue& epilogue);

/// The point as a candidate to be measured. Requires that it lies in the space.
Candidate ToCandidate(const SearchSpace& space, Point point);
/// The point of a stored candidate of the same task.
/// Errors: kNotFound if its template or template version is not searched, or the space lacks a
/// value.
Result<Point> Locate(const SearchSpace& space, const Candidate& candidate);
/// The default config of each template, as far as its space holds it, in order of the templates; of
/// those that call a library all configs.
std::vector<Point> DefaultPoints(const SearchSpace& space);

/// A point at random: a space is chosen with a probability proportional to the square root of its
/// size, one of more than a million configs as one of a million, so that a small space next to a
/// large one is not forgotten; within it all are equal.
Point SamplePoint(const SearchSpace& space, Random& random);
/// A neighbour: one knob of the point has another value (half of the time the next one in the
/// knob's order). Now and then a random point, where nothing can change always so.
Point MutatePoint(const SearchSpace& space, Point point, Random& random);
/// Each knob's value from one of the two, as chance will; the mother where they are of different
/// spaces.
Point CrossPoints(const SearchSpace& space, Point mother, Point father, Random& random);
/// Share of the knobs that have equal values; 0 for points of different spaces.
double Similarity(const SearchSpace& space, Point a, Point b);

/// The registry with the templates of these keys alone, for a search that is limited to them; with
/// all where there are no keys. Tasks that none of them serves are taken out of `tasks`.
/// Errors: kInvalidArgument for a key that serves none of the tasks, naming those that do.
Result<TemplateRegistry> RestrictTemplates(const TemplateRegistry& templates,
                                           std::span<const std::string> keys,
                                           std::vector<TuneTask>& tasks);

}  // namespace tilewright::search
