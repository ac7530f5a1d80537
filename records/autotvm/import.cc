// Fast import of logs. A line is scanned without building a tree. Its target and task, which many
// lines share, are looked up by their text and interpreted once. The config is located in its space
// by counting. The remaining cost of a line is one insert.
//
// The identity of a record is a 128-bit digest of its target's canonical text, its task, its
// entities (split factors except the first), and its result, without the index. So a repeated line
// is a duplicate, also in another file or with another spelling of its target. A second measurement
// of one config is a separate record.

#include "records/autotvm/import.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <unordered_map>

#include "records/autotvm/digest.h"
#include "records/autotvm/json_scanner.h"
#include "records/autotvm/line_reader.h"
#include "records/autotvm/log_line.h"
#include "records/autotvm/selection.h"
#include "records/autotvm/task.h"
#include "records/image.h"
#include "records/schema.h"
#include "records/sqlite.h"
#include "records/validation/rules.h"
#include "src/base/clock.h"

namespace tilewright::records {
namespace {

constexpr std::int64_t kCommitEvery = 20000;
constexpr std::int64_t kReportEvery = 1000;
// Interpreted tasks are kept in two generations of this size, about 6 KiB each. Tuners write one
// task after the other, and reused memory stays in the CPU caches.
constexpr std::size_t kMaxTasks = 256;
// Maximum number of cached targets; a log has a few.
constexpr std::size_t kMaxTargets = 1024;
// Maximum number of records with one result to compare with a new one; public logs have at most
// two.
constexpr int kMaxSharers = 8;

/// Interpreted target shared by many lines.
struct KnownTarget {
  std::string refused;  // reason to reject its lines; the other members are then unset
  bool other = false;   // not the target of ImportOptions
  std::int64_t number = 0;
  AutotvmTarget target;
  LineDigest digest;  // of the canonical text
};

/// Interpreted task of one target kind, shared by many lines.
struct KnownTask {
  std::string refused;  // reason to reject its lines; the other members are then unset
  std::string tuple, name, workload_key;
  std::int64_t number = -1;  // number in the store; -1: not looked up yet
  std::int64_t flags = 0;
  double min_seconds = kMinSeconds;  // least plausible time
  std::optional<AutotvmTaskSpaces> spaces;
};

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

void CountFlags(std::int64_t flags, ImportedFile& summary) {
  for (std::size_t bit = 0; bit < summary.flags.size(); ++bit) {
    summary.flags[bit] += flags >> bit & 1;
  }
}

class Importer {
 public:
  Importer(const Database& db, const ImportOptions& options) : db_(db), options_(options) {}

  Status Start();
  Status ImportFile(const std::string& path, ImportedFile& summary);
  Status Finish();

 private:
  Status ImportLine(std::string_view text, ImportedFile& summary);
  Status ImportRecord(const KnownTarget& target, KnownTask& task, ImportedFile& summary);
  /// Returns the target of the current line. written: its text in the line.
  Result<KnownTarget*> TargetOf(std::string_view written);
  Result<KnownTarget> InterpretTarget(std::string_view written);
  /// Returns the task of the current line. rest: the text after the target.
  KnownTask& TaskOf(const KnownTarget& target, std::string_view rest);
  KnownTask InterpretTask(const KnownTarget& target) const;
  Result<std::int64_t> NumberOf(Statement& find, Statement& insert, std::string_view text,
                                std::string_view second, std::string_view third);
  /// Returns the flags of a result that equals another workload's; may move kImportedCopy to that
  /// record.
  Result<std::int64_t> ShareFlags(std::int64_t id, std::int64_t task, AutotvmAgreement agreement,
                                  ImportedFile& summary);
  Status CountDuplicate(const LineDigest& digest, const KnownTask& task, ImportedFile& summary);
  Status Commit();
  void Refuse(ImportedFile& summary, std::string reason) const;

  const Database& db_;
  const ImportOptions& options_;
  std::optional<Target> only_;
  std::optional<Transaction> transaction_;
  Statement insert_, find_digest_, find_time_, set_flags_;
  Statement find_target_, add_target_, find_task_, add_task_, add_source_, drop_source_;
  template <typename Known>
  using ByText = std::unordered_map<std::string, Known, TextHash, std::equal_to<>>;
  ByText<KnownTarget> targets_;
  ByText<std::unique_ptr<KnownTask>> tasks_, older_tasks_;  // refer to targets_
  std::int64_t source_ = 0;
  std::int64_t last_before_file_ = 0;  // records up to this number are from other files
  std::int64_t uncommitted_ = 0;
  // Parts of the current line; kept to reuse their memory.
  LogLine line_;
  std::string task_key_, entities_, same_config_;
};

Status Importer::Start() {
  if (!options_.target.empty()) {
    auto target = Target::Parse(options_.target);
    if (!target.ok()) return target.status().WithContext("target");
    only_ = *std::move(target);
  }
  struct Text {
    Statement* statement;
    std::string_view sql;
  };
  const std::array texts = {
      Text{&insert_,
           "INSERT INTO imported (digest, task, target, source, line, config_index,"
           " entities, code_hash, costs, cost, error, all_cost, finished, tvm_version, agreement,"
           " flags) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16)"
           " ON CONFLICT (digest) DO NOTHING"},
      Text{&find_digest_, "SELECT task, error, costs, finished FROM imported WHERE digest = ?1"},
      Text{&find_time_,
           "SELECT id, task, agreement, flags, costs FROM imported WHERE finished = ?1"
           " AND error = 0 ORDER BY id LIMIT ?2"},
      Text{&set_flags_, "UPDATE imported SET flags = ?2 WHERE id = ?1"},
      Text{&find_target_, "SELECT id FROM imported_target WHERE text = ?1"},
      Text{&add_target_, "INSERT OR IGNORE INTO imported_target (text, canonical) VALUES (?1, ?2)"},
      Text{&find_task_, "SELECT id FROM imported_task WHERE tuple = ?1"},
      Text{&add_task_,
           "INSERT OR IGNORE INTO imported_task (tuple, name, workload) VALUES (?1, ?2, ?3)"},
      Text{&add_source_,
           "INSERT INTO imported_source (file, package, imported) VALUES (?1, ?2, ?3)"},
      Text{&drop_source_, "DELETE FROM imported_source WHERE id = ?1"},
  };
  // A million records update the indices in random order; the default cache of 2 MiB would read
  // their pages repeatedly.
  TW_RETURN_IF_ERROR(db_.Execute("PRAGMA cache_size = -65536"));
  for (const Text& text : texts) {
    TW_ASSIGN_OR_RETURN(auto statement, Statement::Prepare(db_, text.sql));
    *text.statement = std::move(statement);
  }
  TW_ASSIGN_OR_RETURN(auto transaction, Transaction::Begin(db_));
  transaction_.emplace(std::move(transaction));
  return {};
}

Status Importer::Commit() {
  uncommitted_ = 0;
  if (options_.dry_run) return {};
  TW_RETURN_IF_ERROR(transaction_->Commit());
  transaction_.reset();
  TW_ASSIGN_OR_RETURN(auto transaction, Transaction::Begin(db_));
  transaction_.emplace(std::move(transaction));
  return {};
}

Status Importer::Finish() {
  if (!options_.dry_run) TW_RETURN_IF_ERROR(transaction_->Commit());
  transaction_.reset();  // rolls back a dry run
  return {};
}

void Importer::Refuse(ImportedFile& summary, std::string reason) const {
  ++summary.refused_count;
  if (summary.refused.size() < ImportedFile::kMaxRefused) {
    summary.refused.push_back({summary.lines, std::move(reason)});
  }
}

Result<std::int64_t> Importer::NumberOf(Statement& find, Statement& insert, std::string_view text,
                                        std::string_view second, std::string_view third) {
  insert.Bind(1, text).Bind(2, second);
  if (&insert == &add_task_) insert.Bind(3, third);
  TW_RETURN_IF_ERROR(insert.Run());
  if (sqlite3_changes(db_.get()) > 0) {
    return static_cast<std::int64_t>(sqlite3_last_insert_rowid(db_.get()));
  }
  find.Bind(1, text);
  TW_RETURN_IF_ERROR(find.Step());
  const std::int64_t number = find.Int(0);
  find.Reset();
  return number;
}

/// Errors: those of the store only; an invalid target sets `refused`.
Result<KnownTarget> Importer::InterpretTarget(std::string_view written) {
  KnownTarget known;
  JsonScanner scanner(written);
  const std::string text = scanner.Text();
  if (!scanner.ok()) {
    known.refused = scanner.status().WithContext("input").message();
    return known;
  }
  auto target = AutotvmTarget::Parse(text);
  if (!target.ok()) {
    known.refused = target.status().message();
    return known;
  }
  known.target = *std::move(target);
  known.other = only_.has_value() && !IsTarget(known.target.target, *only_);
  if (known.other) return known;
  TW_ASSIGN_OR_RETURN(known.number, NumberOf(find_target_, add_target_, known.target.text,
                                             known.target.canonical, {}));
  known.digest.Add(known.target.canonical);
  return known;
}

Result<KnownTarget*> Importer::TargetOf(std::string_view written) {
  if (const auto found = targets_.find(written); found != targets_.end()) return &found->second;
  if (targets_.size() >= kMaxTargets) {
    tasks_.clear();
    older_tasks_.clear();
    targets_.clear();
  }
  TW_ASSIGN_OR_RETURN(auto known, InterpretTarget(written));
  return &targets_.emplace(written, std::move(known)).first->second;
}

KnownTask Importer::InterpretTask(const KnownTarget& target) const {
  KnownTask known;
  auto input = AutotvmInputText::Read(line_);
  if (!input.ok()) {
    known.refused = input.status().message();
    return known;
  }
  auto task = std::move(*input).Task(line_, target.target);
  if (!task.ok()) {
    known.refused = task.status().message();
    return known;
  }
  if (!task->unreachable.empty()) known.flags |= kImportedUnreachable;
  if (task->malformed_tensor) known.flags |= kImportedMalformedTensor;
  if (line_.legacy) known.flags |= kImportedFormat01;
  if (task->workload.has_value()) {
    known.workload_key = task->workload->Key();
    known.min_seconds = MinSeconds(*task->workload, target.target.target);
  }
  known.name = task->name;
  known.tuple = std::move(task->tuple);
  known.spaces.emplace(std::move(task->name), std::move(task->args), target.target.target);
  return known;
}

KnownTask& Importer::TaskOf(const KnownTarget& target, std::string_view rest) {
  // A task and its space are the same for all targets of a kind; in format 0.1 the target's model
  // and the template determine the task.
  task_key_ = line_.legacy ? target.target.text : target.target.kind();
  task_key_ += '\n';
  if (line_.legacy) task_key_ += line_.legacy_template;
  task_key_ += '\n';
  task_key_ += rest;
  if (const auto found = tasks_.find(task_key_); found != tasks_.end()) return *found->second;
  if (tasks_.size() >= kMaxTasks) {
    older_tasks_ = std::move(tasks_);
    tasks_.clear();
  }
  if (const auto found = older_tasks_.find(task_key_); found != older_tasks_.end()) {
    return *tasks_.insert(older_tasks_.extract(found)).position->second;
  }
  return *tasks_.emplace(task_key_, std::make_unique<KnownTask>(InterpretTask(target)))
              .first->second;
}

Result<std::int64_t> Importer::ShareFlags(std::int64_t id, std::int64_t task,
                                          AutotvmAgreement agreement, ImportedFile& summary) {
  const auto sound = [](std::int64_t a) {
    return a == static_cast<std::int64_t>(AutotvmAgreement::kExact) ||
           a == static_cast<std::int64_t>(AutotvmAgreement::kExactLegacy);
  };
  struct Sharer {
    std::int64_t id, task, agreement, flags;
  };
  std::vector<Sharer> sharers;
  const std::string_view costs(reinterpret_cast<const char*>(line_.costs.data()),
                               line_.costs.size() * sizeof(double));
  find_time_.Bind(1, line_.timestamp).Bind(2, kMaxSharers);
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, find_time_.Step());
    if (!row) break;
    if (find_time_.Int(0) == id || find_time_.Bytes(4) != costs) continue;
    sharers.push_back({find_time_.Int(0), find_time_.Int(1), find_time_.Int(2), find_time_.Int(3)});
  }
  find_time_.Reset();
  const bool shared =
      std::ranges::any_of(sharers, [task](const Sharer& s) { return s.task != task; });
  if (!shared) return std::int64_t{0};
  // One of the two was measured: the first one whose index matches its values, else the first.
  bool is_copy = true;
  for (const Sharer& other : sharers) {
    std::int64_t flags = other.flags | kImportedSharedResult;
    const bool original = (other.flags & kImportedCopy) == 0;
    if (original && !sound(other.agreement) && sound(static_cast<std::int64_t>(agreement))) {
      flags |= kImportedCopy;
      is_copy = false;
    }
    if (flags == other.flags) continue;
    set_flags_.Bind(1, other.id).Bind(2, flags);
    TW_RETURN_IF_ERROR(set_flags_.Run());
    if (other.id > last_before_file_) CountFlags(flags & ~other.flags, summary);
  }
  std::int64_t flags = kImportedSharedResult;
  if (is_copy) flags |= kImportedCopy;
  return flags;
}

/// Counts a duplicate: the store has the line's record, or another record with its digest.
Status Importer::CountDuplicate(const LineDigest& digest, const KnownTask& task,
                                ImportedFile& summary) {
  find_digest_.BindBytes(1, digest.bytes().data(), digest.bytes().size());
  TW_ASSIGN_OR_RETURN(auto row, find_digest_.Step());
  const std::string_view costs(reinterpret_cast<const char*>(line_.costs.data()),
                               line_.costs.size() * sizeof(double));
  const bool same = row && find_digest_.Int(0) == task.number &&
                    find_digest_.Int(1) == line_.error && find_digest_.Bytes(2) == costs &&
                    find_digest_.Real(3) == line_.timestamp;
  find_digest_.Reset();
  if (same) {
    ++summary.duplicates;
  } else {
    Refuse(summary,
           "another record in the store has its digest; `tilewright records check` finds it");
    --summary.records;
  }
  return {};
}

Status Importer::ImportRecord(const KnownTarget& target, KnownTask& task, ImportedFile& summary) {
  if (std::string why = InvalidCostsReason(line_.costs, line_.error, task.min_seconds);
      !why.empty()) {
    Refuse(summary, std::move(why));
    --summary.records;
    return {};
  }
  if (task.number < 0) {
    TW_ASSIGN_OR_RETURN(task.number,
                        NumberOf(find_task_, add_task_, task.tuple, task.name, task.workload_key));
  }
  const AutotvmCheck check = task.spaces->Check(line_);
  const double cost = line_.cost();
  std::int64_t flags = task.flags;
  if (!check.products_fit) flags |= kImportedProductsDiffer;
  if (check.renamed) flags |= kImportedRenamed;
  if (check.filtered) flags |= kImportedFiltered;
  if (!std::isfinite(cost)) flags |= kImportedNoCost;

  entities_.clear();
  line_.AppendEntities(entities_, LogLine::Style::kCompact);
  same_config_.clear();
  line_.AppendEntities(same_config_, LogLine::Style::kSameConfig);
  LineDigest digest = target.digest;
  digest.AddRecord(task.tuple, same_config_, line_);

  insert_.BindBytes(1, digest.bytes().data(), digest.bytes().size())
      .Bind(2, task.number)
      .Bind(3, target.number);
  insert_.Bind(4, source_).Bind(5, summary.lines).Bind(6, line_.index).Bind(7, entities_);
  insert_.Bind(8, line_.code_hash);
  insert_.BindBytes(9, line_.costs.data(), line_.costs.size() * sizeof(double));
  insert_.Bind(10, std::isnan(cost) ? HUGE_VAL : cost).Bind(11, line_.error);
  insert_.Bind(12, std::isfinite(line_.all_cost) ? line_.all_cost : 0.0);
  insert_.Bind(13, line_.timestamp).Bind(14, line_.tvm_version);
  insert_.Bind(15, static_cast<int>(check.agreement)).Bind(16, flags);
  TW_RETURN_IF_ERROR(insert_.Run());
  if (sqlite3_changes(db_.get()) == 0) return CountDuplicate(digest, task, summary);
  ++summary.imported;
  const auto id = static_cast<std::int64_t>(sqlite3_last_insert_rowid(db_.get()));
  if (summary.imported == 1) last_before_file_ = id - 1;
  if (line_.error == 0 && std::isfinite(cost)) {
    TW_ASSIGN_OR_RETURN(auto shared, ShareFlags(id, task.number, check.agreement, summary));
    if (shared != 0) {
      flags |= shared;
      set_flags_.Bind(1, id).Bind(2, flags);
      TW_RETURN_IF_ERROR(set_flags_.Run());
    }
  }
  ++summary.agreement[static_cast<std::size_t>(check.agreement)];
  CountFlags(flags, summary);
  return {};
}

Status Importer::ImportLine(std::string_view text, ImportedFile& summary) {
  ++summary.lines;
  if (!text.empty() && text.front() == '#') {
    ++summary.comments;
    return {};
  }
  if (text.find_first_not_of(" \t\r") == std::string_view::npos) {
    ++summary.blank;
    return {};
  }
  if (const Status read = ParseLogLine(text, line_); !read.ok()) {
    Refuse(summary, read.message());
    const bool like_a_line = text.find("\"input\"") != text.npos ||
                             text.find("\"i\"") != text.npos || text.find('\t') != text.npos;
    summary.foreign += like_a_line ? 0 : 1;
    return {};
  }
  JsonScanner scanner(line_.input);
  if (!line_.legacy) scanner.Expect('[');
  const std::string_view written = scanner.Skip();
  if (!scanner.ok()) {
    Refuse(summary, scanner.status().WithContext("input").message());
    return {};
  }
  TW_ASSIGN_OR_RETURN(auto target, TargetOf(written));
  if (!target->refused.empty()) {
    Refuse(summary, target->refused);
    return {};
  }
  const auto before =
      static_cast<std::size_t>(written.data() + written.size() - line_.input.data());
  KnownTask& task = TaskOf(*target, line_.input.substr(before));
  if (!task.refused.empty()) {
    Refuse(summary, task.refused);
    return {};
  }
  ++summary.records;
  if (target->other) {
    ++summary.other_targets;
    return {};
  }
  TW_RETURN_IF_ERROR(ImportRecord(*target, task, summary));
  return ++uncommitted_ < kCommitEvery ? Status() : Commit();
}

Status Importer::ImportFile(const std::string& path, ImportedFile& summary) {
  TW_ASSIGN_OR_RETURN(auto reader, LineReader::Open(path, kMaxLogLine));
  summary.file = path;
  summary.package = TophubPackageOf(path);
  SystemClock clock;
  add_source_.Bind(1, path).Bind(2, summary.package).Bind(3, clock.UnixSeconds());
  TW_RETURN_IF_ERROR(add_source_.Run());
  source_ = static_cast<std::int64_t>(sqlite3_last_insert_rowid(db_.get()));
  while (true) {
    std::string_view line;
    TW_ASSIGN_OR_RETURN(auto more, reader.Next(line));
    if (!more) break;
    TW_RETURN_IF_ERROR(ImportLine(line, summary));
    if (options_.progress != nullptr && summary.lines % kReportEvery == 0) {
      options_.progress(summary);
    }
  }
  if (summary.imported > 0) return {};
  return drop_source_.Bind(1, source_).Run();
}

Result<std::vector<ImportedFile>> ImportAll(const Database& db,
                                            const std::vector<std::string>& files,
                                            const ImportOptions& options) {
  Importer importer(db, options);
  TW_RETURN_IF_ERROR(importer.Start());
  std::vector<ImportedFile> summaries;
  for (const std::string& file : files) {
    TW_RETURN_IF_ERROR(importer.ImportFile(file, summaries.emplace_back()));
  }
  TW_RETURN_IF_ERROR(importer.Finish());
  return summaries;
}

}  // namespace

std::span<const std::string_view> TophubPackages() {
  static constexpr std::array<std::string_view, 10> kPackages = {
      "adreno", "amd_apu", "arm_cpu", "cuda", "intel_graphics",
      "llvm",   "mali",    "opencl",  "rocm", "vta"};
  return kPackages;
}

std::string TophubPackageOf(const std::string& path) {
  const std::string_view name = std::string_view(path).substr(path.find_last_of('/') + 1);
  for (std::string_view package : TophubPackages()) {
    if (!name.starts_with(package)) continue;
    const std::string_view rest = name.substr(package.size());
    if (!rest.starts_with("_v") || !rest.ends_with(".log")) continue;
    const std::string_view version = rest.substr(2, rest.size() - 6);
    const bool digits = version.find_first_not_of("0123456789.") == std::string_view::npos;
    if (!version.empty() && digits) return std::string(package);
  }
  return {};
}

Result<std::vector<ImportedFile>> ImportAutotvm(Store& store, const std::vector<std::string>& files,
                                                const ImportOptions& options) {
  return ImportAll(Store::DatabaseOf(store), files, options);
}

Result<std::string> ImportIntoMemory(const std::string& file) {
  TW_ASSIGN_OR_RETURN(auto db, OpenMemory());
  TW_RETURN_IF_ERROR(MakeTables(db, SchemaVersion()));
  TW_ASSIGN_OR_RETURN(auto files, ImportAll(db, {file}, {}));
  const ImportedFile& summary = files.front();
  if (summary.records == 0) {
    return InvalidArgument(file + ": no AutoTVM record in it" +
                           (summary.refused.empty()
                                ? std::string()
                                : "; line " + std::to_string(summary.refused.front().line) + ": " +
                                      summary.refused.front().reason));
  }
  return ImageOf(db);
}

}  // namespace tilewright::records
