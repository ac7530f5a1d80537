#include "src/capi/catalog.h"

#include <utility>
#include <vector>

#include "records/package/installed.h"
#include "search/zero_shot.h"
#include "src/templates/device.h"
#include "src/templates/open/open_template.h"

namespace tilewright::capi {

static_assert(TW_ACCEPT_HIT == records::LevelBit(records::AnswerLevel::kHit));
static_assert(TW_ACCEPT_NEAR == records::LevelBit(records::AnswerLevel::kNearMatch));
static_assert(TW_ACCEPT_MODEL == records::LevelBit(records::AnswerLevel::kModel));
static_assert(TW_ACCEPT_DEFAULT == records::LevelBit(records::AnswerLevel::kDefault));
static_assert(TW_KIND_MISS == static_cast<int>(records::AnswerLevel::kMiss));

namespace {

std::vector<records::RecordSource*> PointersTo(std::vector<Source::View>& views) {
  std::vector<records::RecordSource*> pointers;
  for (Source::View& view : views) pointers.push_back(&view);
  return pointers;
}

}  // namespace

Status Catalog::Add(std::unique_ptr<Source> source) {
  const std::lock_guard lock(add_mutex_);
  const std::size_t count = source_count();
  if (count == kMaxSources) {
    return InvalidArgument(source->path() + ": a catalog has at most " +
                           std::to_string(kMaxSources) + " stores and packages");
  }
  sources_[count] = std::move(source);
  count_.store(count + 1, std::memory_order_release);
  return {};
}

Result<std::size_t> Catalog::AddInstalled(const std::string& folder) {
  TW_ASSIGN_OR_RETURN(auto list, records::ListInstalled(folder));
  std::size_t added = 0;
  for (const records::InstalledPackage& package : list.packages) {
    auto source = Source::OpenInstalled(package);
    if (source.ok()) {
      TW_RETURN_IF_ERROR(Add(*std::move(source)));
      ++added;
    } else {
      list.problems.push_back(source.status().message());
    }
  }
  const std::lock_guard lock(problems_mutex_);
  for (std::string& problem : list.problems) problems_.push_back(std::move(problem));
  return added;
}

const char* Catalog::problem(std::size_t index) const {
  const std::lock_guard lock(problems_mutex_);
  return index < problems_.size() ? problems_[index].c_str() : nullptr;
}

Status Catalog::SetModel(const std::string& path) {
  TW_ASSIGN_OR_RETURN(auto model, search::LoadChooser(*templates_, path));
  const std::lock_guard lock(add_mutex_);
  if (has_model()) return InvalidArgument(path + ": the catalog has a model already");
  owned_model_ = std::move(model);
  model_.store(owned_model_.get(), std::memory_order_release);
  return {};
}

void Catalog::CloseConnections() {
  for (std::size_t i = 0; i < source_count(); ++i) sources_[i]->CloseConnections();
}

Status Catalog::Refresh() {
  Status first;
  for (std::size_t i = 0; i < source_count(); ++i) {
    Status status = sources_[i]->PollFile();
    if (first.ok()) first = std::move(status);
  }
  return first;
}

Result<std::uint64_t> Catalog::Generation() {
  // A poll takes about a microsecond per file, so one thread polls for all of them.
  const double now = clock_.MonotonicSeconds();
  double due = next_poll_.load(std::memory_order_relaxed);
  if (now >= due && next_poll_.compare_exchange_strong(due, now + kFilePollSeconds)) {
    TW_RETURN_IF_ERROR(Refresh());
  }
  // No part ever shrinks, so an equal sum means no change.
  const std::size_t count = source_count();
  std::uint64_t sum = count;
  for (std::size_t i = 0; i < count; ++i) {
    TW_ASSIGN_OR_RETURN(auto generation, sources_[i]->Generation());
    sum += generation;
  }
  return sum;
}

std::vector<Source::View> Catalog::CurrentViews() {
  std::vector<Source::View> views;
  const std::size_t count = source_count();
  for (std::size_t i = 0; i < count; ++i) views.push_back(sources_[i]->CurrentView());
  return views;
}

Result<records::TaskResults> Catalog::ResultsOf(const tw_target& target, const Workload& workload) {
  TW_ASSIGN_OR_RETURN(const auto generation, Generation());
  std::vector<Source::View> views = CurrentViews();
  const std::vector<records::RecordSource*> sources = PointersTo(views);
  records::LookupRequest wanted;
  wanted.templates = templates_.get();
  wanted.workload = &workload;
  wanted.target = &target.target;
  wanted.device = &target.device;
  TW_ASSIGN_OR_RETURN(const auto with_texts,
                      texts_.AddedTo(*templates_, sources, wanted, generation));
  const records::EachStore stores = [&](const auto& visit) -> Status {
    for (records::RecordSource* source : sources) {
      if (source->MayServe(wanted)) TW_RETURN_IF_ERROR(source->With(visit));
    }
    return {};
  };
  return records::TaskResults::Read(stores, with_texts.has_value() ? *with_texts : *templates_,
                                    workload, MetricOf(target.target));
}

Result<AnswerPtr> Catalog::QuerySources(const AnswerCache::LookupRequest& request,
                                        const tw_target& target, ParsedQuery asked,
                                        std::uint64_t generation) {
  std::vector<Source::View> views = CurrentViews();
  const std::vector<records::RecordSource*> sources = PointersTo(views);
  records::LookupRequest wanted;
  wanted.templates = templates_.get();
  wanted.workload = asked.workload.has_value() ? &*asked.workload : nullptr;
  wanted.target = &target.target;
  wanted.device = &target.device;
  wanted.accept = request.accept;
  if (request.rule == TW_RULE_AUTOTVM) {
    TW_ASSIGN_OR_RETURN(auto autotvm, records::AutotvmTarget::Parse(target.text));
    asked.autotvm = records::AutotvmLookup{std::move(autotvm), std::move(asked.task), {}};
    wanted.autotvm = &*asked.autotvm;
  }
  TW_ASSIGN_OR_RETURN(auto with_texts, texts_.AddedTo(*templates_, sources, wanted, generation));
  if (asked.open != nullptr) {
    if (!with_texts.has_value()) with_texts = *templates_;
    TW_RETURN_IF_ERROR(AddOpenTask(*with_texts, *asked.open));
    wanted.open = asked.open;
  }
  if (with_texts.has_value()) wanted.templates = &*with_texts;
  TW_ASSIGN_OR_RETURN(auto found, records::LookUpBest(sources, model_.load(), wanted));
  std::vector<std::int32_t> kinds;
  if (const Candidate* candidate = found.candidate()) kinds = knob_kinds_.Of(*candidate);
  AnswerPtr answer = MakeAnswer(std::move(found), std::move(asked), kinds, target);
  const Candidate* candidate = answer->reply.candidate();
  const bool is_text =
      candidate != nullptr && wanted.templates->TextOf(candidate->template_key) != nullptr;
  answer->templates =
      is_text ? std::make_shared<const TemplateRegistry>(*std::move(with_texts)) : templates_;
  cache_.Keep(request, generation, Share(answer));
  return answer;
}

}  // namespace tilewright::capi
