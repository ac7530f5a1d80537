// The C functions of catalogs and queries.

#include <memory>
#include <string>

#include "src/capi/boundary.h"
#include "src/capi/catalog.h"
#include "src/capi/operator.h"
#include "src/capi/target.h"

struct tw_catalog {
  tilewright::SystemClock clock;
  tilewright::capi::Catalog catalog{clock};
};

namespace tilewright::capi {
namespace {

using Spelling = AnswerCache::Question::Spelling;

// Longer texts than any key or tuple there is; what reads them has limits of its own.
constexpr std::size_t kMostText = 1 << 16;

constexpr std::uint32_t kAllKinds =
    TW_ACCEPT_HIT | TW_ACCEPT_NEAR | TW_ACCEPT_MODEL | TW_ACCEPT_DEFAULT;

Status CreateCatalog(tw_catalog** out) {
  if (out == nullptr) return InvalidArgument("no place for the catalog");
  *out = std::make_unique<tw_catalog>().release();
  return {};
}

Status AddStore(tw_catalog* catalog, const char* path) {
  if (catalog == nullptr) return InvalidArgument("no catalog");
  if (path == nullptr || *path == '\0') return InvalidArgument("no path of a store");
  auto source = Source::OpenStore(path);
  TW_RETURN_IF_ERROR(source);
  return catalog->catalog.Add(*std::move(source));
}

/// The options, or what stands in for them.
Result<tw_query_options> OptionsOf(const tw_query_options* given) {
  tw_query_options options = TW_QUERY_OPTIONS_INIT;
  if (given == nullptr) return options;
  if (given->struct_size < sizeof options) {
    return InvalidArgument("options of struct_size " + std::to_string(given->struct_size) +
                           ", expected at least " + std::to_string(sizeof options));
  }
  options = *given;
  if (options.accept == 0) return InvalidArgument("accept is 0, expected at least one TW_ACCEPT_");
  if ((options.accept & ~kAllKinds) != 0) {
    return Unsupported("accept has bits this library does not know: " +
                       std::to_string(options.accept & ~kAllKinds));
  }
  if ((options.accept & TW_ACCEPT_MODEL) != 0) {
    return Unsupported("model-guided answers: the model library is not installed");
  }
  if (options.rule == TW_RULE_AUTOTVM) {
    return Unsupported("rule autotvm: this library matches records by its own rule only");
  }
  if (options.rule != TW_RULE_TILEWRIGHT) {
    return Unsupported("rule " + std::to_string(options.rule) + " is not known to this library");
  }
  return options;
}

/// What all three ways of asking share.
struct Query {
  tw_catalog* catalog;
  const tw_target* target;
  const tw_query_options* options;
  tw_answer** out;
};

template <typename Parse>
Status Run(const Query& query, Spelling spelling, std::string_view text, Parse parse) {
  auto options = OptionsOf(query.options);
  TW_RETURN_IF_ERROR(options);
  const AnswerCache::Question question{{query.target->hash[0], query.target->hash[1]},
                                       options->accept,
                                       options->rule,
                                       spelling,
                                       text};
  auto answer = query.catalog->catalog.Answer(question, *query.target, parse);
  TW_RETURN_IF_ERROR(answer);
  *query.out = answer->release();
  return {};
}

/// Errors: kInvalidArgument if a pointer is null.
Status Check(const Query& query, const void* asked, const char* what) {
  if (query.out == nullptr) return InvalidArgument("no place for the answer");
  *query.out = nullptr;
  if (query.catalog == nullptr) return InvalidArgument("no catalog");
  if (query.target == nullptr) return InvalidArgument("no target");
  if (asked == nullptr) return InvalidArgument(std::string("no ") + what);
  return {};
}

Status QueryText(const Query& query, Spelling spelling, const char* text,
                 Result<Workload> (*parse)(std::string_view)) {
  TW_RETURN_IF_ERROR(Check(query, text, "text"));
  const std::string_view view(text, ::strnlen(text, kMostText));
  if (view.size() == kMostText) return InvalidArgument("a text of 65536 bytes or more");
  return Run(query, spelling, view, [&] { return parse(view); });
}

Status QueryOperator(const Query& query, const tw_operator* op) {
  TW_RETURN_IF_ERROR(Check(query, op, "operator"));
  const std::string fingerprint = FingerprintOf(*op);
  return Run(query, Spelling::kOperator, fingerprint, [&] { return WorkloadOf(*op); });
}

}  // namespace
}  // namespace tilewright::capi

extern "C" {

tw_code tw_catalog_create(tw_catalog** out, tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] { return tilewright::capi::CreateCatalog(out); });
}

void tw_catalog_free(tw_catalog* catalog) noexcept {
  const std::unique_ptr<tw_catalog> gone(catalog);
}

tw_code tw_catalog_add_store(tw_catalog* catalog, const char* path, tw_error* error) noexcept {
  return tilewright::capi::Guarded(error,
                                   [&] { return tilewright::capi::AddStore(catalog, path); });
}

size_t tw_catalog_source_count(const tw_catalog* catalog) noexcept {
  return catalog != nullptr ? catalog->catalog.source_count() : 0;
}

const char* tw_catalog_source_path(const tw_catalog* catalog, size_t index) noexcept {
  if (index >= tw_catalog_source_count(catalog)) return nullptr;
  return catalog->catalog.source(index).path().c_str();
}

tw_code tw_catalog_refresh(tw_catalog* catalog, tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    if (catalog == nullptr) return tilewright::InvalidArgument("no catalog");
    return catalog->catalog.Refresh();
  });
}

tw_code tw_query_key(tw_catalog* catalog, const tw_target* target, const char* key,
                     const tw_query_options* options, tw_answer** out, tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    return tilewright::capi::QueryText({catalog, target, options, out},
                                       tilewright::capi::Spelling::kKey, key,
                                       tilewright::Workload::Parse);
  });
}

tw_code tw_query_tuple(tw_catalog* catalog, const tw_target* target, const char* tuple,
                       const tw_query_options* options, tw_answer** out, tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    return tilewright::capi::QueryText({catalog, target, options, out},
                                       tilewright::capi::Spelling::kTuple, tuple,
                                       tilewright::Workload::FromAutotvmTuple);
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
