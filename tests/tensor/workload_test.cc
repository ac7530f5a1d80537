#include "src/tensor/workload.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/base/strings.h"

namespace tilewright {
namespace {

/// Returns the folder of expected results from other programs, or an empty text if it is absent.
std::string SharedExpected() {
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
        KeyCase{"NarrowConv",
                "conv2d(uint8[1,8,4,4]NCHW,int8[16,8,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1,w64)->int32",
                "conv2d", "int32[1,16,4,4]NCHW", 2048},
        KeyCase{"NarrowDense", "dense(int8[2,8]MK,int8[4,8]NK,w64)->int32", "dense", "int32[2,4]MN",
                64},
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
            "expected one float type (float16 also with float32 sums) or integers with int32 sums "
            "(matrix products of uint32, int64 and uint64: with sums of that type)"},
        RejectCase{
            "WideSums", "dense(int64[1,2]MK,int64[3,2]NK)->int32",
            "workload 'dense(int64[1,2]MK,int64[3,2]NK)->int32': dense: int64 x int64 -> "
            "int32, expected one float type (float16 also with float32 sums) or integers with "
            "int32 sums (matrix products of uint32, int64 and uint64: with sums of that type)"},
        RejectCase{"MixedUnsignedSums", "dense(uint32[1,2]MK,int32[3,2]NK)->uint32",
                   "workload 'dense(uint32[1,2]MK,int32[3,2]NK)->uint32': dense: uint32 x int32 -> "
                   "uint32, expected one float type (float16 also with float32 sums) or integers "
                   "with int32 "
                   "sums (matrix products of uint32, int64 and uint64: with sums of that type)"},
        RejectCase{"NarrowFloats", "dense(float32[1,2]MK,float32[3,2]NK,w64)->float32",
                   "workload 'dense(float32[1,2]MK,float32[3,2]NK,w64)->float32': dense: narrow "
                   "weights (w64), expected conv2d or dense of 8-bit data and int8 weights"},
        RejectCase{"NarrowSum", "add(int8[1,2,3,3]NCHW,int8[1,2,3,3]NCHW,w64)->int32",
                   "workload 'add(int8[1,2,3,3]NCHW,int8[1,2,3,3]NCHW,w64)->int32': narrow "
                   "weights (w64), expected conv2d or dense of 8-bit data and int8 weights"},
        RejectCase{"NarrowTo32", "dense(int8[1,2]MK,int8[3,2]NK,w32)->int32",
                   "workload 'dense(int8[1,2]MK,int8[3,2]NK,w32)->int32': position 29: expected "
                   "')->'"},
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

/// Returns the workload of one entry of an expected task list.
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

/// Returns the number of tasks in the folder's lists.
int ExpectListsAgree(const std::string& folder) {
  int tasks = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("tasks_") || !name.ends_with(".json")) continue;
    const Json list = *ParseJson(*ReadFile(entry.path().string()));
    std::set<std::string> keys;
    for (const Json& task : list["tasks"]) {
      const Workload w = FromJson(task);
      SCOPED_TRACE(w.Key());
      EXPECT_EQ(w.op_name(), task["op"].get<std::string>());
      EXPECT_EQ(w.macs(), task["macs"]);
      EXPECT_EQ(w.OutputType()->shape, task["output"].get<std::vector<std::int64_t>>());
      EXPECT_EQ(*Workload::Parse(w.Key()), w);
      keys.insert(w.Key());
      ++tasks;
    }
    EXPECT_EQ(keys.size(), list["distinct_tasks"].get<std::size_t>()) << name;
  }
  return tasks;
}

TEST(OwnTasksTest, KeysShapesAndCountsAgree) {
  EXPECT_EQ(ExpectListsAgree(TILEWRIGHT_SOURCE_DIR "/tests/fixtures/data/expected"), 10);
}

TEST(ExpectedTasksTest, KeysShapesAndCountsAgree) {
  const std::string folder = SharedExpected();
  if (folder.empty()) GTEST_SKIP() << "no shared data (set TILEWRIGHT_SHARED)";
  EXPECT_GT(ExpectListsAgree(folder), 200);
}

}  // namespace
}  // namespace tilewright
