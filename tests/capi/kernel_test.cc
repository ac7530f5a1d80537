// Kernels of answers through the C interface.

#include <gmock/gmock.h>

#include <cmath>
#include <string>

#include "src/base/json.h"
#include "src/templates/text/kernel_json.h"
#include "tests/capi/capi_fixture.h"
#include "tests/support/built_in.h"

namespace tilewright::capi {
namespace {

using testing::HasSubstr;

class KernelTest : public CapiTest {
 protected:
  struct FreeKernel {
    void operator()(tw_kernel* kernel) const { tw_kernel_free(kernel); }
  };
  using OwnedKernel = std::unique_ptr<tw_kernel, FreeKernel>;

  OwnedKernel KernelOf(const tw_answer* answer, const char* epilogue = nullptr) {
    tw_kernel_options options = TW_KERNEL_OPTIONS_INIT;
    options.epilogue = epilogue;
    tw_kernel* kernel = nullptr;
    code_ = tw_answer_kernel(answer, &options, &kernel, &error_);
    EXPECT_EQ(code_ == TW_OK, kernel != nullptr) << error_.message;
    return OwnedKernel(kernel);
  }

  static std::string TextOf(const tw_kernel* kernel) {
    std::size_t needed = 0;
    EXPECT_EQ(tw_kernel_json(kernel, nullptr, 0, &needed, nullptr), TW_OK);
    std::string text(needed, '\0');
    EXPECT_EQ(tw_kernel_json(kernel, text.data(), needed - 1, &needed, nullptr), TW_TOO_SMALL);
    EXPECT_EQ(tw_kernel_json(kernel, text.data(), text.size(), nullptr, nullptr), TW_OK);
    text.pop_back();
    return text;
  }
};

/// Converts a tree to JSON by the functions of the C interface alone.
Json Walk(const tw_node* node) {
  switch (tw_node_type(node)) {
    case TW_NODE_BOOL:
      return tw_node_integer(node) != 0;
    case TW_NODE_INTEGER:
      return tw_node_integer(node);
    case TW_NODE_NUMBER:
      return tw_node_number(node);
    case TW_NODE_TEXT:
      return tw_node_text(node);
    case TW_NODE_LIST: {
      Json list = Json::array();
      for (std::size_t i = 0; i < tw_node_size(node); ++i) {
        list.push_back(Walk(tw_node_at(node, i)));
      }
      return list;
    }
    case TW_NODE_OBJECT: {
      Json object = Json::object();
      for (std::size_t i = 0; i < tw_node_size(node); ++i) {
        EXPECT_EQ(tw_node_get(node, tw_node_name(node, i)), tw_node_at(node, i));
        object[tw_node_name(node, i)] = Walk(tw_node_at(node, i));
      }
      return object;
    }
    default:
      return nullptr;
  }
}

TEST_F(KernelTest, IsTheJsonOfTheConfigAndOutlivesAnswerAndCatalog) {
  Write(path_, {OkTrial(ConvKey(), 188, 0.002)});
  Add(path_);
  auto answer = Ask(ConvKey());
  ASSERT_NE(answer, nullptr) << error_.message;
  catalog_.reset();
  const auto kernel = KernelOf(answer.get());
  ASSERT_NE(kernel, nullptr) << error_.message;
  answer.reset();
  const Trial trial = OkTrial(ConvKey(), 188, 0.002);
  const Workload workload = *Workload::Parse(ConvKey());
  const auto expected =
      KernelJson(*BuiltInTemplates().Find(trial.candidate.template_key), workload, Epilogue(),
                 *Target::Parse(tw_target_text(target_.get())), trial.candidate.config);
  ASSERT_TRUE(expected.ok());
  const std::string text = TextOf(kernel.get());
  EXPECT_EQ(text, DumpJson(*expected));
  EXPECT_EQ(DumpJson(Walk(tw_kernel_root(kernel.get()))), text);
}

TEST_F(KernelTest, OfASimilarWorkloadIsOfTheQueriedOne) {
  Write(path_,
        {records::SampleTrial(3, 0.001, *Workload::Parse(DenseKey(8)), *Target::Parse(kTarget))});
  Add(path_);
  const auto answer = Ask(DenseKey(16));
  ASSERT_NE(answer, nullptr) << error_.message;
  ASSERT_EQ(tw_answer_kind(answer.get()), TW_KIND_NEAR);
  const auto kernel = KernelOf(answer.get(), "add(channel:float32);relu");
  ASSERT_NE(kernel, nullptr) << error_.message;
  const tw_node* root = tw_kernel_root(kernel.get());
  EXPECT_EQ(tw_node_text(tw_node_get(root, "workload")), DenseKey(16));
  EXPECT_STREQ(tw_node_text(tw_node_get(root, "epilogue")), "add(channel:float32);relu");
  const tw_node* operands = tw_node_get(root, "operands");
  ASSERT_EQ(tw_node_size(operands), 4U);
  EXPECT_STREQ(tw_node_text(tw_node_get(tw_node_at(operands, 2), "role")), "channel");
}

TEST_F(KernelTest, RefusesInvalidArguments) {
  const auto answer = Ask(DenseKey(4), TW_ACCEPT_DEFAULT);
  ASSERT_NE(answer, nullptr) << error_.message;
  tw_kernel* kernel = nullptr;
  EXPECT_EQ(tw_answer_kernel(answer.get(), nullptr, nullptr, &error_), TW_INVALID_ARGUMENT);
  EXPECT_THAT(error_.message, HasSubstr("output pointer"));
  EXPECT_EQ(tw_answer_kernel(nullptr, nullptr, &kernel, &error_), TW_INVALID_ARGUMENT);
  EXPECT_THAT(error_.message, HasSubstr("answer is null"));
  tw_kernel_options options = TW_KERNEL_OPTIONS_INIT;
  options.struct_size = 4;
  EXPECT_EQ(tw_answer_kernel(answer.get(), &options, &kernel, &error_), TW_INVALID_ARGUMENT);
  EXPECT_THAT(error_.message, HasSubstr("struct_size 4, expected at least 16"));
  for (const char* epilogue : {"nosuch", "relu;", "add(channel:float33)", "mul(%9)"}) {
    EXPECT_EQ(KernelOf(answer.get(), epilogue), nullptr);
    EXPECT_EQ(code_, TW_INVALID_ARGUMENT) << epilogue;
    EXPECT_THAT(error_.message, HasSubstr("epilogue"));
  }
  EXPECT_EQ(tw_answer_kernel(answer.get(), nullptr, &kernel, nullptr), TW_OK);
  std::size_t needed = 0;
  EXPECT_EQ(tw_kernel_json(nullptr, nullptr, 0, &needed, &error_), TW_INVALID_ARGUMENT);
  EXPECT_EQ(tw_kernel_json(kernel, nullptr, 0, nullptr, &error_), TW_INVALID_ARGUMENT);
  tw_kernel_free(kernel);
  tw_kernel_free(nullptr);
}

TEST_F(KernelTest, MissesAndUnknownTemplatesHaveNone) {
  const auto miss = Ask(DenseKey(4));
  ASSERT_NE(miss, nullptr);
  ASSERT_EQ(tw_answer_kind(miss.get()), TW_KIND_MISS);
  EXPECT_EQ(KernelOf(miss.get()), nullptr);
  EXPECT_EQ(code_, TW_NOT_FOUND);
  const std::string log = folder_->path() + "/odd.log";
  ASSERT_TRUE(WriteFile(log,
                        R"({"input": ["llvm", "my_op.x86", [["TENSOR", [7], "float32"]], {}], )"
                        R"("config": {"index": 7, "code_hash": null, "entity": []}, )"
                        R"("result": [[0.5], 0, 1.0, 2.0], "version": 0.2, "tvm_version": "0.7"})"
                        "\n")
                  .ok());
  ASSERT_EQ(tw_catalog_add_log(catalog_.get(), log.c_str(), &error_), TW_OK) << error_.message;
  tw_query_options options = TW_QUERY_OPTIONS_INIT;
  options.rule = TW_RULE_AUTOTVM;
  tw_answer* found = nullptr;
  ASSERT_EQ(tw_query_tuple(catalog_.get(), target_.get(),
                           "('my_op.x86', ('TENSOR', (7,), 'float32'))", &options, &found, &error_),
            TW_OK)
      << error_.message;
  const Owned<tw_answer> imported(found);
  EXPECT_EQ(KernelOf(imported.get()), nullptr);
  EXPECT_EQ(code_, TW_UNSUPPORTED) << error_.message;
}

TEST_F(KernelTest, NodesOfOtherTypesHaveNoValues) {
  const auto answer = Ask(DenseKey(4), TW_ACCEPT_DEFAULT);
  const auto kernel = KernelOf(answer.get());
  ASSERT_NE(kernel, nullptr) << error_.message;
  const tw_node* root = tw_kernel_root(kernel.get());
  EXPECT_EQ(tw_kernel_root(nullptr), nullptr);
  EXPECT_EQ(tw_node_get(root, nullptr), nullptr);
  EXPECT_EQ(tw_node_get(root, "nosuch"), nullptr);
  EXPECT_EQ(tw_node_at(root, tw_node_size(root)), nullptr);
  EXPECT_EQ(tw_node_name(root, static_cast<std::size_t>(-1)), nullptr);
  const tw_node* format = tw_node_get(root, "format");
  EXPECT_EQ(tw_node_integer(format), 1);
  EXPECT_EQ(tw_node_number(format), 1.0);
  for (const tw_node* leaf : {format, static_cast<const tw_node*>(nullptr)}) {
    EXPECT_STREQ(tw_node_text(leaf), "");
    EXPECT_EQ(tw_node_size(leaf), 0U);
    EXPECT_EQ(tw_node_at(leaf, 0), nullptr);
    EXPECT_EQ(tw_node_get(leaf, "a"), nullptr);
    EXPECT_EQ(tw_node_name(leaf, 0), nullptr);
  }
  EXPECT_EQ(tw_node_type(nullptr), TW_NODE_NULL);
  EXPECT_EQ(tw_node_integer(root), 0);
  EXPECT_TRUE(std::isnan(tw_node_number(root)));
}

}  // namespace
}  // namespace tilewright::capi
