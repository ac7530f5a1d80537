#include "records/validation/identity.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "records/row.h"
#include "records/validation/digest.h"
#include "src/base/hash.h"

namespace tilewright::records {
namespace {

constexpr std::size_t kIdDigits = 32;

/// Hash of length-delimited fields.
class HashedFields {
 public:
  void Add(std::string_view text) {
    Add(static_cast<std::int64_t>(text.size()));
    bytes_ += text;
  }
  void Add(std::int64_t number) {
    const auto bits = static_cast<std::uint64_t>(number);
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(bits >> (8 * i) & 0xff);
  }
  void Add(double number) { Add(std::bit_cast<std::int64_t>(number)); }
  std::string Hex() const { return Sha256Hex(bytes_).substr(0, kIdDigits); }

 private:
  std::string bytes_ = "tilewright trial 2\n";
};

}  // namespace

TrialTexts TextsOf(const Trial& trial) {
  const Candidate& c = trial.candidate;
  return {c.task.workload.Key(),         c.task.workload.op_name(), c.task.target.ToString(),
          trial.device.ToString(),       c.epilogue.ToString(),     c.config.ToString(),
          ExtraMetricsJson(trial.others)};
}

double StoredNumber(double number) { return std::isnan(number) ? 0.0 : number + 0.0; }

double StoredError(double error) {
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error + 0.0;
}

std::string TrialId(std::string_view store_id, std::string_view job_name, const Trial& trial,
                    const TrialTexts& texts) {
  HashedFields fields;
  for (const std::string_view text :
       {store_id, std::string_view(texts.device), job_name, std::string_view(texts.workload),
        std::string_view(texts.target), std::string_view(texts.epilogue),
        std::string_view(trial.candidate.template_key), std::string_view(texts.config),
        std::string_view(trial.reason), std::string_view(trial.metric),
        std::string_view(texts.others)}) {
    fields.Add(text);
  }
  for (const std::int64_t number :
       {std::int64_t{trial.candidate.template_version}, std::int64_t{trial.codegen_version},
        trial.attempt, static_cast<std::int64_t>(trial.outcome),
        static_cast<std::int64_t>(trial.verified), static_cast<std::int64_t>(trial.samples.size()),
        static_cast<std::int64_t>(trial.predicted.has_value())}) {
    fields.Add(number);
  }
  for (const double number :
       {trial.value, trial.noise, trial.build_seconds, trial.run_seconds,
        trial.finished_unix_seconds, trial.clean_fraction, trial.predicted.value_or(0)}) {
    fields.Add(StoredNumber(number));
  }
  fields.Add(StoredError(trial.max_abs_error));
  for (const double sample : trial.samples) fields.Add(sample);
  return fields.Hex();
}

std::string TrialId(std::string_view store_id, std::string_view job_name, const Trial& trial) {
  return TrialId(store_id, job_name, trial, TextsOf(trial));
}

std::string LegacyTrialId(std::string_view store_id, std::string_view job_name,
                          const Trial& trial) {
  const TrialTexts texts = TextsOf(trial);
  std::string text;
  for (const std::string_view part :
       {store_id, std::string_view(texts.device), job_name, std::string_view(texts.workload),
        std::string_view(texts.target), std::string_view(texts.epilogue),
        std::string_view(trial.candidate.template_key)}) {
    text += part;
    text += '\n';
  }
  text += std::to_string(trial.candidate.template_version) + "\n";
  text += std::to_string(trial.codegen_version) + "\n" + texts.config + "\n";
  text += std::to_string(trial.attempt) + "\n";
  const std::uint64_t low = Fnv1a64(text);
  return HexOf(Mix64(low)) + HexOf(Mix64(Fnv1a64(text, low ^ 0x9E3779B97F4A7C15ULL)));
}

bool IsIdOf(std::string_view id, std::string_view store_id, std::string_view job_name,
            const Trial& trial) {
  return id == TrialId(store_id, job_name, trial) || id == LegacyTrialId(store_id, job_name, trial);
}

}  // namespace tilewright::records
