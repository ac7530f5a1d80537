// Lookup of the best config for a workload on a device.
//
// The first rule that finds a record determines the result, and the explanation names the rule:
//   1. hit: same workload, same target text, device of the same kind, model and instruction sets,
//      verified, made by today's template and code generator. For a generic CPU, a record of any
//      CPU that ran the target's code is a hit, and the explanation names that CPU. Winners of a
//      final race come first (they were compared interleaved), then single trials, each by value
//      and config index. A noisy trial is replaced by the best one that was measured later and is
//      not noisy, even if that is slower by up to a quarter: a noisy value is unreliable.
//   2. near match: same workload, but another target or device whose code can run here: its
//      instruction sets are a subset of this device's, its target needs nothing that the requested
//      one lacks, and the space for the requested target contains the config. The thread counts
//      must be equal: a tiling for one thread was up to 27 % slower on two than the default config.
//   3. near match: the nearest workload of the same operator, types, layouts and kernel, same
//      target and device, whose config is in the space of the requested workload.
//   4. miss, naming the nearest workloads that have records.
//
// Rows that break the rules of records/validation/rules.h (values, or a config outside the space of
// its template) are skipped and reported. Records whose template calls a library are skipped unless
// the target names the library (-libs) and it is on this machine; the best skipped one is reported.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "records/front/front.h"
#include "records/row.h"
#include "records/store.h"
#include "records/store_impl.h"
#include "records/validation/library_rule.h"
#include "src/base/strings.h"
#include "src/space/pareto_front.h"
#include "src/target/gpu.h"
#include "src/target/library.h"
#include "src/target/short_target.h"
#include "src/templates/open/open_template.h"
#include "src/templates/registry.h"

namespace tilewright::records {
namespace {

// Expected slowdown of a near match: estimates until stores contain measured ones. Code for another
// CPU model with the same instruction sets has a suitable tiling but is not tuned to the cache
// sizes.
constexpr double kOtherModelSlowdown = 1.15;
// Per doubling of one extent of the workload (config for other sizes).
constexpr double kSlowdownPerDoubling = 1.2;
// A workload further away than this many doublings (summed over extents) is not used.
constexpr double kFarthestDoublings = 4;

/// Requires records with the requested target text.
bool SameClass(const DeviceFingerprint& recorded, const DeviceFingerprint& asked) {
  if (asked.is_generic()) return recorded.kind == asked.kind;
  return recorded.kind == asked.kind && recorded.model == asked.model && recorded.isa == asked.isa;
}

/// Returns the sum over the extents of both tensors of |log2(a/b)|; infinity if they differ in
/// anything but sizes.
double Distance(const Workload& a, const Workload& b) {
  const bool comparable =
      a.op_name() == b.op_name() && a.data.dtype == b.data.dtype &&
      a.weight.dtype == b.weight.dtype && a.out_dtype == b.out_dtype && a.strides == b.strides &&
      a.open == b.open && a.dilation == b.dilation && a.pool_size == b.pool_size &&
      a.data_layout == b.data_layout && a.kernel_layout == b.kernel_layout &&
      a.reduced_range_weights == b.reduced_range_weights &&
      a.data.shape.size() == b.data.shape.size() && a.weight.shape.size() == b.weight.shape.size();
  if (!comparable) return HUGE_VAL;
  double distance = 0;
  const auto add = [&](const std::vector<std::int64_t>& x, const std::vector<std::int64_t>& y) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      distance += std::abs(std::log2(static_cast<double>(x[i]) / static_cast<double>(y[i])));
    }
  };
  add(a.data.shape, b.data.shape);
  add(a.weight.shape, b.weight.shape);
  return distance;
}

std::string Versions(const Trial& trial) {
  return "template " + trial.candidate.template_key + " v" +
         std::to_string(trial.candidate.template_version) + ", code generator v" +
         std::to_string(trial.codegen_version) +
         (LibraryOfTemplate(trial.candidate.template_key) != nullptr ? ", " + trial.device.extra
                                                                     : "");
}

/// Returns true if code for one target needs nothing that the other lacks: instruction sets of a
/// CPU, the capability of a GPU.
bool NeedsNoMore(const Target& recorded, const Target& asked) {
  const auto needs = ComputeCapabilityOf(recorded), has = ComputeCapabilityOf(asked);
  if (needs.ok() != has.ok()) return false;
  return needs.ok() ? *needs <= *has : IsCodeCompatible(recorded, asked);
}

std::string Percent(double ratio) {
  return std::to_string(static_cast<int>(std::lround((ratio - 1) * 100))) + " %";
}

}  // namespace

/// Prepared queries of one store.
class Finder {
 public:
  static Status Prepare(Store::Impl& impl);
  /// Returns the first record of `query` (parameters bound) that is current, whose target (by
  /// number) and device `accepts`, and whose library may be called.
  template <typename Accepts>
  static Result<std::optional<Record>> First(Store::Impl& impl, Statement& query,
                                             LibraryRule& libraries, Accepts accepts) {
    return First(impl, query, libraries, accepts, [](const Trial&) { return true; });
  }
  /// As above, only for trials that `takes`.
  template <typename Accepts, typename Takes>
  static Result<std::optional<Record>> First(Store::Impl& impl, Statement& query,
                                             LibraryRule& libraries, Accepts accepts, Takes takes) {
    TW_ASSIGN_OR_RETURN(auto found, Next(impl, query, libraries, accepts, takes));
    query.Reset();
    return found;
  }
  /// As above, from the current row of the query, which stays open for more rows.
  template <typename Accepts, typename Takes>
  static Result<std::optional<Record>> Next(Store::Impl& impl, Statement& query,
                                            LibraryRule& libraries, Accepts accepts, Takes takes);
  /// Returns the number of a text; -1 if the store lacks it.
  static Result<std::int64_t> Number(Statement& query, std::string text,
                                     std::unordered_map<std::string, std::int64_t>& known);
  static Result<Answer> Find(Store::Impl& impl, const Workload& workload, const Target& target,
                             const DeviceFingerprint& device, LibraryRule& libraries,
                             const OpenTask* open);
  /// Returns all possible hits, by value and config index.
  static Result<std::vector<Record>> Served(Store::Impl& impl, const Workload& workload,
                                            const Target& target, const DeviceFingerprint& device,
                                            LibraryRule& libraries);
  /// Returns the replacement of the noisy record `found`: the best winner of a race, or else the
  /// best trial, that was measured later and is not noisy. nullopt: none.
  template <typename Accepts>
  static Result<std::optional<Record>> Quieter(Store::Impl& impl, const Record& found,
                                               std::int64_t workload, std::int64_t target,
                                               LibraryRule& libraries, Accepts accepts);
  static Result<Answer> NearDevice(Store::Impl& impl, std::int64_t workload, const Target& target,
                                   const DeviceFingerprint& device, LibraryRule& libraries);
  static Result<Answer> NearWorkload(Store::Impl& impl, const Workload& workload,
                                     const Target& target, std::int64_t target_number,
                                     const DeviceFingerprint& device, LibraryRule& libraries,
                                     const OpenTask* asked);
  /// Adds the records of exactly this workload that must not be served to the explanation and the
  /// cause of a miss.
  static Status AddUnserved(Store::Impl& impl, std::int64_t workload, const Target& target,
                            std::int64_t target_number, const DeviceFingerprint& device,
                            Answer& miss);
};

Status Finder::Prepare(Store::Impl& impl) {
  if (impl.prepared) return {};
  const std::string columns(kTrialColumns);
  const std::array<std::pair<Statement*, std::string>, 6> queries = {{
      {&impl.begin_read, "BEGIN"},
      {&impl.end_read, "COMMIT"},
      {&impl.find_workload, "SELECT id FROM workload WHERE key = ?1"},
      {&impl.find_target, "SELECT id FROM target WHERE text = ?1"},
      {&impl.find_raced, "SELECT " + columns +
                             // A cross join fixes this order: searching the winners among all
                             // trials of a task would be slow.
                             " FROM best CROSS JOIN trial ON trial.id = best.trial"
                             // A winner must be a trial of its task; the row may be invalid.
                             " AND trial.workload = best.workload AND trial.target = best.target"
                             " AND trial.device = best.device AND trial.job = best.job"
                             " WHERE best.workload = ?1 AND best.target = ?2 AND trial.outcome = 0"
                             " AND trial.verified = 1 ORDER BY trial.value, trial.config_index"},
      {&impl.find_served, "SELECT " + columns +
                              " FROM trial WHERE workload = ?1 AND target = ?2 AND outcome = 0"
                              " AND verified = 1 ORDER BY value, config_index"},
  }};
  for (const auto& [statement, sql] : queries) {
    TW_ASSIGN_OR_RETURN(auto prepared, Statement::Prepare(impl.db, sql));
    *statement = std::move(prepared);
  }
  impl.prepared = true;
  return {};
}

template <typename Accepts, typename Takes>
Result<std::optional<Record>> Finder::Next(Store::Impl& impl, Statement& query,
                                           LibraryRule& libraries, Accepts accepts, Takes takes) {
  std::optional<Record> found;
  while (!found.has_value()) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) break;
    if (!libraries.IsCurrent(query.Text(6), query.Int(7), query.Int(8))) continue;
    auto device = impl.texts.DeviceOf(impl.db, query.Int(4));
    if (!device.ok()) {  // a forged row, as below
      if (device.status().code() != StatusCode::kCorrupt) return device.status();
      libraries.LeaveOut(device.status().message());
      continue;
    }
    if (!accepts(query.Int(3), **device)) continue;
    auto record = ReadRow(impl.db, query, impl.texts);
    if (!record.ok() && record.status().code() != StatusCode::kCorrupt) return record.status();
    if (std::string why = InvalidRowReason(impl, libraries.templates(), query, record);
        !why.empty()) {
      libraries.LeaveOut(std::move(why));
      continue;
    }
    if (takes(record->trial) && libraries.Allows(record->trial)) found = std::move(*record);
  }
  return found;
}

Result<std::vector<Record>> Finder::Served(Store::Impl& impl, const Workload& workload,
                                           const Target& target, const DeviceFingerprint& device,
                                           LibraryRule& libraries) {
  std::vector<Record> records;
  TW_ASSIGN_OR_RETURN(auto workload_number,
                      Number(impl.find_workload, workload.Key(), impl.workload_numbers));
  TW_ASSIGN_OR_RETURN(
      auto target_number,
      Number(impl.find_target, WithoutLibraries(target).ToString(), impl.target_numbers));
  if (workload_number < 0 || target_number < 0) return records;
  impl.find_served.Bind(1, workload_number).Bind(2, target_number);
  while (true) {
    TW_ASSIGN_OR_RETURN(auto record, Next(
                                         impl, impl.find_served, libraries,
                                         [&](std::int64_t, const DeviceFingerprint& d) {
                                           return SameClass(d, device);
                                         },
                                         [](const Trial&) { return true; }));
    if (!record.has_value()) break;
    records.push_back(*std::move(record));
  }
  impl.find_served.Reset();
  return records;
}

template <typename Accepts>
Result<std::optional<Record>> Finder::Quieter(Store::Impl& impl, const Record& found,
                                              std::int64_t workload, std::int64_t target,
                                              LibraryRule& libraries, Accepts accepts) {
  for (Statement* query : {&impl.find_raced, &impl.find_served}) {
    query->Bind(1, workload).Bind(2, target);
    TW_ASSIGN_OR_RETURN(auto record,
                        First(impl, *query, libraries, accepts, [&found](const Trial& trial) {
                          return ReplacesNoisy(trial, found.trial);
                        }));
    if (record.has_value()) return record;
  }
  return std::optional<Record>();
}

Result<std::int64_t> Finder::Number(Statement& query, std::string text,
                                    std::unordered_map<std::string, std::int64_t>& known) {
  if (const auto found = known.find(text); found != known.end()) return found->second;
  query.Bind(1, text);
  TW_ASSIGN_OR_RETURN(auto row, query.Step());
  const std::int64_t id = row ? query.Int(0) : -1;
  query.Reset();
  if (id >= 0) known.emplace(std::move(text), id);
  return id;
}

Result<Answer> Finder::NearDevice(Store::Impl& impl, std::int64_t workload, const Target& target,
                                  const DeviceFingerprint& device, LibraryRule& libraries) {
  TW_ASSIGN_OR_RETURN(
      auto query,
      Statement::Prepare(impl.db,
                         "SELECT " + std::string(kTrialColumns) +
                             " FROM trial WHERE workload = ?1"
                             " AND outcome = 0 AND verified = 1 ORDER BY value, config_index"));
  query.Bind(1, workload);
  const Target plain = WithoutLibraries(target);
  Config config;  // as the space of the requested workload has it
  TW_ASSIGN_OR_RETURN(
      auto record, First(
                       impl, query, libraries,
                       [&](std::int64_t number, const DeviceFingerprint& d) {
                         const auto recorded = impl.texts.TargetOf(impl.db, number);
                         if (!recorded.ok() || (*recorded)->num_threads() != target.num_threads())
                           return false;
                         // The target states what the code may use, even if this machine has more.
                         return NeedsNoMore(**recorded, target) &&
                                (device.is_generic() ? d.kind == device.kind : device.Includes(d));
                       },
                       [&](const Trial& trial) {
                         Candidate here = trial.candidate;
                         here.task.target = plain;
                         auto located = impl.spaces.Locate(libraries.templates(), here);
                         if (located.ok()) config = *std::move(located);
                         return located.ok();
                       }));
  if (!record.has_value()) return Answer{};
  Answer answer{AnswerKind::kNearMatch, std::move(record), kOtherModelSlowdown, {}, {}};
  answer.record->trial.candidate.config = std::move(config);
  const Trial& trial = answer.record->trial;
  const Target& measured = trial.candidate.task.target;
  answer.cause = measured == plain
                     ? MissCause{MissReason::kOtherDevice, trial.device.model}
                     : MissCause{MissReason::kOtherTarget,
                                 DistinctTargetText(measured, plain) + " on " + trial.device.model};
  answer.explanation = "near hit: same workload, but measured for target '" +
                       DistinctTargetText(measured, plain) + "' on '" + trial.device.model +
                       "'; expected up to " + Percent(kOtherModelSlowdown) +
                       " slower than a config tuned here; " + Versions(trial);
  return answer;
}

Result<Answer> Finder::NearWorkload(Store::Impl& impl, const Workload& workload,
                                    const Target& target, std::int64_t target_number,
                                    const DeviceFingerprint& device, LibraryRule& libraries,
                                    const OpenTask* asked) {
  if (asked == nullptr) asked = FindOpenTask(libraries.templates(), workload);
  const ProblemNeighbours problems(libraries.templates(), asked);
  struct Neighbour {
    double distance;
    std::int64_t number;
    std::string key;
  };
  std::vector<Neighbour> neighbours;
  TW_ASSIGN_OR_RETURN(
      auto list,
      Statement::Prepare(
          impl.db,
          "SELECT id, key FROM workload WHERE op = ?1 AND EXISTS (SELECT 1 FROM trial WHERE"
          " trial.workload = workload.id AND trial.target = ?2 AND outcome = 0 AND verified = 1)"));
  list.Bind(1, workload.op_name()).Bind(2, target_number);
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, list.Step());
    if (!row) break;
    auto other = impl.texts.WorkloadOf(impl.db, list.Int(0));
    if (!other.ok()) {
      if (other.status().code() != StatusCode::kCorrupt) return other.status();
      libraries.LeaveOut(other.status().message());
      continue;
    }
    const double distance =
        asked != nullptr ? problems.DistanceTo(list.Text(1)) : Distance(workload, **other);
    neighbours.push_back({distance, list.Int(0), problems.NameOf(list.Text(1))});
  }
  std::sort(neighbours.begin(), neighbours.end(), [](const Neighbour& a, const Neighbour& b) {
    return std::tie(a.distance, a.key) < std::tie(b.distance, b.key);
  });
  for (const Neighbour& neighbour : neighbours) {
    if (neighbour.distance > kFarthestDoublings) break;
    impl.find_served.Bind(1, neighbour.number).Bind(2, target_number);
    TW_ASSIGN_OR_RETURN(auto record, First(impl, impl.find_served, libraries,
                                           [&](std::int64_t, const DeviceFingerprint& d) {
                                             return SameClass(d, device);
                                           }));
    if (!record.has_value()) continue;
    Trial& trial = record->trial;
    if (asked != nullptr) trial.candidate.template_key = asked->key;
    const TemplateEntry* entry = libraries.templates().Find(trial.candidate.template_key);
    if (entry == nullptr || !entry->refuses(workload, target).empty()) continue;
    auto space = entry->define_space(workload, target);
    if (!space.ok()) continue;
    auto config = space->Locate(trial.candidate.config);
    if (!config.ok() || (asked != nullptr && !Allows(*asked, *config))) continue;
    const double slowdown = std::pow(kSlowdownPerDoubling, neighbour.distance);
    Answer answer{AnswerKind::kNearMatch, std::move(record), slowdown, {}, {}};
    answer.cause.reason = MissReason::kNoRecords;
    answer.record->trial.candidate.config = std::move(*config);
    answer.explanation = "near hit: config of the nearest tuned workload '" + neighbour.key +
                         "'; expected up to " + Percent(slowdown) +
                         " slower than a config tuned for this one; " +
                         Versions(answer.record->trial);
    return answer;
  }
  Answer miss;
  miss.cause.reason = MissReason::kNoRecords;
  miss.explanation = "miss: no record of this workload that may be served here (target '" +
                     ShortTargetText(target) + "', " +
                     (device.is_generic() ? "any device" : "device '" + device.model + "'") + ")";
  TW_ASSIGN_OR_RETURN(auto own, Number(impl.find_workload, workload.Key(), impl.workload_numbers));
  TW_RETURN_IF_ERROR(AddUnserved(impl, own, target, target_number, device, miss));
  std::erase_if(neighbours, [&](const Neighbour& n) { return n.number == own; });
  for (std::size_t i = 0; i < std::min<std::size_t>(3, neighbours.size()); ++i) {
    miss.explanation += (i == 0 ? "; nearest with records: " : ", ") + neighbours[i].key;
  }
  return miss;
}

Status Finder::AddUnserved(Store::Impl& impl, std::int64_t workload, const Target& target,
                           std::int64_t target_number, const DeviceFingerprint& device,
                           Answer& miss) {
  constexpr int kShown = 3;
  TW_ASSIGN_OR_RETURN(
      auto query, Statement::Prepare(
                      impl.db,
                      "SELECT g.text, d.text, g.id FROM trial t JOIN target g ON g.id = t.target "
                      "JOIN device d ON"
                      " d.id = t.device WHERE t.workload = ?1 AND t.outcome = 0 AND t.verified = 1"
                      " GROUP BY g.id, d.id ORDER BY g.text, d.text"));
  query.Bind(1, workload);
  int count = 0;
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) break;
    const auto measured = DeviceFingerprint::Parse(query.Text(1));
    const std::string model = measured.ok() ? measured->model : std::string(query.Text(1));
    std::string where;
    if (query.Int(2) != target_number) {
      const auto other = Target::Parse(query.Text(0));
      where = other.ok() ? DistinctTargetText(*other, target) : std::string(query.Text(0));
      PreferCause(miss.cause, {MissReason::kOtherTarget, where + " on " + model});
      where = "the target '" + where + "' on '" + model + "'";
    } else if (measured.ok() && SameClass(*measured, device)) {
      PreferCause(miss.cause, {MissReason::kOtherVersions, ""});
      where = "this target on '" + model + "', of other versions of template or code generator";
    } else {
      PreferCause(miss.cause, {MissReason::kOtherDevice, model});
      where = "this target on '" + model + "', another device";
    }
    if (++count > kShown) continue;
    miss.explanation += count == 1 ? "; of this workload there are records for " : ", for ";
    miss.explanation += where;
  }
  if (count > kShown) miss.explanation += ", and " + std::to_string(count - kShown) + " more";
  return {};
}

namespace {

/// Read transaction around the statements of a query: it takes the store's lock once, and all
/// statements read the same state.
class ReadTransaction {
 public:
  explicit ReadTransaction(Store::Impl& impl) : impl_(impl) {
    began_ = impl_.begin_read.Run().ok();
  }
  ReadTransaction(const ReadTransaction&) = delete;
  ReadTransaction& operator=(const ReadTransaction&) = delete;
  ~ReadTransaction() {
    if (!began_) return;  // the statements then take the lock one by one
    const Status ignored = impl_.end_read.Run();
    (void)ignored;
  }

 private:
  Store::Impl& impl_;
  bool began_ = false;
};

}  // namespace

Result<Answer> Finder::Find(Store::Impl& impl, const Workload& workload, const Target& target,
                            const DeviceFingerprint& device, LibraryRule& libraries,
                            const OpenTask* open) {
  TW_ASSIGN_OR_RETURN(auto workload_number,
                      Number(impl.find_workload, workload.Key(), impl.workload_numbers));
  TW_ASSIGN_OR_RETURN(
      auto target_number,
      Number(impl.find_target, WithoutLibraries(target).ToString(), impl.target_numbers));
  if (workload_number >= 0 && target_number >= 0) {
    for (Statement* query : {&impl.find_raced, &impl.find_served}) {
      query->Bind(1, workload_number).Bind(2, target_number);
      const auto same = [&](std::int64_t, const DeviceFingerprint& d) {
        return SameClass(d, device);
      };
      TW_ASSIGN_OR_RETURN(auto record, First(impl, *query, libraries, same));
      if (!record.has_value()) continue;
      const bool raced = query == &impl.find_raced;
      std::string skipped_record;
      if (record->trial.noisy()) {
        TW_ASSIGN_OR_RETURN(
            auto quieter, Quieter(impl, *record, workload_number, target_number, libraries, same));
        if (quieter.has_value()) {
          skipped_record = ShortestDouble(record->trial.value) + " " + record->trial.metric +
                           " of " + record->trial.candidate.template_key + " #" +
                           std::to_string(record->trial.candidate.config.index) +
                           " were measured in noise, and earlier";
          record = std::move(quieter);
        }
      }
      Answer answer{AnswerKind::kHit, std::move(record), 1, {}, {}};
      const Trial& trial = answer.record->trial;
      answer.explanation = !skipped_record.empty()
                               ? "hit: best one measured in quiet; " + skipped_record
                           : raced ? "hit: winner of the task's final race"
                                   : "hit: fastest verified trial (no race)";
      if (trial.noisy()) {
        answer.explanation += "; disturbed: measured in noise (" +
                              std::to_string(std::lround(100 * trial.clean_fraction)) +
                              " % of the samples quiet), its time may be too long";
      }
      answer.explanation += device.is_generic()
                                ? "; same workload and target, on '" + trial.device.model + "'; "
                                : "; same workload, target, device model and features; ";
      answer.explanation += Versions(trial);
      return answer;
    }
  }
  if (workload_number >= 0) {
    TW_ASSIGN_OR_RETURN(auto answer, NearDevice(impl, workload_number, target, device, libraries));
    if (answer.kind == AnswerKind::kNearMatch) return answer;
  }
  return NearWorkload(impl, workload, target, target_number, device, libraries, open);
}

void Answer::ExplainSkipped(const std::string& library_record, const std::string& not_loaded) {
  skipped_record = library_record;
  if (!library_record.empty()) explanation += "; passed over: " + library_record;
  if (!not_loaded.empty()) explanation += "; " + not_loaded + ", so its records are left out";
  if (kind == AnswerKind::kHit) return;
  const std::string& why = library_record.empty() ? not_loaded : library_record;
  if (!why.empty()) PreferCause(cause, {MissReason::kUnusable, why});
}

Result<Answer> Store::Query(const TemplateRegistry& templates, const Workload& workload,
                            const Target& target, const DeviceFingerprint& device,
                            const LibraryCallFilter& library_call_filter,
                            const OpenTask* open) const {
  TW_RETURN_IF_ERROR(Finder::Prepare(*impl_));
  const ReadTransaction transaction(*impl_);
  LibraryRule libraries(templates, workload, target, library_call_filter);
  TW_ASSIGN_OR_RETURN(auto answer, Finder::Find(*impl_, workload, target, device, libraries, open));
  answer.ExplainSkipped(libraries.skipped_record(), libraries.not_loaded());
  if (const std::string why = libraries.left_out(); !why.empty()) {
    answer.explanation += "; left out: " + why;
    if (answer.kind == AnswerKind::kMiss) PreferCause(answer.cause, {MissReason::kUnusable, why});
  }
  return answer;
}

namespace {

/// Returns the values of a trial on a front; empty if it lacks a metric or is noisy.
std::vector<double> FrontRowOf(const Trial& trial, const std::vector<std::string>& metrics) {
  std::vector<double> row;
  for (const std::string& metric : metrics) {
    if (trial.noisy() || !trial.ValueOf(metric)) return {};
    row.push_back(NoiseAdjustedValue(trial, metric));
  }
  return row;
}

}  // namespace

Result<FrontAnswer> Store::Front(const TemplateRegistry& templates, const Workload& workload,
                                 const Target& target, const DeviceFingerprint& device,
                                 const std::vector<std::string>& metrics,
                                 const LibraryCallFilter& library_call_filter) const {
  TW_RETURN_IF_ERROR(Finder::Prepare(*impl_));
  const ReadTransaction transaction(*impl_);
  LibraryRule libraries(templates, workload, target, library_call_filter);
  std::vector<LibraryRule::Refused> refused;
  libraries.KeepRefused(refused);
  TW_ASSIGN_OR_RETURN(auto served, Finder::Served(*impl_, workload, target, device, libraries));
  // The last measurement of each config.
  std::map<std::pair<std::string, std::string>, Record> latest;
  for (Record& record : served) {
    const Trial& trial = record.trial;
    if (FrontRowOf(trial, metrics).empty()) continue;
    auto key = std::pair(trial.candidate.template_key, trial.candidate.config.ToString());
    const auto [place, added] = latest.try_emplace(std::move(key), record);
    if (!added && Supersedes(trial, place->second.trial)) place->second = std::move(record);
  }
  std::vector<Record> records;
  std::vector<std::vector<double>> rows;
  for (auto& [config, record] : latest) {
    rows.push_back(FrontRowOf(record.trial, metrics));
    records.push_back(std::move(record));
  }
  const std::vector<std::size_t> members = ParetoFront(rows);
  FrontAnswer front;
  front.not_loaded = libraries.not_loaded();
  for (const LibraryRule::Refused& one : refused) {  // the fastest one first
    const std::vector<double> row = FrontRowOf(one.trial, metrics);
    const bool beaten = row.empty() || std::ranges::any_of(members, [&](std::size_t i) {
                          return rows[i] == row || Dominates(rows[i], row);
                        });
    if (!beaten && front.skipped_record.empty()) front.skipped_record = one.told;
  }
  for (const std::size_t i : members) front.records.push_back(std::move(records[i]));
  return front;
}

void Store::ClearTextCache() const {
  impl_->texts = TextCache();
  impl_->verdicts.clear();
  impl_->min_seconds.clear();
  impl_->workload_numbers.clear();
  impl_->target_numbers.clear();
}

}  // namespace tilewright::records
