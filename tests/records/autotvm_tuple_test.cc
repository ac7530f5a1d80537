#include "records/autotvm/tuple.h"

#include <gtest/gtest.h>

#include "src/base/files/file.h"
#include "src/base/strings.h"
#include "tests/records/shared_file.h"

namespace tilewright::records {
namespace {

struct TupleReject {
  const char* name;
  const char* text;
  const char* message;
};
void PrintTo(const TupleReject& c, std::ostream* os) { *os << c.name; }

TEST(AutotvmTupleTest, MobilenetTuplesRoundTrip) {
  const std::string file = SharedFile("expected/mobilenet_v2_workloads.txt");
  TW_NEEDS_SHARED(file);
  const Target target = *Target::Parse("llvm -keys=cpu -link-params=0");
  const std::string text = *ReadFile(file);
  int lines = 0;
  for (const std::string& line : Split(Trim(text), '\n')) {
    const auto workload = ParseAutotvmTuple(line);
    ASSERT_TRUE(workload.ok()) << workload.status().message();
    const std::string name = AutotvmName(*workload, target);
    EXPECT_EQ(*AutotvmTuple(*workload, name), line);
    EXPECT_EQ(*Workload::Parse(workload->Key()), *workload);
    ++lines;
  }
  EXPECT_EQ(lines, 31);
}

TEST(AutotvmTupleTest, ConvBnReluTuplesRoundTrip) {
  const std::string file = SharedFile("expected/conv_bn_relu_workloads.txt");
  TW_NEEDS_SHARED(file);
  const std::string text = *ReadFile(file);
  const std::vector<std::string> lines = Split(Trim(text), '\n');
  ASSERT_EQ(lines.size(), 4u);
  for (std::size_t i = 0; i < lines.size(); i += 2) {
    const auto target = Target::Parse(lines[i].substr(std::string("target=").size()));
    ASSERT_TRUE(target.ok()) << target.status().message();
    const std::string tuple = lines[i + 1].substr(std::string("key=").size());
    const auto workload = ParseAutotvmTuple(tuple);
    ASSERT_TRUE(workload.ok()) << workload.status().message();
    EXPECT_EQ(*AutotvmTuple(*workload, AutotvmName(*workload, *target)), tuple);
  }
}

class TupleTest : public testing::TestWithParam<const char*> {};

TEST_P(TupleTest, RoundTrips) {
  const std::string tuple = GetParam();
  const auto workload = ParseAutotvmTuple(tuple);
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  const std::string name = tuple.substr(2, tuple.find('\'', 2) - 2);
  EXPECT_EQ(*AutotvmTuple(*workload, name), tuple);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, TupleTest,
    testing::Values(
        "('conv2d_packed.vta', ('TENSOR', (1, 4, 56, 56, 1, 16), 'int8'), ('TENSOR', (4, 4, 3, 3, "
        "16, 16), 'int8'), (1, 1), (1, 1, 1, 1), (1, 1), 'NCHW1n16c', 'int32')",
        "('group_conv2d_packed.vta', ('TENSOR', (1, 4, 28, 28, 1, 16), 'int8'), ('TENSOR', (4, 1, "
        "3,"
        " 3, 16, 16), 'int8'), (1, 1), (1, 1, 1, 1), (1, 1), 4, 'int32')",
        "('conv2d_transpose_packed.vta', ('TENSOR', (1, 4, 4, 4, 1, 16), 'int8'), ('TENSOR', (2, "
        "4, "
        "4, 4, 16, 16), 'int8'), (2, 2), (1, 1, 1, 1), 'int32', (0, 0))",
        "('dense_packed.vta', ('TENSOR', (1, 8, 1, 16), 'int8'), ('TENSOR', (4, 8, 16, 16), "
        "'int8'),"
        " None, 'int32')",
        "('group_conv2d_nchw.cuda', ('TENSOR', (1, 8, 5, 5), 'float32'), ('TENSOR', (8, 4, 3, 3), "
        "'float32'), (1, 1), (1, 1, 1, 1), (1, 1), 2, 'float32')",
        "('conv2d_transpose_nchw.cuda', ('TENSOR', (1, 8, 5, 5), 'float32'), ('TENSOR', (8, 4, 3, "
        "3), 'float32'), (2, 2), (1, 1, 1, 1), 'float32', (1, 1))",
        "('add.vta', ('TENSOR', (1, 4, 7, 7, 1, 16), 'int32'), ('TENSOR', (1, 4, 7, 7, 1, 16), "
        "'int32'))",
        "('multiply.vta', ('TENSOR', (1, 4, 7, 7, 1, 16), 'int32'), ('TENSOR', (1, 4, 7, 7, 1, "
        "16), 'int32'))",
        "('batch_matmul.x86', ('TENSOR', (2, 3, 5), 'float32'), ('TENSOR', (2, 4, 5), 'float32'))",
        "('conv2d_NCHWc_int8.x86', ('TENSOR', (1, 64, 56, 56), 'uint8'), ('TENSOR', (64, 64, 3, 3),"
        " 'int8'), (1, 1), (1, 1, 1, 1), (1, 1), 'NCHW', 'NCHW', 'int32')"));

TEST(AutotvmTupleTest, BlockedLayoutsAreWrittenUnblocked) {
  const Workload w = *Workload::Parse(
      "conv2d(int16[1,2,6,6,8]NCHW8c,int16[1,2,1,1,8,8]OIHW8i8o,s1x1,p0x0x0x0,d1x1,g1)->int32");
  EXPECT_EQ(*AutotvmTuple(w, "conv2d_NCHWc.x86"),
            "('conv2d_NCHWc.x86', ('TENSOR', (1, 16, 6, 6), 'int16'), ('TENSOR', (8, 16, 1, 1), "
            "'int16'), (1, 1), (0, 0, 0, 0), (1, 1), 'NCHW', 'NCHW', 'int32')");
}

TEST(AutotvmTupleTest, OldArgumentsAreUnderstood) {
  const auto workload = ParseAutotvmTuple(
      "[\"conv2d_nchw.cuda\", [\"TENSOR\", [1, 3, 8, 8], \"float32\"], [\"TENSOR\", [4, 3, 3, 3], "
      "\"float32\"], 2, [1, 0], [1, 1], None]");
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  EXPECT_EQ(workload->Key(),
            "conv2d(float32[1,3,8,8]NCHW,float32[4,3,3,3]OIHW,s2x2,p1x0x1x0,d1x1,g1)->float32");
}

// Some logs of packed convolutions name the layout of the output in addition to that of the data.
TEST(AutotvmTupleTest, ASecondEqualLayoutIsUnderstood) {
  const std::string tuple =
      "('conv2d_packed.vta', ('TENSOR', (1, 8, 56, 56, 4, 8), 'int8'), ('TENSOR', (8, 8, 3, 3, 8, "
      "8), 'int8'), (1, 1), (1, 1, 1, 1), (1, 1), 'NCHW4n8c', 'NCHW4n8c', 'int32')";
  const auto workload = ParseAutotvmTuple(tuple);
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  EXPECT_EQ(workload->Key(),
            "conv2d(int8[1,8,56,56,4,8]NCHW4n8c,int8[8,8,3,3,8,8]OIHW8o8i,s1x1,p1x1x1x1,d1x1,g1)->"
            "int32");
  std::string other = tuple;
  other.replace(other.rfind("NCHW4n8c"), 8, "NCHW1n8c");
  EXPECT_FALSE(ParseAutotvmTuple(other).ok());
}

// In AutoTVM's tuples, the operands of an addition are widened, whatever their type in memory.
TEST(AutotvmTupleTest, AdditionsOfInt8AreWrittenWidened) {
  const Workload w =
      *Workload::Parse("add(int8[1,4,7,7,1,16]NCHW1n16c,int8[1,4,7,7,1,16]NCHW1n16c)->int32");
  EXPECT_EQ(AutotvmName(w, *Target::Parse("vta")), "add.vta");
  EXPECT_EQ(*AutotvmTuple(w, "add.vta"),
            "('add.vta', ('TENSOR', (1, 4, 7, 7, 1, 16), 'int32'), ('TENSOR', (1, 4, 7, 7, 1, 16), "
            "'int32'))");
}

TEST(AutotvmTupleTest, RefusesWhatATemplateCannotExpress) {
  const Workload nhwc = *Workload::Parse(
      "conv2d(float32[1,5,6,3]NHWC,float32[3,3,3,4]HWIO,s1x1,p1x1x1x1,d1x1,g1)->float32");
  EXPECT_EQ(AutotvmTuple(nhwc, "conv2d_NCHWc.x86").status().message(),
            "task 'conv2d_NCHWc.x86': layouts NHWC and HWIO, expected blocks of NCHW and OIHW");
  EXPECT_EQ(AutotvmTuple(nhwc, "dense_nopack.x86").status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(AutotvmTuple(nhwc, "sort.x86").status().message(), "unknown task 'sort.x86'");
  EXPECT_EQ(AutotvmName(nhwc, *Target::Parse("llvm")), "");
}

class TupleRejectTest : public testing::TestWithParam<TupleReject> {};

TEST_P(TupleRejectTest, SaysWhereAndWhat) {
  const auto workload = ParseAutotvmTuple(GetParam().text);
  ASSERT_FALSE(workload.ok());
  EXPECT_EQ(workload.status().message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Tuples, TupleRejectTest,
    testing::Values(
        TupleReject{"Number", "7", "workload tuple '7': item 0: expected a task name"},
        TupleReject{"Open", "('dense_nopack.x86'",
                    "workload tuple '('dense_nopack.x86'': position 19: expected ')'"},
        TupleReject{"Deep", "((((((((((1))))))))))",
                    "workload tuple '((((((((((1))))))))))': position 9: expected at most 8 nested "
                    "tuples"},
        TupleReject{"Task", "('sort.x86',)",
                    "workload tuple '('sort.x86',)': unknown task 'sort.x86'"},
        TupleReject{
            "Rank", "('dense_nopack.x86', ('TENSOR', (1, 2, 3), 'float32'))",
            "workload tuple '('dense_nopack.x86', ('TENSOR', (1, 2, 3), 'float32'))': item 2: "
            "expected a tensor of 2 dimensions"},
        TupleReject{
            "Size", "('dense_nopack.x86', ('TENSOR', (1, -2), 'float32'))",
            "workload tuple '('dense_nopack.x86', ('TENSOR', (1, -2), 'float32'))': item 2: "
            "expected a tensor of integer sizes"}),
    testing::PrintToStringParamName());

}  // namespace
}  // namespace tilewright::records
