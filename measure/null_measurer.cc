#include "measure/null_measurer.h"

#include <utility>

#include "src/target/device.h"

namespace tilewright::measure {

NullMeasurer::NullMeasurer(const TemplateRegistry& templates, Clock& clock, double seconds)
    : templates_(templates),
      clock_(clock),
      seconds_(seconds),
      start_seconds_(clock.MonotonicSeconds()) {
  device_.kind = "null";
  device_.model = "no device";
}

Trial NullMeasurer::Measure(const Candidate& candidate, std::int64_t attempt) const {
  Trial trial;
  trial.candidate = candidate;
  trial.attempt = attempt;
  trial.device = device_;
  trial.codegen_version = DeviceTraitsOf(candidate.task.target).codegen_version;
  trial.finished_unix_seconds = clock_.UnixSeconds();
  if (templates_.Find(candidate.template_key) == nullptr) {
    trial.outcome = Outcome::kInvalid;
    trial.reason = "no template " + candidate.template_key;
    return trial;
  }
  trial.outcome = Outcome::kOk;
  trial.samples = {seconds_};
  trial.value = seconds_;
  return trial;
}

Status NullMeasurer::Submit(Request request) {
  finished_.push_back({request.ticket, Measure(request.candidate, request.attempt)});
  return {};
}

Result<std::optional<Reply>> NullMeasurer::Next(double /*timeout_seconds*/) {
  if (finished_.empty()) return std::optional<Reply>();
  std::optional<Reply> reply(std::move(finished_.front()));
  finished_.pop_front();
  return reply;
}

TimeSplit NullMeasurer::time_split() const {
  TimeSplit split;
  split.wall_seconds = clock_.MonotonicSeconds() - start_seconds_;
  split.idle_seconds = split.wall_seconds;
  return split;
}

Result<std::vector<Trial>> NullMeasurer::Race(const std::vector<Candidate>& finalists,
                                              const RaceSettings& /*terms*/) {
  std::vector<Trial> trials;
  for (const Candidate& finalist : finalists) trials.push_back(Measure(finalist, 0));
  return trials;
}

}  // namespace tilewright::measure
