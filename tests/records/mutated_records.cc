// Mutated stores and packages with corrected digests and signatures: every answer has to be an
// error or valid.
#include "tests/records/mutated_records.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <vector>

#include "records/autotvm/export.h"
#include "records/autotvm/import.h"
#include "records/autotvm/match.h"
#include "records/maintenance.h"
#include "records/merge.h"
#include "records/package/build.h"
#include "records/package/installed.h"
#include "records/store.h"
#include "records/validation/schedules.h"
#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/target/device.h"
#include "src/templates/registry.h"
#include "src/templates/text/text_template.h"
#include "tests/records/autotvm_lines.h"
#include "tests/support/built_in.h"

namespace tilewright::records {
namespace {

constexpr double kLongestSeconds = 10;

/// A connection without hardening, as a forger would open it.
class Forger {
 public:
  explicit Forger(const std::string& path) {
    (void)sqlite3_open(path.c_str(), &db_);
    sqlite3_extended_result_codes(db_, 1);
    Do("PRAGMA journal_mode = DELETE");
    Do("PRAGMA synchronous = OFF");
  }
  Forger(const Forger&) = delete;
  Forger& operator=(const Forger&) = delete;
  ~Forger() { sqlite3_close(db_); }
  /// Runs SQL and ignores errors.
  void Do(const std::string& sql) {
    (void)sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
  }
  std::vector<std::string> Column(const std::string& sql) {
    std::vector<std::string> texts;
    const auto add = [](void* to, int, char** values, char**) {
      const char* text = values[0] != nullptr ? values[0] : "";
      static_cast<std::vector<std::string>*>(to)->emplace_back(text);
      return 0;
    };
    (void)sqlite3_exec(db_, sql.c_str(), add, &texts, nullptr);
    return texts;
  }

 private:
  sqlite3* db_ = nullptr;
};

template <typename List>
const auto& OneOf(const List& list, Random& random) {
  return list[random.Below(std::size(list))];
}

/// Returns SQL for a value that does not fit the column.
std::string StrangeValue(const std::string& column, Random& random) {
  static constexpr std::array kValues = {
      "NULL",
      "0",
      "-1",
      "1",
      "1e308",
      "9e999",
      "-9e999",
      "4e-324",
      "9223372036854775807",
      "-9223372036854775808",
      "2147483648",
      "''",
      "' '",
      "'x'",
      "char(27) || '[2J'",
      "char(0)",
      "x'ff'",
      "x''",
      "zeroblob(100000)",
      "randomblob(7)",
      "randomblob(24)",
      "replace(hex(zeroblob(50000)), '00', '[')",
      "replace(hex(zeroblob(20000)), '00', '{\"a\":')",
      "replace(hex(zeroblob(20000)), '00', '(')",
      "'{\"index\":1,\"values\":{}}'",
      "'{\"index\":-1,\"values\":{\"oc\":[0,0,0]}}'",
      "'{\"index\":1e999}'",
      "'null'",
      "'[]'",
      "'conv2d(float32[1,99999999999,9,9]NCHW,float32[6,6,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->"
      "float32'",
      "'dense(float32[0,0]MK,float32[0,0]NK)->float32'",
      "'llvm -mcpu=none -num-threads=-5'",
      "'cuda -arch=sm_9999999999'",
      "'vta -model=x'",
      "'@'",
      "'a@b@c'",
      "'1,2,99999999999999999999'"};
  switch (random.Below(4)) {
    case 0:
      return column + " || " + column;
    case 1:
      return "substr(" + column + ", " + std::to_string(random.Below(40)) + ")";
    default:
      return OneOf(kValues, random);
  }
}

/// Returns SQL for a value of each type and size, and for neighbors of the present value.
std::string FieldValue(const std::string& column, Random& random) {
  const std::vector<std::string> values = {
      "CAST(" + column + " AS TEXT)",
      "CAST(" + column + " AS BLOB)",
      column + " + 1",
      column + " - 1",
      column + " * 1e-9",
      column + " * 1e9",
      "-" + column,
      column + " || ' '",
      "upper(" + column + ")",
      "substr(" + column + ", 1, length(" + column + ") - 1)",
      "substr(" + column + ", 2)",
      "replace(" + column + ", '1', '2')",
      "replace(" + column + ", '4', '3')",
      "replace(" + column + ", '[', '{')",
      "json_set(" + column + ", '$.index', 'x')",
      "json_set(" + column + ", '$.index', -1)",
      "json_set(" + column + ", '$.values', 1)",
      "json_set(" + column + ", '$.values.' || (SELECT key FROM json_each(" + column +
          ", '$.values') ORDER BY random() LIMIT 1), 'rows')",
      "json_set(" + column + ", '$.values.' || (SELECT key FROM json_each(" + column +
          ", '$.values') ORDER BY random() LIMIT 1), json('[0,0]'))",
      "json_set(" + column + ", '$.values.' || (SELECT key FROM json_each(" + column +
          ", '$.values') ORDER BY random() LIMIT 1), 99999999999)",
      "json_remove(" + column + ", '$.values.' || (SELECT key FROM json_each(" + column +
          ", '$.values') ORDER BY random() LIMIT 1))"};
  const std::uint64_t which = random.Below(values.size() + 30);
  return which < values.size() ? values[which] : StrangeValue(column, random);
}

/// Returns one statement of a forger.
std::string ForgedStatement(Forger& forger, Random& random) {
  const auto tables = forger.Column(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
  if (tables.empty()) return "SELECT 1";
  const std::string table = "\"" + OneOf(tables, random) + "\"";
  const auto columns = forger.Column("SELECT name FROM pragma_table_info(" + table + ")");
  if (columns.empty()) return "SELECT 1";
  const std::string& column = OneOf(columns, random);
  const std::string some = random.Below(2) == 0 ? "" : " WHERE abs(random()) % 2";
  switch (random.Below(24)) {
    case 0:
      return "DELETE FROM " + table + some;
    case 1:
      return "CREATE TRIGGER t AFTER INSERT ON " + table + " BEGIN DELETE FROM trial; END";
    case 2:
      return "CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
             " SELECT * FROM n";
    case 3:
      return "DROP TABLE " + table;
    case 4:
      return "ALTER TABLE " + table + " RENAME TO other; CREATE VIEW " + table +
             " AS WITH RECURSIVE n(id, key, op) AS (SELECT 1, 'a', 'b' UNION ALL SELECT id + 1,"
             " key, op FROM n) SELECT * FROM n";
    case 5: {
      static constexpr std::array kSchemaEdits = {"sql = replace(sql, 'TEXT', 'BLOB')",
                                                  "sql = replace(sql, 'NOT NULL', '')",
                                                  "sql = replace(sql, 'UNIQUE', '')",
                                                  "sql = sql || ' '",
                                                  "sql = substr(sql, 1, 40)",
                                                  "rootpage = rootpage + 1",
                                                  "rootpage = 1",
                                                  "rootpage = 0",
                                                  "rootpage = 99999",
                                                  "type = 'view'",
                                                  "tbl_name = 'trial'",
                                                  "name = 'trial'",
                                                  "sql = NULL"};
      return "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET " +
             std::string(OneOf(kSchemaEdits, random)) + " WHERE abs(random()) % 3 = 0";
    }
    case 6:
      return "PRAGMA user_version = " + std::to_string(static_cast<int>(random.Below(6)) - 2);
    case 7:
      return "PRAGMA application_id = " + std::to_string(random.Below(3));
    case 8:
      return "PRAGMA journal_mode = WAL";
    case 9:
      return "PRAGMA page_size = " + std::to_string(512U << random.Below(8)) + "; VACUUM";
    case 10:
      return "INSERT OR IGNORE INTO " + table + " SELECT * FROM " + table;
    default:
      return "UPDATE OR IGNORE " + table + " SET " + column + " = " + StrangeValue(column, random) +
             some;
  }
}

/// Changes the parts of a page that locate its rows, the header of the file, or any byte.
void ChangeBytes(std::string& bytes, Random& random) {
  if (bytes.size() < 512) return;
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  std::size_t page = static_cast<std::size_t>(at(16)) << 8 | at(17);
  if (page == 1) page = 65536;
  if (page < 512 || page > bytes.size()) page = 4096;
  const std::size_t start = page * random.Below(std::max<std::size_t>(1, bytes.size() / page));
  const std::size_t header = start == 0 ? 100 : start;
  std::size_t place = 0;
  switch (random.Below(5)) {
    case 0:
      place = random.Below(100);  // page size, versions, freelist, counts
      break;
    case 1:
      place = header + random.Below(12);  // kind, free block, cells, content, right-most child
      break;
    case 2:
      place = header + 8 + random.Below(64);  // pointers to cells
      break;
    default:
      place = start + random.Below(page);
  }
  if (place >= bytes.size()) return;
  static constexpr std::array<unsigned char, 8> kBytes = {0, 1, 0x7f, 0x80, 0xff, 2, 5, 13};
  const auto any = static_cast<unsigned char>(random.Below(256));
  bytes[place] = static_cast<char>(random.Below(2) == 0 ? OneOf(kBytes, random) : any);
}

/// Runs `work`; returns its error, or an error if it takes too long.
std::string Timed(const char* what, const std::function<std::string()>& work) {
  SystemClock clock;
  const double begin = clock.MonotonicSeconds();
  std::string wrong = work();
  const double seconds = clock.MonotonicSeconds() - begin;
  if (wrong.empty() && seconds > kLongestSeconds) wrong = "takes " + std::to_string(seconds) + " s";
  return wrong.empty() ? wrong : std::string(what) + ": " + wrong;
}

constexpr const char* kAskedWorkload =
    "conv2d(float32[1,128,28,28]NCHW,float32[128,128,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32";

/// Returns why a served record is invalid: its values are impossible for a measurement, or its
/// config is not in its space. Builds what can be built; a failure there ends the process.
std::string WrongWithServed(const Trial& trial, const Workload& workload, const Target& target) {
  if (trial.outcome != Outcome::kOk || !trial.verified) return "serves what was not verified";
  if (!std::isfinite(trial.value) || trial.value < 1e-9) {
    return "serves " + std::to_string(trial.value);
  }
  const TemplateEntry* entry = BuiltInTemplates().Find(trial.candidate.template_key);
  if (entry == nullptr || entry->version != trial.candidate.template_version) return {};
  auto space = entry->define_space(workload, target);
  if (!space.ok()) return "serves what has no space: " + space.status().message();
  if (!space->Locate(trial.candidate.config).ok()) {
    return "serves the config " + trial.candidate.config.ToString();
  }
  if (entry->apply != nullptr) {
    // An epilogue that does not fit is rejected.
    (void)ApplyTemplate(*entry, workload, {}, target, trial.candidate.config).ok();
  }
  return {};
}

/// Checks that imported records are served for their queries and have possible costs.
std::string AskByAutotvm(const Store& store, std::int64_t& answered) {
  auto task = AutotvmTask::Parse(kConvTuple);
  auto target = AutotvmTarget::Parse("llvm -mcpu=core-avx2");
  if (!task.ok() || !target.ok()) return "no task to ask for";
  auto answer = QueryAutotvm(store, *task, *target, "");
  if (!answer.ok() || !answer->record.has_value()) return {};
  ++answered;
  const double cost = answer->record->cost;
  if (!std::isfinite(cost) || cost < 1e-9) return "serves a cost of " + std::to_string(cost);
  (void)CandidateOfImported(BuiltInTemplates(), *answer->record,
                            *Target::Parse("llvm -mcpu=core-avx2"))
      .ok();
  return {};
}

/// Queries a store and checks that the answer may be served.
std::string AskStore(const Store& store, std::int64_t& answered) {
  const Workload workload = *Workload::Parse(kAskedWorkload);
  DeviceFingerprint device;
  device.kind = "cpu";
  device.model = "any";
  for (const char* text : {"llvm -mcpu=znver5", "llvm -mcpu=haswell"}) {
    auto answer = store.Query(BuiltInTemplates(), workload, *Target::Parse(text), device);
    if (!answer.ok() || !answer->record.has_value()) continue;
    ++answered;
    std::string wrong = WrongWithServed(answer->record->trial, workload, *Target::Parse(text));
    if (!wrong.empty()) return wrong;
  }
  TrialFilter filter;
  filter.valid_for = &BuiltInTemplates();
  auto records = store.Trials(filter);
  if (!records.ok()) return {};
  for (const Record& record : *records) {
    const Task& task = record.trial.candidate.task;
    auto answer = store.Query(BuiltInTemplates(), task.workload, task.target, record.trial.device);
    if (!answer.ok() || !answer->record.has_value()) continue;
    ++answered;
    std::string wrong = WrongWithServed(answer->record->trial, task.workload, task.target);
    if (!wrong.empty()) return wrong;
  }
  return AskByAutotvm(store, answered);
}

/// Copies the trials of a store of any version as current trials, and adds a row to every other
/// table: a job and its log, a winner, a schedule text and a trial of it, imported records.
Status FillSound(const std::string& from, const std::string& to, const std::string& log) {
  auto old = Store::Open(from, Store::Mode::kReadOnly);
  TW_RETURN_IF_ERROR(old);
  auto records = old->Trials({});
  TW_RETURN_IF_ERROR(records);
  TemplateRegistry templates = BuiltInTemplates();
  auto text = ParseScheduleText(
      "schedule rows for conv2d on llvm\nknob tile = {1, 2, 4}\ns = stage(\"reduce\")\n"
      "h, w = split(axis(s, 2), tile)\n");
  TW_RETURN_IF_ERROR(text);
  const std::string key = text->key;
  TW_RETURN_IF_ERROR(AddScheduleText(templates, *std::move(text)));
  std::vector<Trial> trials;
  for (const Record& record : *records) {
    Trial trial = record.trial;
    Candidate& candidate = trial.candidate;
    const TemplateEntry* entry = templates.Find(candidate.template_key);
    if (entry == nullptr) continue;
    candidate.template_version = entry->version;
    trial.codegen_version = DeviceTraitsOf(candidate.task.target).codegen_version;
    trial.finished_unix_seconds = 1.75e9;
    auto space = entry->define_space(candidate.task.workload, candidate.task.target);
    if (!space.ok()) continue;
    auto config = space->Locate(candidate.config);
    candidate.config = config.ok() ? *std::move(config) : space->At(0);
    trials.push_back(std::move(trial));
  }
  if (trials.empty()) return Corrupt(from + ": no trials to begin with");
  trials.push_back(trials.front());
  Candidate& candidate = trials.back().candidate;
  candidate.task = {*Workload::Parse(kAskedWorkload), *Target::Parse("llvm -mcpu=haswell")};
  candidate.template_key = key;
  candidate.template_version = kScheduleTextVersion;
  auto space = templates.Find(key)->define_space(candidate.task.workload, candidate.task.target);
  TW_RETURN_IF_ERROR(space);
  candidate.config = space->At(1);
  auto store = Store::Open(to, Store::Mode::kReadWrite);
  TW_RETURN_IF_ERROR(store);
  auto job = store->OpenJob("job", "{}", 7);
  TW_RETURN_IF_ERROR(job);
  TW_RETURN_IF_ERROR(store->Append(job->id, trials, {{"task", "tell", "{}"}}));
  TW_RETURN_IF_ERROR(store->StoreBest(job->id, trials.front(), {7}));
  TW_RETURN_IF_ERROR(StoreScheduleTexts(*store, templates));
  TW_RETURN_IF_ERROR(store->SetFact("resolution", "0.01"));
  TW_RETURN_IF_ERROR(
      WriteFile(log, ConvLine(8, 3, "0.002") + "\n" + ConvLine(4, 2, "0.003") + "\n"));
  return ToStatus(ImportAutotvm(*store, {log}, {}));
}

}  // namespace

Result<MutatedRecords> MutatedRecords::Create(const std::string& folder,
                                              const std::string& corpus) {
  auto bytes = ReadFile(corpus);
  TW_RETURN_IF_ERROR(bytes);
  const std::string path = folder + "/base.db";
  TW_RETURN_IF_ERROR(WriteFile(path, *bytes));
  TW_RETURN_IF_ERROR(Store::Open(path, Store::Mode::kReadWrite));  // migrates it
  const std::string own = folder + "/own.db";
  TW_RETURN_IF_ERROR(FillSound(path, own, folder + "/lines.log"));
  auto problems = CheckStore(BuiltInTemplates(), own);
  TW_RETURN_IF_ERROR(problems);
  if (!problems->empty()) return Corrupt("the sound store is none: " + problems->front());
  { const Forger forger(own); }  // a single file
  auto base = ReadFile(own);
  TW_RETURN_IF_ERROR(base);
  return MutatedRecords(folder, *std::move(base));
}

void MutatedRecords::Mutate(const std::string& path, Random& random) const {
  if (random.Below(4) != 0) {
    Forger forger(path);
    for (std::uint64_t i = random.Below(4) + 1; i > 0; --i) {
      forger.Do(ForgedStatement(forger, random));
    }
  }
  if (random.Below(2) != 0) return;
  auto bytes = ReadFile(path);
  if (!bytes.ok()) return;
  for (std::uint64_t i = random.Below(6) + 1; i > 0; --i) ChangeBytes(*bytes, random);
  if (random.Below(16) == 0) bytes->resize(random.Below(bytes->size() + 1));
  (void)WriteFile(path, *bytes);
}

std::string MutatedRecords::TryStore(std::uint64_t seed) { return Try(seed, true); }

std::string MutatedRecords::TryField(std::uint64_t seed) { return Try(seed, false); }

std::string MutatedRecords::Try(std::uint64_t seed, bool anything) {
  Random random(seed);
  const std::string path = folder_ + "/case.db", work = folder_ + "/work";
  for (const char* end : {"", "-wal", "-shm", "-journal"}) std::filesystem::remove(path + end);
  std::filesystem::remove_all(work);
  std::filesystem::create_directory(work);
  const bool written = WriteFile(path, base_).ok() && WriteFile(work + "/sound.db", base_).ok();
  if (!written) return "the disk is full";
  if (anything) {
    Mutate(path, random);
  } else {
    ChangeField(path, random);
  }
  const auto none = [](const Status&) { return std::string(); };
  const std::pair<const char*, std::function<std::string()>> kWork[] = {
      {"query",
       [&]() -> std::string {
         auto store = Store::Open(path, Store::Mode::kReadOnly);
         if (!store.ok()) return {};
         ++opened;
         return AskStore(*store, answered);
       }},
      {"check", [&] { return none(ToStatus(CheckStore(BuiltInTemplates(), path))); }},
      {"stats", [&] { return none(ToStatus(Summarize(BuiltInTemplates(), path))); }},
      {"best", [&] { return none(ToStatus(BestOfStore(BuiltInTemplates(), path, 2))); }},
      {"csv", [&] { return none(ExportCsv(path, {}, [](std::string_view) { return Status(); })); }},
      {"export",
       [&]() -> std::string {
         auto store = Store::Open(path, Store::Mode::kReadOnly);
         if (!store.ok()) return {};
         return none(
             ToStatus(ExportAutotvm(BuiltInTemplates(), *store, {.best = random.Below(2) == 0},
                                    [](std::string_view) { return Status(); })));
       }},
      {"backup", [&] { return none(ToStatus(BackupStore(path, work + "/backup.db"))); }},
      {"vacuum", [&] { return none(ToStatus(VacuumStore(path, work + "/vacuum.db"))); }},
      {"merge",
       [&] { return none(ToStatus(MergeStores(BuiltInTemplates(), work + "/sound.db", {path}))); }},
      {"split",
       [&] { return none(ToStatus(SplitStore(path, work + "/parts", SplitBy::kDevice))); }},
      {"package", [&] { return none(ToStatus(BuildPackages(BuiltInTemplates(), {path}, {}))); }},
      {"prune", [&] { return none(ToStatus(PruneStore(BuiltInTemplates(), path, {}))); }},
      {"write",
       [&]() -> std::string {
         auto store = Store::Open(path, Store::Mode::kReadWrite);
         if (!store.ok()) return {};
         auto job = store->OpenJob("mutated", "{}", 1);
         return job.ok() ? none(store->Append(job->id, {}, {{"task", "tell", "{}"}})) : "";
       }},
  };
  for (const auto& [what, run] : kWork) {
    if (std::string wrong = Timed(what, run); !wrong.empty()) return wrong;
  }
  // A store that accepted rows must still be valid.
  auto sound = CheckStore(BuiltInTemplates(), work + "/sound.db");
  if (!sound.ok()) return "merge damaged a store: " + sound.status().message();
  return sound->empty() ? "" : "merge took in what is wrong: " + sound->front();
}

void MutatedRecords::ChangeField(const std::string& path, Random& random) {
  Forger forger(path);
  const auto tables = forger.Column(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
  const std::string& table = OneOf(tables, random);
  const auto columns = forger.Column("SELECT name FROM pragma_table_info('" + table + "')");
  const std::string& column = OneOf(columns, random);
  const auto count = forger.Column("SELECT count(*) FROM " + table);
  const std::uint64_t rows = std::strtoull(count.front().c_str(), nullptr, 10);
  if (rows == 0) return;
  const std::string row = " LIMIT 1 OFFSET " + std::to_string(random.Below(rows));
  const auto key = forger.Column("SELECT quote(" + columns.front() + ") FROM " + table + row);
  forger.Do("UPDATE OR IGNORE " + table + " SET " + column + " = " + FieldValue(column, random) +
            " WHERE " + columns.front() + " IS " + key.front());
}

std::string MutatedRecords::TryPackage(std::uint64_t seed) { return TryPackage(seed, true); }

std::string MutatedRecords::TryPackageField(std::uint64_t seed) { return TryPackage(seed, false); }

std::string MutatedRecords::TryPackage(std::uint64_t seed, bool anything) {
  Random random(seed);
  const std::string path = folder_ + "/case.db", root = folder_ + "/packages";
  std::filesystem::remove_all(root);
  if (!WriteFile(path, base_).ok()) return "disk full";
  std::filesystem::permissions(folder_, std::filesystem::perms::owner_all);
  PackageOptions options;
  options.name = "mutated";
  options.license = "CC0-1.0";
  auto built = BuildPackages(BuiltInTemplates(), {path}, options);
  if (!built.ok()) return "no package of the sound store: " + built.status().message();
  auto package = ReadPackage(built->front().bytes, {{}, true});
  if (!package.ok() || !WriteFile(path, package->database).ok()) return "the sound one is refused";
  if (anything) {
    Mutate(path, random);
  } else {
    ChangeField(path, random);
  }
  auto image = ReadFile(path);
  if (!image.ok()) return {};
  PackageManifest manifest = package->manifest;
  manifest.database_bytes = static_cast<std::int64_t>(image->size());
  manifest.database_sha256 = Sha256Hex(*image);
  const std::uint64_t kRarely = anything ? 6 : std::uint64_t{1} << 62;
  if (random.Below(kRarely) == 0) manifest.trials += static_cast<std::int64_t>(random.Below(3)) - 1;
  if (random.Below(kRarely) == 0) manifest.schema = static_cast<int>(random.Below(5));
  if (random.Below(kRarely) == 0) manifest.license = std::string(random.Below(70000), '\x1b');
  if (random.Below(kRarely) == 0) manifest.targets = {"llvm -mcpu=haswell", "x"};
  auto bytes = PackageBytes(manifest, *image, nullptr);
  if (!bytes.ok()) return {};
  return Timed("package", [&]() -> std::string {
    auto read = ReadPackage(*bytes, {{}, true}, &BuiltInTemplates());
    if (!read.ok()) return {};
    ++opened;
    auto installed = InstallPackage(*read, *bytes, root, true);
    if (!installed.ok()) return "cannot be installed: " + installed.status().message();
    auto store = OpenInstalled(installed->package);
    if (!store.ok()) return "was accepted and does not open: " + store.status().message();
    auto held = PinnedPackage::Pin(installed->package);
    auto mapped = held.ok() ? (*held)->Open() : Result<Store>(held.status());
    if (!mapped.ok()) return "does not open mapped: " + mapped.status().message();
    std::string wrong = AskStore(*store, answered);
    return wrong.empty() ? AskStore(*mapped, answered) : wrong;
  });
}

}  // namespace tilewright::records
