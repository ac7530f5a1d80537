#pragma once

#include <span>
#include <string>
#include <vector>

#include "search/strategy.h"
#include "src/base/random.h"

namespace tilewright::search {

struct TuneTask;

/// Creates the spaces of every template that serves the task, the preferred template first. Errors:
/// kUnsupported naming workload and target if no template serves it; the template's own if it
/// cannot define a space.
Result<SearchSpace> MakeSearchSpace(const TemplateRegistry& templates, const Task& task,
                                    const Epilogue& epilogue);

/// Converts a point to a candidate. Requires that the space contains the point.
Candidate ToCandidate(const SearchSpace& space, Point point);
/// Returns the point of a stored candidate of the same task. Errors: kNotFound if the search does
/// not include its template or template version, or the space lacks a value.
Result<Point> Locate(const SearchSpace& space, const Candidate& candidate);
/// Returns the default config of each template, if its space contains it, in order of the
/// templates; all configs of templates that call a library.
std::vector<Point> DefaultPoints(const SearchSpace& space);

/// Returns a random point. A space is chosen with a probability proportional to the square root of
/// its size, limited to a million configs, so that small spaces next to large ones are sampled too.
/// Within a space all configs are equally likely.
Point SamplePoint(const SearchSpace& space, Random& random);
/// Returns a neighbour: one knob has another value (half of the time the next one in the knob's
/// order). Sometimes a random point instead; always if no knob can change.
Point MutatePoint(const SearchSpace& space, Point point, Random& random);
/// Takes each knob's value at random from one of the two points. Returns `mother` if the points are
/// in different spaces.
Point CrossPoints(const SearchSpace& space, Point mother, Point father, Random& random);
/// Returns the share of knobs with equal values; 0 for points of different spaces.
double Similarity(const SearchSpace& space, Point a, Point b);

/// Returns the registry with only the templates of these keys, to restrict a search; with all if
/// `keys` is empty. Removes tasks that none of them serves from `tasks`. Errors: kInvalidArgument
/// for a key that serves none of the tasks, naming keys that do.
Result<TemplateRegistry> RestrictTemplates(const TemplateRegistry& templates,
                                           std::span<const std::string> keys,
                                           std::vector<TuneTask>& tasks);

}  // namespace tilewright::search
