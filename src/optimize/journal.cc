#include "src/optimize/journal.h"

#include <utility>

#include "src/base/json.h"

namespace tilewright::optimize {
namespace {

/// Key of the fact that names the latest job of a network.
std::string LatestFact(std::string_view network) { return "latest/" + std::string(network); }

/// Returns the part of a job's name that is NetworkKeyOf.
std::string_view NetworkOfJob(std::string_view job) { return job.substr(0, job.rfind('-') + 1); }

}  // namespace

Result<Journal> Journal::Open(const std::string& store_path, const std::string& job,
                              const std::string& settings) {
  TW_ASSIGN_OR_RETURN(auto store,
                      records::Store::Open(store_path, records::Store::Mode::kReadWrite));
  TW_ASSIGN_OR_RETURN(const records::Job opened, store.OpenJob(job, settings, 0));
  TW_ASSIGN_OR_RETURN(const auto entries, store.LogOfKind(opened.id, kStepKind));
  Journal journal;
  journal.job_ = opened.id;
  journal.name_ = job;
  for (const records::LogEntry& entry : entries) {
    const auto json = ParseJson(entry.payload);
    if (!json.ok() || !json->is_object()) {
      return Corrupt(store_path + ": job " + job + ": step " + entry.task_key +
                     " is no JSON object");
    }
    journal.steps_.insert_or_assign(entry.task_key, entry.payload);
  }
  journal.found_ = journal.steps_.size();
  journal.store_ = std::move(store);
  return journal;
}

const std::string* Journal::Find(std::string_view step) const {
  const auto found = steps_.find(step);
  return found == steps_.end() ? nullptr : &found->second;
}

Status Journal::Put(const std::string& step, const Json& result) {
  std::string payload = DumpJson(result);
  if (const std::string* stored = Find(step); stored != nullptr && *stored == payload) return {};
  if (store_) TW_RETURN_IF_ERROR(store_->Append(job_, {}, {{step, kStepKind, payload}}));
  steps_.insert_or_assign(step, std::move(payload));
  return {};
}

Status Journal::Finish() {
  if (!store_) return {};
  TW_RETURN_IF_ERROR(store_->FinishJob(job_));
  return store_->SetFact(LatestFact(NetworkOfJob(name_)), name_);
}

Result<std::string> LatestJobOf(const records::Store& store, std::string_view network) {
  TW_ASSIGN_OR_RETURN(const auto job, store.Fact(LatestFact(network)));
  return job.value_or("");
}

}  // namespace tilewright::optimize
