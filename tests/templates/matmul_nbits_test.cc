#include <gtest/gtest.h>

#include "src/tensor/block_quantized.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

// Fewer columns than the weight has fit into a panel; the tile is of the space nevertheless.
TEST(MatmulNbitsTest, DefaultConfigIsInTheSpace) {
  const Target target = *Target::Parse("llvm -mcpu=znver4");
  const TemplateEntry* entry = BuiltInTemplates().Find("matmul_nbits.cpu");
  ASSERT_NE(entry, nullptr);
  for (const std::int64_t rows : {8, 16}) {
    for (const std::int64_t k : {1024, 2048, 2560, 8192}) {
      for (std::int64_t groups = 1; groups <= 20; ++groups) {
        BlockQuantizedMatmul matmul;
        matmul.m = rows, matmul.n = groups * BlockQuantizedMatmul::kColumns, matmul.k = k;
        matmul.bits = 4, matmul.block = 32;
        const Workload workload = Workload::FromExpression(*ExpressionOf(matmul));
        const auto config = entry->default_config(workload, target);
        EXPECT_TRUE(config.ok()) << groups << " groups, K " << k << ": "
                                 << config.status().message();
      }
    }
  }
}

}  // namespace
}  // namespace tilewright
