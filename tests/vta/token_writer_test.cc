#include "src/vta/kernels/token_writer.h"

#include <gtest/gtest.h>

#include "src/vta/encoding.h"
#include "tests/vta/vta_test_data.h"

namespace tilewright::vta {
namespace {

Transfer Row(Memory memory, std::uint32_t sram, std::uint32_t elements) {
  Transfer t;
  t.is_store = memory == Memory::kOut;
  t.memory = memory;
  t.sram_base = sram;
  t.y_size = 1;
  t.x_size = t.x_stride = elements;
  return t;
}

struct Writer {
  TokenWriter writer{Design::Default()};
  std::int32_t data = writer.AddBuffer("data", false);
  std::int32_t output = writer.AddBuffer("output", true);
  std::int32_t kernel = -1;
  Writer() {
    const Uop uop;
    kernel = writer.AddKernel({&uop, 1});
  }
  std::string Finish() {
    const auto stream = std::move(writer).Finish();
    TW_CHECK(stream.ok(), stream.status().message());
    return Listing(stream->instructions);
  }
};

TEST(TokenWriterTest, WaitsForTheLastConflictOnly) {
  Writer w;
  w.writer.Append(Row(Memory::kInp, 0, 4), w.data);
  w.writer.Append(Row(Memory::kInp, 4, 4), w.data);
  w.writer.Append(Row(Memory::kWgt, 0, 1), w.data);
  // Reads the data of the first and the third: one token, from the third.
  w.writer.Append(Gemm(), w.kernel, {0, 8}, {0, 4}, {0, 1});
  // The second was before the third.
  w.writer.Append(Gemm(), w.kernel, {8, 8}, {4, 4}, {0, 1});
  w.writer.Append(Row(Memory::kOut, 0, 8), w.output);
  // Overwrites data that the first GEMM read, not the second.
  w.writer.Append(Row(Memory::kInp, 0, 4), w.data);
  // Overwrites data that a store reads.
  w.writer.Append(Alu(), w.kernel, {4, 1});
  EXPECT_EQ(w.Finish(),
            "     0  load.uop sram=0 dram=0 rows=1x1 stride=1\n"
            "     1  load.inp sram=0 dram=0 rows=1x4 stride=4\n"
            "     2  load.inp sram=4 dram=0 rows=1x4 stride=4\n"
            "     3  load.wgt sram=0 dram=0 rows=1x1 stride=1 push_next\n"
            "     4  gemm uops=0..1 loops=1x1 dst=+0,+0 src=+0,+0 wgt=+0,+0 pop_prev push_prev "
            "push_next\n"
            "     5  gemm uops=0..1 loops=1x1 dst=+0,+0 src=+0,+0 wgt=+0,+0\n"
            "     6  store.out sram=0 dram=0 rows=1x8 stride=8 pop_prev push_prev\n"
            "     7  load.inp sram=0 dram=0 rows=1x4 stride=4 pop_next\n"
            "     8  alu.add uops=0..1 loops=1x1 dst=+0,+0 src=+0,+0 pop_next\n"
            "     9  store.out nothing push_prev\n"
            "    10  load.inp nothing push_next\n"
            "    11  load.uop nothing pop_prev pop_next\n"
            "    12  finish\n");
}

TEST(TokenWriterTest, AnEngineNeedsNoTokenOfItsOwn) {
  Writer w;
  w.writer.Append(Row(Memory::kAcc, 0, 8), w.data);
  w.writer.Append(Alu(), w.kernel, {0, 8});
  w.writer.Append(Alu(), w.kernel, {0, 8});
  EXPECT_EQ(w.Finish(),
            "     0  load.uop sram=0 dram=0 rows=1x1 stride=1\n"
            "     1  load.acc sram=0 dram=0 rows=1x8 stride=8\n"
            "     2  alu.add uops=0..1 loops=1x1 dst=+0,+0 src=+0,+0\n"
            "     3  alu.add uops=0..1 loops=1x1 dst=+0,+0 src=+0,+0\n"
            "     4  store.out nothing push_prev\n"
            "     5  load.inp nothing push_next\n"
            "     6  load.uop nothing pop_prev pop_next\n"
            "     7  finish\n");
}

}  // namespace
}  // namespace tilewright::vta
