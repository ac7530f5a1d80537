// C functions of catalogs and queries.

#include <memory>
#include <string>

#include "records/autotvm/tuple.h"
#include "src/base/files/file.h"
#include "src/capi/boundary.h"
#include "src/capi/catalog.h"
#include "src/capi/handles.h"
#include "src/capi/operator.h"
#include "src/capi/target.h"
#include "src/capi/task.h"

namespace tilewright::capi {
namespace {

using Spelling = AnswerCache::LookupRequest::Spelling;

// Longer than any key or tuple; the parsers have separate limits.
constexpr std::size_t kMaxText = 1 << 16;

constexpr std::uint32_t kAllKinds =
    TW_ACCEPT_HIT | TW_ACCEPT_NEAR | TW_ACCEPT_MODEL | TW_ACCEPT_DEFAULT;

Status CreateCatalog(tw_catalog** out) {
  if (out == nullptr) return InvalidArgument("the output pointer for the catalog is null");
  *out = std::make_unique<tw_catalog>().release();
  return {};
}

Status CheckPath(const tw_catalog* catalog, const char* path) {
  if (catalog == nullptr) return InvalidArgument("the catalog is null");
  if (path == nullptr || *path == '\0') return InvalidArgument("the path is null or empty");
  return {};
}

/// Adds the result of `open` for the path.
template <typename Open>
Status AddSource(tw_catalog* catalog, const char* path, Open open) {
  TW_RETURN_IF_ERROR(CheckPath(catalog, path));
  TW_ASSIGN_OR_RETURN(auto source, open(path));
  return catalog->catalog.Add(std::move(source));
}

Result<records::TrustPolicy> PolicyOf(const tw_package_options* given) {
  records::TrustPolicy policy;
  if (given == nullptr) return policy;
  if (given->struct_size < sizeof *given) {
    return InvalidArgument("options of struct_size " + std::to_string(given->struct_size) +
                           ", expected at least " + std::to_string(sizeof *given));
  }
  policy.allow_unsigned = given->allow_unsigned != 0;
  if (given->trusted_keys == nullptr) return policy;
  if (!FileExists(given->trusted_keys)) {
    return NotFound(std::string(given->trusted_keys) + ": no such key file");
  }
  TW_ASSIGN_OR_RETURN(policy.keys, records::ReadTrustedKeys(given->trusted_keys));
  return policy;
}

/// Returns an error about trust with the members of tw_package_options in place of the program's
/// commands.
Status ForCaller(const Status& status) {
  std::string message = status.message();
  const auto replace = [&message](std::string_view advice, std::string_view members) {
    const std::size_t at = message.find(advice);
    if (at != std::string::npos) message.replace(at, advice.size(), members);
  };
  replace(" (`tilewright package trust FILE.pub` adds one)",
          "; name a file with the key in tw_package_options.trusted_keys");
  replace("--allow-unsigned takes it all the same",
          "tw_package_options.allow_unsigned takes it all the same");
  return Status(status.code(), std::move(message));
}

Status AddPackage(tw_catalog* catalog, const char* path, const tw_package_options* options) {
  TW_ASSIGN_OR_RETURN(auto policy, PolicyOf(options));
  const Status added =
      AddSource(catalog, path, [&](const char* file) { return Source::OpenPackage(file, policy); });
  return added.ok() ? added : ForCaller(added);
}

Status AddInstalled(tw_catalog* catalog, const char* folder, std::size_t* added) {
  TW_RETURN_IF_ERROR(CheckPath(catalog, folder));
  TW_ASSIGN_OR_RETURN(auto count, catalog->catalog.AddInstalled(folder));
  if (added != nullptr) *added = count;
  return {};
}

/// Returns the given options, or the defaults.
Result<tw_query_options> OptionsOf(const tw_query_options* given, const Catalog& catalog) {
  tw_query_options options = TW_QUERY_OPTIONS_INIT;
  if (given == nullptr) return options;
  if (given->struct_size < sizeof options) {
    return InvalidArgument("options of struct_size " + std::to_string(given->struct_size) +
                           ", expected at least " + std::to_string(sizeof options));
  }
  options = *given;
  if (options.accept == 0) return InvalidArgument("accept is 0, expected at least one TW_ACCEPT_");
  if ((options.accept & ~kAllKinds) != 0) {
    return Unsupported("accept has bits that this library does not support: " +
                       std::to_string(options.accept & ~kAllKinds));
  }
  if ((options.accept & TW_ACCEPT_MODEL) != 0 && !catalog.has_model()) {
    return Unsupported("TW_ACCEPT_MODEL: the catalog has no model (tw_catalog_set_model)");
  }
  if (options.rule != TW_RULE_TILEWRIGHT && options.rule != TW_RULE_AUTOTVM) {
    return Unsupported("rule " + std::to_string(options.rule) +
                       " is not supported by this library");
  }
  return options;
}

/// Common arguments of the three kinds of queries.
struct Query {
  tw_catalog* catalog;
  const tw_target* target;
  const tw_query_options* options;
  tw_answer** out;
};

/// parse: converts the text to a ParsedQuery, by the given rule.
template <typename Parse>
Status RunQuery(const Query& query, Spelling spelling, std::string_view text, Parse parse) {
  TW_ASSIGN_OR_RETURN(auto options, OptionsOf(query.options, query.catalog->catalog));
  const AnswerCache::LookupRequest request{
      {query.target->hash[0], query.target->hash[1]}, options.accept, options.rule, spelling, text};
  TW_ASSIGN_OR_RETURN(auto answer, query.catalog->catalog.Answer(request, *query.target, [&] {
    return parse(options.rule);
  }));
  *query.out = answer.release();
  return {};
}

/// Errors: kInvalidArgument if a pointer is null.
Status Check(const Query& query, const void* asked, const char* what) {
  if (query.out == nullptr) return InvalidArgument("the output pointer for the answer is null");
  *query.out = nullptr;
  if (query.catalog == nullptr) return InvalidArgument("the catalog is null");
  if (query.target == nullptr) return InvalidArgument("the target is null");
  if (asked == nullptr) return InvalidArgument(std::string("the ") + what + " is null");
  return {};
}

Result<ParsedQuery> ParseWorkloadQuery(Result<Workload> workload) {
  TW_RETURN_IF_ERROR(workload);
  return ParsedQuery{*std::move(workload), {}, {}};
}

/// By AutoTVM's rule a tuple is queried exactly, independent of its workload.
Result<ParsedQuery> ParseTupleQuery(std::string_view tuple, std::uint32_t rule) {
  if (rule != TW_RULE_AUTOTVM) return ParseWorkloadQuery(records::ParseAutotvmTuple(tuple));
  TW_ASSIGN_OR_RETURN(auto task, records::AutotvmTask::Parse(tuple));
  ParsedQuery asked;
  asked.workload = task.workload;
  asked.task = std::move(task);
  return asked;
}

Status QueryText(const Query& query, Spelling spelling, const char* text) {
  TW_RETURN_IF_ERROR(Check(query, text, "text"));
  const std::string_view view(text, ::strnlen(text, kMaxText));
  if (view.size() == kMaxText) return InvalidArgument("a text of 65536 bytes or more");
  return RunQuery(query, spelling, view, [&](std::uint32_t rule) {
    return spelling == Spelling::kKey ? ParseWorkloadQuery(Workload::Parse(view))
                                      : ParseTupleQuery(view, rule);
  });
}

Status QueryOperator(const Query& query, const tw_operator* op) {
  TW_RETURN_IF_ERROR(Check(query, op, "operator"));
  const std::string fingerprint = FingerprintOf(*op);
  return RunQuery(query, Spelling::kOperator, fingerprint,
                  [&](std::uint32_t) { return ParseWorkloadQuery(WorkloadOf(*op)); });
}

Status QueryTask(tw_catalog* catalog, const tw_tuning* handle, const tw_query_options* options,
                 tw_answer** out) {
  if (out == nullptr) return InvalidArgument("the output pointer for the answer is null");
  *out = nullptr;
  TW_ASSIGN_OR_RETURN(const auto task, Handles<tw_tuning>::Table().Get(handle, "task"));
  const Query query{catalog, &task->target, options, out};
  TW_RETURN_IF_ERROR(Check(query, handle, "task"));
  if (options != nullptr && options->struct_size >= sizeof *options &&
      options->rule == TW_RULE_AUTOTVM) {
    return Unsupported("TW_RULE_AUTOTVM: AutoTVM has no such tasks");
  }
  const OpenTask& open = task->search->task();
  return RunQuery(query, Spelling::kTask, open.key, [&](std::uint32_t) -> Result<ParsedQuery> {
    ParsedQuery asked;
    asked.workload = open.workload;
    asked.open = &open;
    return asked;
  });
}

}  // namespace
}  // namespace tilewright::capi

extern "C" {

tw_code tw_catalog_create(tw_catalog** out, tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    const tilewright::capi::CallScope call;
    return tilewright::capi::CreateCatalog(out);
  });
}

void tw_catalog_free(tw_catalog* catalog) noexcept {
  const tilewright::capi::CallScope call;
  const std::unique_ptr<tw_catalog> gone(catalog);
}

tw_code tw_catalog_add_store(tw_catalog* catalog, const char* path, tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    const tilewright::capi::CallScope call;
    return tilewright::capi::AddSource(catalog, path, tilewright::capi::Source::OpenStore);
  });
}

tw_code tw_catalog_add_package(tw_catalog* catalog, const char* path,
                               const tw_package_options* options, tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    const tilewright::capi::CallScope call;
    return tilewright::capi::AddPackage(catalog, path, options);
  });
}

tw_code tw_catalog_add_installed(tw_catalog* catalog, const char* folder, size_t* added,
                                 tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    const tilewright::capi::CallScope call;
    return tilewright::capi::AddInstalled(catalog, folder, added);
  });
}

const char* tw_catalog_problem(const tw_catalog* catalog, size_t index) noexcept {
  const tilewright::capi::CallScope call;
  return catalog != nullptr ? catalog->catalog.problem(index) : nullptr;
}

tw_code tw_catalog_add_log(tw_catalog* catalog, const char* path, tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    const tilewright::capi::CallScope call;
    return tilewright::capi::AddSource(catalog, path, tilewright::capi::Source::OpenLog);
  });
}

tw_code tw_catalog_set_model(tw_catalog* catalog, const char* path, tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&]() -> tilewright::Status {
    const tilewright::capi::CallScope call;
    TW_RETURN_IF_ERROR(tilewright::capi::CheckPath(catalog, path));
    return catalog->catalog.SetModel(path);
  });
}

size_t tw_catalog_source_count(const tw_catalog* catalog) noexcept {
  return catalog != nullptr ? catalog->catalog.source_count() : 0;
}

const char* tw_catalog_source_path(const tw_catalog* catalog, size_t index) noexcept {
  const tilewright::capi::CallScope call;
  if (index >= tw_catalog_source_count(catalog)) return nullptr;
  return catalog->catalog.source(index).path().c_str();
}

tw_code tw_catalog_refresh(tw_catalog* catalog, tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    const tilewright::capi::CallScope call;
    if (catalog == nullptr) return tilewright::InvalidArgument("the catalog is null");
    return catalog->catalog.Refresh();
  });
}

tw_code tw_query_key(tw_catalog* catalog, const tw_target* target, const char* key,
                     const tw_query_options* options, tw_answer** out, tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    return tilewright::capi::QueryText({catalog, target, options, out},
                                       tilewright::capi::Spelling::kKey, key);
  });
}

tw_code tw_query_tuple(tw_catalog* catalog, const tw_target* target, const char* tuple,
                       const tw_query_options* options, tw_answer** out, tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    return tilewright::capi::QueryText({catalog, target, options, out},
                                       tilewright::capi::Spelling::kTuple, tuple);
  });
}

tw_code tw_query_tuning(tw_catalog* catalog, const tw_tuning* task, const tw_query_options* options,
                        tw_answer** out, tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    const tilewright::capi::CallScope call;
    return tilewright::capi::QueryTask(catalog, task, options, out);
  });
}

tw_code tw_query_operator(tw_catalog* catalog, const tw_target* target, const tw_operator* op,
                          const tw_query_options* options, tw_answer** out,
                          tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    return tilewright::capi::QueryOperator({catalog, target, options, out}, op);
  });
}

}  // extern "C"
