#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "records/autotvm/line_reader.h"
#include "records/autotvm/log_line.h"
#include "records/autotvm/python_set.h"
#include "records/autotvm/task.h"
#include "records/autotvm/value.h"
#include "src/base/files/file.h"

namespace tilewright::records {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kInput =
    R"(["cuda -model=v100", "dense_small_batch.gpu", [["TENSOR", [1, 512], "float32"],)"
    R"( ["TENSOR", [1000, 512], "float32"], null, "float32"], {}])";

std::string Line(const std::string& config, const std::string& result) {
  return std::string(R"({"input": )") + kInput + R"(, "config": )" + config + R"(, "result": )" +
         result + R"(, "version": 0.2, "tvm_version": "0.11.dev0"})";
}

std::string Good() {
  return Line(R"({"index": 6, "code_hash": null, "entity": [["tile_k", "sp", [-1, 64]]]})",
              "[[5e-05], 0, 1.5, 1669403847.57]");
}

TEST(LogLineTest, ReadsEveryField) {
  LogLine line;
  const std::string text = Good();
  ASSERT_TRUE(ParseLogLine(text, line).ok());
  EXPECT_EQ(line.input, kInput);
  EXPECT_FALSE(line.legacy);
  EXPECT_EQ(line.index, 6);
  EXPECT_EQ(line.code_hash, "");
  ASSERT_EQ(line.entities.size(), 1U);
  EXPECT_EQ(line.entities[0].name, "tile_k");
  EXPECT_THAT(line.Ints(line.entities[0]), ElementsAre(-1, 64));
  EXPECT_THAT(line.costs, ElementsAre(5e-05));
  EXPECT_EQ(line.timestamp, 1669403847.57);
  EXPECT_EQ(line.tvm_version, "0.11.dev0");
}

TEST(LogLineTest, ReadsByKeyNotByPosition) {
  const std::string text =
      R"({"tvm_version": "x", "result": [[1, 2.5, 4], 0, 1, 2], "extra": {"a": [1, "}"]},)"
      R"( "config": {"entity": [["u", "ot", true], ["r", "re", [1, 0]], ["w", "an", ["none"]],)"
      R"( ["s", "ot", "text"], ["f", "ot", 0.5]], "code_hash": "ab12", "index": 99999999999},)"
      R"( "version": 0.2, "input": )" +
      std::string(kInput) + "}";
  LogLine line;
  const Status read = ParseLogLine(text, line);
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(line.index, 99999999999);
  EXPECT_EQ(line.code_hash, "ab12");
  EXPECT_EQ(line.cost(), 2.5);
  std::string entities;
  line.AppendEntities(entities, LogLine::Style::kSpaced);
  EXPECT_EQ(
      entities,
      R"([["u", "ot", true], ["r", "re", [1, 0]], ["w", "an", ["none"]], ["s", "ot", "text"],)"
      R"( ["f", "ot", 0.5]])");
}

TEST(LogLineTest, TakesWhatPythonLeaves) {
  LogLine line;
  const std::string text = Line(R"({"index": 0, "code_hash": null, "entity": []})",
                                "[[NaN, Infinity, -Infinity, 1000000000.0], 4, 0, 1]");
  const Status read = ParseLogLine(text, line);
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(line.error, 4);
  EXPECT_EQ(line.costs.size(), 4U);
}

TEST(LogLineTest, ReadsFormat01) {
  const std::string text =
      R"({"i": ["llvm", "topi_nn_dense", [1], {}, ["dense", 1], {"i": 3, "c": null,)"
      R"( "e": [["a", "ot", 1]], "t": "direct"}], "r": [[0.5], 0, 1, 2], "v": 0.1})";
  LogLine line;
  const Status read = ParseLogLine(text, line);
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_TRUE(line.legacy);
  EXPECT_EQ(line.legacy_template, "direct");
  EXPECT_EQ(line.input, R"("llvm", "topi_nn_dense", [1], {}, ["dense", 1])");
  EXPECT_EQ(line.index, 3);
}

struct BadLine {
  std::string text, message;
};

TEST(LogLineTest, SaysWhatIsWrongAndWhere) {
  const std::string good = Good();
  const BadLine cases[] = {
      {good.substr(0, 100), "the line is cut off"},
      {good.substr(0, good.size() - 1), "expected '}'; the line is cut off"},
      {good + "x", "expected the end of the line"},
      {"[1]", "column 1: expected '{'"},
      {R"({"input": 3})", "column 11: expected the list of target, task, arguments"},
      {R"({"config": {"index": 1}})", "expected a config with its entities"},
      {R"({"result": [[], 0, 1, 2]})", "at least one cost"},
      {R"({"result": [[null], 0, 1, 2]})", "expected a number"},
      {R"({"result": [[1], 0, 1, NaN]})", "a time that is a number"},
      {R"({"result": [[1], 0, 1, 2], "result": [[1], 0, 1, 2]})", "each key once"},
      {R"({"config": {"entity": [["a", "xx", 1]]}})", "a knob kind: sp, re, an or ot"},
      {R"({"config": {"entity": [["a", "sp", 1]]}})", "a list of integers"},
      {R"({"config": {"entity": [["a", "ot", 1], ["a", "ot", 2]]}})", "each knob once"},
      {R"({"version": 0.2})", "expected an object with \"input\""},
      {Line(R"({"index": -3, "entity": []})", "[[1], 0, 1, 2]"), "a config index of 0 or more"},
      {Line(R"({"index": 99999999999999999999, "entity": []})", "[[1], 0, 1, 2]"),
       "an integer of 64 bits"},
      {"gASVZAAAAA==\tgASV\t0.2\t0.7\tx\ty", "a pickled record, which only Python can read"},
      {R"({"a": )" + std::string(70, '[') + "}", "at most 63 nested brackets"},
      {R"({"a": [1})", "expected a value"},
      {std::string(kMaxLogLine + 1, ' '), "expected at most 65536"},
  };
  for (const BadLine& bad : cases) {
    LogLine line;
    const Status read = ParseLogLine(bad.text, line);
    EXPECT_FALSE(read.ok()) << bad.text;
    EXPECT_THAT(read.message(), HasSubstr(bad.message)) << bad.text;
  }
}

TEST(ValueTest, NumbersAreEqualByValueAndListsByItems) {
  const auto text = [](std::string_view notation) {
    auto value = ParseAutotvmValue(notation);
    return value.ok() ? PythonText(*value) : value.status().message();
  };
  EXPECT_EQ(text("('a', (1, 1.0, True), None, (2,), 0.5)"), "('a', (1, 1, 1), None, (2,), 0.5)");
  EXPECT_EQ(text(R"(["a", [1, 1, true], null, [2], 0.5])"), "('a', (1, 1, 1), None, (2,), 0.5)");
  EXPECT_EQ(text(R"("it's")"), R"('it\'s')");
  EXPECT_EQ(text("(1"), "AutoTVM tuple: position 2: expected ',' or ')'");
  EXPECT_EQ(text("(1) x"), "AutoTVM tuple: position 4: expected the end");
  EXPECT_THAT(text(std::string(20, '(')), HasSubstr("at most 16 nested lists"));
}

TEST(AutotvmTargetTest, KeysModelAndCanonicalTextAreThoseOfTvm) {
  struct Case {
    const char *text, *canonical, *model;
    std::vector<std::string> keys;
  };
  const Case cases[] = {
      {"cuda -model=1080ti",
       "cuda -keys=cuda,gpu -max_num_threads=1024 -model=1080ti -thread_warp_size=32",
       "1080ti",
       {"cuda", "gpu"}},
      {"llvm -mcpu=skylake-avx512",
       "llvm -keys=cpu -link-params=0 -mcpu=skylake-avx512",
       "unknown",
       {"cpu"}},
      {"opencl -device=mali -model=rk3399",
       "opencl -keys=mali,opencl,gpu -device=mali -max_num_threads=256 -model=rk3399",
       "rk3399",
       {"mali", "opencl", "gpu"}},
      {"ext_dev -device=vta -keys=cpu -model=pynq",
       "ext_dev -keys=cpu,vta -device=vta -model=pynq",
       "pynq",
       {"cpu", "vta"}},
      {"llvm -device=arm_cpu -model=rk3399 -target=aarch64-linux-gnu",
       "llvm -keys=arm_cpu,cpu -device=arm_cpu -link-params=0 -model=rk3399 "
       "-mtriple=aarch64-linux-gnu",
       "rk3399",
       {"arm_cpu", "cpu"}},
  };
  for (const Case& c : cases) {
    auto target = AutotvmTarget::Parse(c.text);
    ASSERT_TRUE(target.ok()) << target.status().message();
    EXPECT_EQ(target->canonical, c.canonical);
    EXPECT_EQ(target->model(), c.model);
    EXPECT_EQ(target->keys(), c.keys);
  }
  EXPECT_FALSE(AutotvmTarget::Parse("toaster -model=x").ok());
}

/// Returns the task of a line of format 0.1.
Result<AutotvmInput> Upgraded(const std::string& input, const std::string& template_key) {
  LogLine line;
  line.legacy = true;
  line.legacy_template = template_key;
  line.input = input;
  return ParseAutotvmInput(line);
}

TEST(LegacyTest, TasksGetTheirNewNamesAndArguments) {
  struct Case {
    const char *input, *template_key, *tuple;
  };
  const char* plain =
      R"("%", "topi_nn_conv2d", [["TENSOR", [1, 3, 8, 8], "float32"],)"
      R"( ["TENSOR", [4, 3, 3, 3], "float32"], [2, 2], [3, 1], [1, 1], "NCHW", "float32"], {}, [])";
  const auto on = [&plain](const std::string& target) {
    std::string text = plain;
    return text.replace(text.find('%'), 1, target);
  };
  const std::string tail =
      ", ('TENSOR', (1, 3, 8, 8), 'float32'), ('TENSOR', (4, 3, 3, 3), 'float32'), (2, 2),"
      " (3, 1, 3, 1), (1, 1), 'float32')";
  EXPECT_EQ(Upgraded(on("cuda"), "direct")->task.tuple, "('conv2d_nchw.cuda'" + tail);
  EXPECT_EQ(Upgraded(on("cuda"), "winograd")->task.tuple, "('conv2d_nchw_winograd.cuda'" + tail);
  EXPECT_EQ(Upgraded(on("llvm -device=arm_cpu"), "direct")->task.tuple,
            "('conv2d_nchw_spatial_pack.arm_cpu'" + tail);
  EXPECT_EQ(Upgraded(on("opencl -device=mali"), "winograd")->task.tuple,
            "('conv2d_nchw_winograd.mali'" + tail);
  EXPECT_EQ(Upgraded(R"("llvm", "topi_x86_conv2d", [["TENSOR", [1, 3, 8, 8], "float32"],)"
                     R"( ["TENSOR", [4, 3, 3, 3], "float32"], 3, [3, 3], [1, 1], [2, 2], [3, 1],)"
                     R"( "NCHW", "float32"], {}, [])",
                     "direct")
                ->task.tuple,
            "('conv2d_NCHWc.x86', ('TENSOR', (1, 3, 8, 8), 'float32'), ('TENSOR', (4, 3, 3, 3),"
            " 'float32'), (2, 2), (3, 1, 3, 1), (1, 1), 'NCHW', 'NCHW', 'float32')");
  EXPECT_EQ(Upgraded(R"("ext_dev -device=vta", "conv2d", [4, 64, 56], {}, ["conv2d",)"
                     R"( [1, 8, 56, 56, 4, 8, "int8"], [8, 8, 3, 3, 8, 8, "int8"], [1, 1], [1, 1],)"
                     R"( [1, 1], "NCHW4n8c", "int32"])",
                     "direct")
                ->task.tuple,
            "('conv2d_packed.vta', ('TENSOR', (1, 8, 56, 56, 4, 8), 'int8'), ('TENSOR',"
            " (8, 8, 3, 3, 8, 8), 'int8'), (1, 1), (1, 1, 1, 1), (1, 1), 'NCHW4n8c', 'int32')");
  const auto unknown = Upgraded(R"("cuda", "topi_nn_bitserial", [1], {}, [])", "direct");
  EXPECT_THAT(unknown.status().message(),
              HasSubstr("task 'topi_nn_bitserial' (direct) of format 0.1 on cuda: no successor"));
}

TEST(PythonSetTest, ListsAsCpythonDoes) {
  // The result of list(set(divisors) | set(powers of two)) in CPython 3.11.
  EXPECT_THAT(
      PythonSet::Union(PythonSet({1, 2, 4, 7, 8, 14, 28, 56}), PythonSet({1, 2, 4, 8, 16, 32}))
          .Members(),
      ElementsAre(32, 1, 2, 4, 7, 8, 14, 16, 56, 28));
  EXPECT_THAT(
      PythonSet::Union(PythonSet({1, 3, 11, 33}), PythonSet({1, 2, 4, 8, 16, 32})).Members(),
      ElementsAre(32, 1, 33, 3, 2, 4, 8, 11, 16));
  EXPECT_THAT(PythonSet::Union(PythonSet({1, 2, 4, 7, 8, 14, 16, 28, 32, 56, 112, 224}),
                               PythonSet({1, 2, 4, 8, 16, 32, 64, 128}))
                  .Members(),
              ElementsAre(64, 1, 2, 128, 4, 7, 8, 14, 16, 28, 32, 224, 112, 56));
}

TEST(LineReaderTest, GivesEachLineOnceWhateverItsLength) {
  auto folder = ScopedTempDir::Create("tilewright-line-test");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/log";
  const std::string contents =
      "one\n\n" + std::string(700000, 'x') + "\nthree\n" + std::string(300000, 'y');
  ASSERT_TRUE(WriteFile(path, contents).ok());
  auto reader = LineReader::Open(path, 100);
  ASSERT_TRUE(reader.ok());
  std::vector<std::pair<std::size_t, char>> lines;
  std::string_view line;
  while (*reader->Next(line)) lines.emplace_back(line.size(), line.empty() ? '-' : line[0]);
  EXPECT_THAT(lines, ElementsAre(std::pair(3U, 'o'), std::pair(0U, '-'), std::pair(101U, 'x'),
                                 std::pair(5U, 't'), std::pair(101U, 'y')));
  EXPECT_EQ(LineReader::Open(folder->path(), 100).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(LineReader::Open(path + "-", 100).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace tilewright::records
