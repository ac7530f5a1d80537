// The public AutoTVM package for x86: each record becomes a candidate of Tilewright's template, is
// built for this machine, and gives the correct result.

#include <gtest/gtest.h>

#include "records/autotvm/import.h"
#include "records/imported.h"
#include "src/base/files/file.h"
#include "src/tensor/reference/reference.h"
#include "tests/records/shared_file.h"
#include "tests/support/built_in.h"
#include "tests/templates/kernel_runner.h"

namespace tilewright {
namespace {

struct ImportedLog {
  const char* name;
  int verified;
};
void PrintTo(const ImportedLog& log, std::ostream* out) { *out << log.name; }
class ImportedRecordsTest : public testing::TestWithParam<ImportedLog> {};

TEST_P(ImportedRecordsTest, EveryX86RecordBuildsRunsAndVerifies) {
  const std::string path = SharedFile(std::string("tophub/") + GetParam().name + ".log");
  TW_NEEDS_SHARED(path);
  auto folder = ScopedTempDir::Create("tilewright-imported-test");
  ASSERT_TRUE(folder.ok());
  auto store =
      records::Store::Open(folder->path() + "/records.db", records::Store::Mode::kReadWrite);
  ASSERT_TRUE(store.ok()) << store.status().message();
  auto summary = records::ImportAutotvm(*store, {path}, {});
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  const Target target = *Target::Parse("native");
  int verified = 0;
  const Status visited =
      records::ForEachImported(*store, [&](const records::ImportedRecord& record) -> Status {
        SCOPED_TRACE(record.tuple);
        if (BuiltInTemplates().Find(record.task) == nullptr) return {};  // only AutoTVM has it
        auto candidate = records::CandidateOfImported(BuiltInTemplates(), record, target);
        TW_RETURN_IF_ERROR(candidate);
        EXPECT_EQ(candidate->config.index, record.index);
        const Workload& workload = candidate->task.workload;
        const TemplateEntry* entry = BuiltInTemplates().Find(candidate->template_key);
        auto kernel = entry->apply(workload, {}, target, candidate->config);
        TW_RETURN_IF_ERROR(kernel);
        const AnchorData operands = MakeAnchorData(workload, {}, 7);
        auto result = RunKernel(workload, {}, target, *kernel, operands);
        TW_RETURN_IF_ERROR(result);
        auto reference =
            EvaluateAnchor(workload, {}, operands.data, operands.weight, {}, /*threads=*/2);
        TW_RETURN_IF_ERROR(reference);
        EXPECT_TRUE(Compare(*result, *reference).ok);
        ++verified;
        return {};
      });
  EXPECT_TRUE(visited.ok()) << visited.message();
  EXPECT_EQ(verified, GetParam().verified);
}
INSTANTIATE_TEST_SUITE_P(Own, ImportedRecordsTest, testing::Values(ImportedLog{"own_x86", 14}));
INSTANTIATE_TEST_SUITE_P(Shared, ImportedRecordsTest,
                         testing::Values(ImportedLog{"llvm_v0.04", 35}));

}  // namespace
}  // namespace tilewright
