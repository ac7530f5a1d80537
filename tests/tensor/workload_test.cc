#include "src/tensor/workload.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "src/base/file.h"
#include "src/base/json.h"
#include "src/base/strings.h"

namespace tilewright {
namespace {

/// Folder of expected results, or empty where it is absent.
std::string ExpectedFolder() {
  const char* set = std::getenv("TILEWRIGHT_SHARED");
  const std::string shared = set != nullptr ? set : TILEWRIGHT_SOURCE_DIR "/../shared";
  const std::string folder = shared + "/data/expected";
  return std::filesystem::is_directory(folder) ? folder : "";
}

struct KeyCase {
  const char* name;
  const char* key;
  const char* op;
  const char* output;
  std::int64_t macs;
};
void PrintTo(const KeyCase& c, std::ostream* os) { *os << c.name; }
class KeyTest : public testing::TestWithParam<KeyCase> {};

TEST_P(KeyTest, RoundTripsAndDescribes) {
  const KeyCase& c = GetParam();
  const auto workload = Workload::Parse(c.key);
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  EXPECT_EQ(workload->Key(), c.key);
  EXPECT_EQ(workload->op_name(), c.op);
  EXPECT_EQ(workload->OutputType()->ToString() + *workload->OutputLayout(), c.output);
  EXPECT_EQ(workload->macs(), c.macs);
  if (!IsAnchor(workload->op)) return;
  const auto again =
      Workload::FromOperator(workload->ToOperator(), workload->data, workload->weight);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, *workload);
}

INSTANTIATE_TEST_SUITE_P(
    Workloads, KeyTest,
    testing::Values(
        KeyCase{"Conv",
                "conv2d(float32[1,3,224,224]NCHW,float32[64,3,7,7]OIHW,s2x2,p3x3x3x3,d1x1,g1)->"
                "float32",
                "conv2d", "float32[1,64,112,112]NCHW", 118013952},
        KeyCase{"Nhwc",
                "conv2d(float32[32,224,224,4]NHWC,float32[7,7,4,64]HWIO,s2x2,p3x3x3x3,d1x1,g1)->"
                "float32",
                "conv2d", "float32[32,112,112,64]NHWC", 5035261952},
        KeyCase{"Depthwise",
                "depthwise_conv2d(float32[1,32,112,112]NCHW,float32[32,1,3,3]OIHW,s1x1,p1x1x1x1,"
                "d1x1,g32)->float32",
                "depthwise_conv2d", "float32[1,32,112,112]NCHW", 3612672},
        KeyCase{"Multiplier",
                "group_conv2d(float32[1,4,5,5]NCHW,float32[8,1,3,3]OIHW,s1x1,p0x0x0x0,d2x2,g4)->"
                "float32",
                "group_conv2d", "float32[1,8,1,1]NCHW", 72},
        KeyCase{"Packed",
                "conv2d(int8[1,4,56,56,1,16]NCHW1n16c,int8[8,4,1,1,16,16]OIHW16o16i,s2x2,p0x0x0x0,"
                "d1x1,g1)->int32",
                "conv2d", "int32[1,8,28,28,1,16]NCHW1n16c", 6422528},
        KeyCase{
            "BlocksDiffer",
            "conv2d(int16[1,1,258,258,3]NCHW3c,int16[4,1,3,3,3,8]OIHW3i8o,s2x2,p0x0x0x0,d1x1,g1)"
            "->int32",
            "conv2d", "int32[1,4,128,128,8]NCHW8c", 14155776},
        KeyCase{"Transposed",
                "conv2d_transpose(float32[1,8,4,4]NCHW,float32[8,6,3,3]IOHW,s2x2,p1x1x1x1,d1x1,g1,"
                "o1x1)->float32",
                "conv2d_transpose", "float32[1,6,8,8]NCHW", 16 * 6 * 8 * 9},
        KeyCase{"Dense", "dense(int8[2,1280]MK,int8[1000,1280]NK)->int32", "dense",
                "int32[2,1000]MN", 2560000},
        KeyCase{"DensePacked", "dense(int8[1,2,1,16]MK1m16k,int8[3,2,16,16]NK16n16k)->int32",
                "dense", "int32[1,3,1,16]MN1m16n", 48 * 32},
        KeyCase{"BatchMatmul", "batch_matmul(float32[4,3,5]BMK,float32[4,7,5]BNK)->float32",
                "batch_matmul", "float32[4,3,7]BMN", 4 * 3 * 5 * 7},
        KeyCase{"Add", "add(int8[1,4,7,7,1,16]NCHW1n16c,int8[1,4,7,7,1,16]NCHW1n16c)->int32", "add",
                "int32[1,4,7,7,1,16]NCHW1n16c", 0},
        KeyCase{"Multiply", "mul(int32[1,4,7,7,1,16]NCHW1n16c,int8[1,4,7,7,1,16]NCHW1n16c)->int32",
                "mul", "int32[1,4,7,7,1,16]NCHW1n16c", 0},
        KeyCase{"Identity", "identity(int8[1,4,7,7,1,16]NCHW1n16c)->int32", "identity",
                "int32[1,4,7,7,1,16]NCHW1n16c", 0},
        KeyCase{"MaxPool", "max_pool2d(int8[1,4,112,112,1,16]NCHW1n16c,k3x3,s2x2,p1x1x1x1)->int8",
                "max_pool2d", "int8[1,4,56,56,1,16]NCHW1n16c", 0}),
    testing::PrintToStringParamName());

struct RejectCase {
  const char* name;
  const char* text;
  const char* message;
};
void PrintTo(const RejectCase& c, std::ostream* os) { *os << c.name; }
class KeyRejectTest : public testing::TestWithParam<RejectCase> {};

TEST_P(KeyRejectTest, SaysWhereAndWhat) {
  const auto workload = Workload::Parse(GetParam().text);
  ASSERT_FALSE(workload.ok());
  EXPECT_EQ(workload.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(workload.status().message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Keys, KeyRejectTest,
    testing::Values(
        RejectCase{"Empty", "", "workload '': position 0: expected an operator such as conv2d"},
        RejectCase{"Operator", "relu(float32[1])",
                   "workload 'relu(float32[1])': position 0: expected an operator such as conv2d"},
        RejectCase{"Type", "dense(float31[1,2]MK",
                   "workload 'dense(float31[1,2]MK': position 6: expected an element type such as "
                   "float32"},
        RejectCase{"Truncated", "dense(float32[1,2]MK,float32[3,2]NK)",
                   "workload 'dense(float32[1,2]MK,float32[3,2]NK)': position 35: expected ')->'"},
        RejectCase{
            "Trailing", "dense(float32[1,2]MK,float32[3,2]NK)->float32 ",
            "workload 'dense(float32[1,2]MK,float32[3,2]NK)->float32 ': position 45: expected "
            "the end"},
        RejectCase{"Shape", "dense(float32[1,2]MK,float32[3,4]NK)->float32",
                   "workload 'dense(float32[1,2]MK,float32[3,4]NK)->float32': dense: data "
                   "float32[1,2] and weight float32[3,4]: expected equal K"},
        RejectCase{
            "Groups",
            "conv2d(float32[1,4,5,5]NCHW,float32[4,1,3,3]OIHW,s1x1,p0x0x0x0,d1x1,g4)->float32",
            "workload 'conv2d(float32[1,4,5,5]NCHW,float32[4,1,3,3]OIHW,s1x1,p0x0x0x0,d1x1,g4"
            ")->float32': named conv2d, expected depthwise_conv2d for its groups"},
        RejectCase{
            "Sums", "dense(int8[1,2]MK,int8[3,2]NK)->int8",
            "workload 'dense(int8[1,2]MK,int8[3,2]NK)->int8': dense: int8 x int8 -> int8, "
            "expected one float type (float16 also with float32 sums) or integers with int32 sums"},
        RejectCase{"Huge", "dense(float32[1,99999999999]MK,float32[3,99999999999]NK)->float32",
                   "workload 'dense(float32[1,99999999999]MK,float32[3,99999999999]NK)->float32': "
                   "dense: data is float32[1,99999999999], expected sizes from 1 to 2147483648"},
        RejectCase{"Shapes", "add(int8[1,2,3,3]NCHW,int8[1,2,3,4]NCHW)->int32",
                   "workload 'add(int8[1,2,3,3]NCHW,int8[1,2,3,4]NCHW)->int32': add: "
                   "int8[1,2,3,3]NCHW and int8[1,2,3,4]NCHW, expected equal shapes and layouts"},
        RejectCase{"Floats", "identity(float32[1,2,3,3]NCHW)->int32",
                   "workload 'identity(float32[1,2,3,3]NCHW)->int32': identity: expected integers "
                   "of at most 32 bits"},
        RejectCase{"Narrowing", "identity(int32[1,2,3,3]NCHW)->int8",
                   "workload 'identity(int32[1,2,3,3]NCHW)->int8': identity: makes int8, expected "
                   "int32"},
        RejectCase{"Window", "max_pool2d(int8[1,2,3,3]NCHW,k5x5,s1x1,p0x0x0x0)->int8",
                   "workload 'max_pool2d(int8[1,2,3,3]NCHW,k5x5,s1x1,p0x0x0x0)->int8': "
                   "max_pool2d: window 5x5 is larger than the padded image 3x3"}),
    testing::PrintToStringParamName());

/// The workload of one entry of an expected task list.
Workload FromJson(const Json& task) {
  const auto type = [&](const char* shape, const char* dtype) {
    return TensorType{task[shape].get<std::vector<std::int64_t>>(),
                      *ParseDataType(task[dtype].get<std::string>())};
  };
  Operator op{task["op"] == "dense" ? OpKind::kDense : OpKind::kConv2d, {}};
  OpAttributes& a = op.attributes;
  a.dtype = *ParseDataType(task["out_dtype"].get<std::string>());
  if (op.kind == OpKind::kConv2d) {
    a.strides = task["strides"].get<std::array<std::int64_t, 2>>();
    a.padding = task["padding"].get<std::array<std::int64_t, 4>>();
    a.dilation = task["dilation"].get<std::array<std::int64_t, 2>>();
    a.groups = task["groups"].get<std::int64_t>();
    a.data_layout = task["data_layout"].get<std::string>();
    a.kernel_layout = task["kernel_layout"].get<std::string>();
  }
  auto workload =
      Workload::FromOperator(op, type("data", "data_dtype"), type("weight", "weight_dtype"));
  EXPECT_TRUE(workload.ok()) << workload.status().message();
  return *workload;
}

TEST(ExpectedTasksTest, KeysShapesAndCountsAgree) {
  const std::string folder = ExpectedFolder();
  if (folder.empty()) GTEST_SKIP() << "no shared data (set TILEWRIGHT_SHARED)";
  int tasks = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("tasks_") || !name.ends_with(".json")) continue;
    const Json list = *ParseJson(*ReadFile(entry.path().string()));
    std::set<std::string> keys;
    for (const Json& task : list["tasks"]) {
      const Workload w = FromJson(task);
      SCOPED_TRACE(w.Key());
      EXPECT_EQ(w.op_name(), task["op"]);
      EXPECT_EQ(w.macs(), task["macs"]);
      EXPECT_EQ(w.OutputType()->shape, task["output"].get<std::vector<std::int64_t>>());
      EXPECT_EQ(*Workload::Parse(w.Key()), w);
      keys.insert(w.Key());
      ++tasks;
    }
    EXPECT_EQ(keys.size(), list["distinct_tasks"].get<std::size_t>()) << name;
  }
  EXPECT_GT(tasks, 200);
}

TEST(AutotvmTupleTest, MobilenetTuplesRoundTrip) {
  const std::string folder = ExpectedFolder();
  if (folder.empty()) GTEST_SKIP() << "no shared data (set TILEWRIGHT_SHARED)";
  const Target target = *Target::Parse("llvm -keys=cpu -link-params=0");
  const std::string text = *ReadFile(folder + "/mobilenet_v2_workloads.txt");
  int lines = 0;
  for (const std::string& line : Split(Trim(text), '\n')) {
    const auto workload = Workload::FromAutotvmTuple(line);
    ASSERT_TRUE(workload.ok()) << workload.status().message();
    const std::string name = workload->AutotvmName(target);
    EXPECT_EQ(*workload->AutotvmTuple(name), line);
    EXPECT_EQ(*Workload::Parse(workload->Key()), *workload);
    ++lines;
  }
  EXPECT_EQ(lines, 31);
}

TEST(AutotvmTupleTest, ConvBnReluTuplesRoundTrip) {
  const std::string folder = ExpectedFolder();
  if (folder.empty()) GTEST_SKIP() << "no shared data (set TILEWRIGHT_SHARED)";
  const std::string text = *ReadFile(folder + "/conv_bn_relu_workloads.txt");
  const std::vector<std::string> lines = Split(Trim(text), '\n');
  ASSERT_EQ(lines.size(), 4u);
  for (std::size_t i = 0; i < lines.size(); i += 2) {
    const auto target = Target::Parse(lines[i].substr(std::string("target=").size()));
    ASSERT_TRUE(target.ok()) << target.status().message();
    const std::string tuple = lines[i + 1].substr(std::string("key=").size());
    const auto workload = Workload::FromAutotvmTuple(tuple);
    ASSERT_TRUE(workload.ok()) << workload.status().message();
    EXPECT_EQ(*workload->AutotvmTuple(workload->AutotvmName(*target)), tuple);
  }
}

class TupleTest : public testing::TestWithParam<const char*> {};

TEST_P(TupleTest, RoundTrips) {
  const std::string tuple = GetParam();
  const auto workload = Workload::FromAutotvmTuple(tuple);
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  const std::string name = tuple.substr(2, tuple.find('\'', 2) - 2);
  EXPECT_EQ(*workload->AutotvmTuple(name), tuple);
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
  EXPECT_EQ(*w.AutotvmTuple("conv2d_NCHWc.x86"),
            "('conv2d_NCHWc.x86', ('TENSOR', (1, 16, 6, 6), 'int16'), ('TENSOR', (8, 16, 1, 1), "
            "'int16'), (1, 1), (0, 0, 0, 0), (1, 1), 'NCHW', 'NCHW', 'int32')");
}

TEST(AutotvmTupleTest, OldArgumentsAreUnderstood) {
  const auto workload = Workload::FromAutotvmTuple(
      "[\"conv2d_nchw.cuda\", [\"TENSOR\", [1, 3, 8, 8], \"float32\"], [\"TENSOR\", [4, 3, 3, 3], "
      "\"float32\"], 2, [1, 0], [1, 1], None]");
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  EXPECT_EQ(workload->Key(),
            "conv2d(float32[1,3,8,8]NCHW,float32[4,3,3,3]OIHW,s2x2,p1x0x1x0,d1x1,g1)->float32");
}

// Some logs of packed convolutions name the output's layout beside the data's.
TEST(AutotvmTupleTest, ASecondEqualLayoutIsUnderstood) {
  const std::string tuple =
      "('conv2d_packed.vta', ('TENSOR', (1, 8, 56, 56, 4, 8), 'int8'), ('TENSOR', (8, 8, 3, 3, 8, "
      "8), 'int8'), (1, 1), (1, 1, 1, 1), (1, 1), 'NCHW4n8c', 'NCHW4n8c', 'int32')";
  const auto workload = Workload::FromAutotvmTuple(tuple);
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  EXPECT_EQ(workload->Key(),
            "conv2d(int8[1,8,56,56,4,8]NCHW4n8c,int8[8,8,3,3,8,8]OIHW8o8i,s1x1,p1x1x1x1,d1x1,g1)->"
            "int32");
  std::string other = tuple;
  other.replace(other.rfind("NCHW4n8c"), 8, "NCHW1n8c");
  EXPECT_FALSE(Workload::FromAutotvmTuple(other).ok());
}

// AutoTVM sees the operands of an addition widened, whatever they are in memory.
TEST(AutotvmTupleTest, AdditionsOfInt8AreWrittenWidened) {
  const Workload w =
      *Workload::Parse("add(int8[1,4,7,7,1,16]NCHW1n16c,int8[1,4,7,7,1,16]NCHW1n16c)->int32");
  EXPECT_EQ(w.AutotvmName(*Target::Parse("vta")), "add.vta");
  EXPECT_EQ(*w.AutotvmTuple("add.vta"),
            "('add.vta', ('TENSOR', (1, 4, 7, 7, 1, 16), 'int32'), ('TENSOR', (1, 4, 7, 7, 1, 16), "
            "'int32'))");
}

TEST(AutotvmTupleTest, RefusesWhatATemplateCannotExpress) {
  const Workload nhwc = *Workload::Parse(
      "conv2d(float32[1,5,6,3]NHWC,float32[3,3,3,4]HWIO,s1x1,p1x1x1x1,d1x1,g1)->float32");
  EXPECT_EQ(nhwc.AutotvmTuple("conv2d_NCHWc.x86").status().message(),
            "task 'conv2d_NCHWc.x86': layouts NHWC and HWIO, expected blocks of NCHW and OIHW");
  EXPECT_EQ(nhwc.AutotvmTuple("dense_nopack.x86").status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(nhwc.AutotvmTuple("sort.x86").status().message(), "unknown task 'sort.x86'");
  EXPECT_EQ(nhwc.AutotvmName(*Target::Parse("llvm")), "");
}

class TupleRejectTest : public testing::TestWithParam<RejectCase> {};

TEST_P(TupleRejectTest, SaysWhereAndWhat) {
  const auto workload = Workload::FromAutotvmTuple(GetParam().text);
  ASSERT_FALSE(workload.ok());
  EXPECT_EQ(workload.status().message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Tuples, TupleRejectTest,
    testing::Values(
        RejectCase{"Number", "7", "workload tuple '7': item 0: expected a task name"},
        RejectCase{"Open", "('dense_nopack.x86'",
                   "workload tuple '('dense_nopack.x86'': position 19: expected ')'"},
        RejectCase{"Deep", "((((((((((1))))))))))",
                   "workload tuple '((((((((((1))))))))))': position 9: expected at most 8 nested "
                   "tuples"},
        RejectCase{"Task", "('sort.x86',)",
                   "workload tuple '('sort.x86',)': unknown task 'sort.x86'"},
        RejectCase{
            "Rank", "('dense_nopack.x86', ('TENSOR', (1, 2, 3), 'float32'))",
            "workload tuple '('dense_nopack.x86', ('TENSOR', (1, 2, 3), 'float32'))': item 2: "
            "expected a tensor of 2 dimensions"},
        RejectCase{"Size", "('dense_nopack.x86', ('TENSOR', (1, -2), 'float32'))",
                   "workload tuple '('dense_nopack.x86', ('TENSOR', (1, -2), 'float32'))': item 2: "
                   "expected a tensor of integer sizes"}),
    testing::PrintToStringParamName());

}  // namespace
}  // namespace tilewright
